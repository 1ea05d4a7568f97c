/* Fuzz target of uploads in every format. The first byte selects the format (0 npz, 1 npy, 2 safetensors, 3 csv, 4 tar
 * or zip, 5 fasta, 6 meme and JASPAR, 7 bed, 8 h5ad: the table that motif-convert writes, 9 jsonl), and the size
 * selects the options. The other bytes arrive in small pieces. An accepted collection must be consistent, and must
 * equal the collection that is read back from its stored form. A build that defines FUZZ_FORMAT="csv" ignores the first
 * byte and reads only csv, so that each format can have a separate target with the same corpus. */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/data/uploads/collection.h"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("3a,b,label\n1,2,x\n3,\"4\",\"y, z\"\n"),
    FUZZ_SEED("3\xEF\xBB\xBF"
              "id\tf\tgroup\r\nr\t1e3\ttest\r\ns\t-2\ttrain"),
    FUZZ_SEED("5>one donor acceptor\nACGTN\nacg\n>two\nUUU\n"),
    /* LLVMFuzzerTestOneInput() chooses the options by the length of the input. Both of the next two lengths choose
     * TARGET_NUMBER; the first one also chooses LAYOUT_SIGNALS. */
    FUZZ_SEED("3a,b,label\n1,2,0.5\n3,4,-1e3\n5,6,7\n10,11,12\n10,11,12\n10,11,12\n10,11,12\n10,11,120000\n"),
    FUZZ_SEED("5>one 1.5 -2\nACGTN\n>two 3e2 0\nACGTAAAACCCCCCCCCCC\n"),
    FUZZ_SEED("6MEME version 4\nALPHABET= ACGT\nMOTIF a b\nletter-probability matrix: alength= 4 w= 1 nsites= 3\n.1 .2 "
              ".3 .4\n"),
    FUZZ_SEED("6>a b\nA [1 2]\nC [3 4]\nG [0 1]\nT [5 .5]\n"),
    FUZZ_SEED("7chr1\t5\t30\tx\t0\t-\nchr2 1 20\nchr1\t1.0\t4e1\ty,z\t2.5\tplus\t1\t2\t3\t9\n"),
    FUZZ_SEED("7track\nchr3\t50\t500\nchrom\tstart\tend\nchr1\t10\t90\t.\t1e-3\t*\n"),
    FUZZ_SEED("3# made by R\n\"a\" \"b\" \"label\"\n\"r 1\" 1.5 TRUE \"{\"\"choices\"\": [\"\"x\"\", \"\"y\"\"]}\"\n"),
    FUZZ_SEED("3\xFF\xFE"
              "a\0;\0l\0a\0b\0e\0l\0\n\0"
              "1\0,\0"
              "5\0;\0[\0x\0]\0"),
    FUZZ_SEED("9{\"text\": \"The cat\", \"label\": [\"x\", \"y\"]}\n\n{\"label\": null, \"text\": \"the dog\"}\n"),
    FUZZ_SEED("9{\"tokens\": [\"log in\", 7, \"b\"], \"label\": 1.5, \"id\": true}\n{\"tokens\": [], \"label\": 2}\n"),
    FUZZ_SEED("9{\"a\": 1, \"b\": -2e3, \"label\": \"x\"}\r\n{\"b\": 3, \"a\": false, \"label\": \"y\"}"),
    FUZZ_SEED(
        "3sample,time,event,label\n1,2026-01-31T10:00:00.5+02:00,log in,x\n2,2026-01-31,b,y\n1,2026-01-30 09:00,b,\n"),
    FUZZ_SEED("3text,label,part\na b,x,train\n\"b\xC3\xA4, b\",y,test\n"),
    FUZZ_SEED("1\x93NUMPY\x01\x00\x38\x00{'descr': '|u1', 'fortran_order': True, 'shape': (2,2)}\x01\x02\x03\x04"),
    FUZZ_SEED("\070\155\157\164\151\146\164\142\154\017\000\000\000\000\000\000\000\002\000\000\000\000\000\000"
              "\000\002\000\000\000\000\000\000\000\001\000\170\001\000\151\001\000\170\001\000\152\002\000\143"
              "\060\002\000\114\060\001\000\147\002\000\000\000\001\000\000\000\000\000\300\077\000\000\000\000"
              "\000\000\000\100\002\000\143\061\002\000\114\061\001\000\147\377\377\377\377\000\000\200\077\000"
              "\000\000\300\145\156\144\056"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

static struct collection_limits limits = {1 << 16, 1 << 10, 1 << 12, 64};

static void check(const struct collection *c)
{
    FUZZ_CHECK(c->count > 0 && c->count <= limits.samples && c->cols > 0 &&
               c->start[c->count] * c->channels * c->rows <= limits.bytes);
    for (int64_t i = 0; i < c->count; i++) {
        const int32_t *label;
        int length = collection_labels(c, i, &label);
        FUZZ_CHECK(collection_length(c, i) > 0 && collection_length(c, i) <= c->cols && length >= 0 &&
                   length <= c->longest);
        for (int j = 0; j < length; j++)
            FUZZ_CHECK(label[j] >= (c->target == TARGET_POSITIONS ? -1 : 0) && label[j] < c->vocabulary.count);
        for (int64_t j = 0; j < collection_length(c, i) * c->channels * c->rows; j++)
            FUZZ_CHECK(isfinite(collection_value(c, collection_begin(c, i) + j)));
    }
    FUZZ_CHECK((c->target == TARGET_NUMBER) == (c->number != NULL));
    for (int64_t i = 0; c->number && i < c->count * c->vocabulary.count; i++)
        FUZZ_CHECK(isfinite(c->number[i]));
    FUZZ_CHECK(c->kind != COLLECTION_TABLE || c->columns.count == c->cols);
}

static enum status put(void *context, const void *bytes, size_t count, struct error *err)
{
    FUZZ_CHECK(write(*(int *)context, bytes, count) == (ssize_t)count);
    return STATUS_OK;
}

static void check_stored(const struct collection *c)
{
    struct collection again;
    int file = memfd_create("collection", 0);
    struct snapshot_writer to = {&file, put};
    FUZZ_CHECK(file >= 0 && collection_write(c, &to, NULL) == STATUS_OK);
    FUZZ_CHECK(collection_map(file, &again, NULL) == STATUS_OK);
    check(&again);
    FUZZ_CHECK(again.count == c->count && again.boxes == c->boxes && again.vocabulary.count == c->vocabulary.count &&
               again.unit == c->unit && (again.values == NULL) == (c->values == NULL));
    for (int64_t i = 0; i < collection_begin(c, c->count); i++)
        FUZZ_CHECK(collection_value(&again, i) == collection_value(c, i));
    collection_close(&again);
    close(file);
}

static char folder[] = "/tmp/motifd-fuzz-XXXXXX";

static void remove_genome(void)
{
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    FUZZ_CHECK(system(command) == 0);
}

/* Makes a folder of data sets with the genome g, of the sequences chr1 and chr2, at the first call. */
static const char *genome_folder(void)
{
    enum { BASES = 300, LINE = 60 };
    static bool made;
    char path[64];
    if (made)
        return folder;
    made = true;
    FUZZ_CHECK(mkdtemp(folder) != NULL && atexit(remove_genome) == 0);
    (void)snprintf(path, sizeof path, "%s/g", folder);
    FUZZ_CHECK(mkdir(path, 0700) == 0);
    (void)snprintf(path, sizeof path, "%s/g/genome.fa", folder);
    FILE *bases = fopen(path, "w");
    (void)snprintf(path, sizeof path, "%s/g/genome.fa.fai", folder);
    FILE *index = fopen(path, "w");
    FUZZ_CHECK(bases != NULL && index != NULL);
    for (int c = 1; c <= 2; c++) {
        (void)fprintf(bases, ">chr%d\n", c);
        (void)fprintf(index, "chr%d\t%d\t%ld\t%d\t%d\n", c, BASES, ftell(bases), LINE, LINE + 1);
        for (int i = 0; i < BASES; i++)
            (void)fprintf(bases, "%c%s", "ACGTTGCAAC"[(i * i + 7 * i / 3 + c) % 10], i % LINE == LINE - 1 ? "\n" : "");
    }
    FUZZ_CHECK(fclose(bases) == 0 && fclose(index) == 0);
    return folder;
}

/* The options that the size of the input chooses. */
static struct collection_options options_of(size_t size)
{
    static const char *const separators[] = {"", "", "none", "blank", ",", "|"};
    struct collection_options o = {0};
    collection_options_clear(&o);
    o.data = genome_folder();
    o.genome = "g";
    o.window = (int)(size % 5) * 9 - 1;
    o.label = size % 19 == 0 ? "a,b" : "";
    o.group = "";
    o.ignore = size % 10 == 0 ? "b" : "";
    o.separator = separators[size % 6];
    o.absent = size % 9 == 0 ? "x" : "";
    o.label_column = size % 8 == 0 ? 1 + (int)(size / 8 % 6) : 0;
    o.rate = size % 17 == 0 ? 4000 : 0;
    o.missing = (enum collection_missing)(size % 3);
    o.fold_names = size % 7 == 0;
    o.layout = size % 4;
    o.target = size % 11 <= TARGET_NUMBER ? (enum collection_target)(size % 11) : TARGET_NONE;
    o.words = (enum collection_words)(size % 3);
    o.buckets = (int)(size % 4);
    o.cut = size % 15 == 0 ? 2 : 0;
    o.negatives = size % 26 == 0 ? NEGATIVES_GC : size % 13 == 0 ? NEGATIVES_SHUFFLE : NEGATIVES_NONE;
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"npz",   "npy",  "safetensors", "csv",  "tar",
                                          "fasta", "meme", "bed",         "h5ad", "jsonl"};
    if (size < 1)
        return 0;
    struct byte_source_memory memory = {data + 1, size - 1, 1 + size % 61};
    struct byte_source from = byte_source_of_memory(&memory);
    const struct collection_options options = options_of(size);
    struct collection c;
    struct error err = {0};
#ifdef FUZZ_FORMAT
    const struct collection_format *format = collection_format_named(FUZZ_FORMAT);
#else
    const struct collection_format *format = collection_format_named(formats[(size_t)(data[0] - '0') % 10]);
#endif
    FUZZ_CHECK(format != NULL && formats[0] != NULL);
    /* a tar may contain recordings, and resampling takes 40 µs for each number */
    limits.bytes = strcmp(format->name, "tar") == 0 ? 1 << 10 : 1 << 18;
    enum status status = collection_read(format, &from, &options, &limits, &c, &err);
    FUZZ_CHECK(status == err.code && (status == STATUS_OK || err.message[0] != '\0'));
    FUZZ_CHECK(status == STATUS_OK || (c.values == NULL && c.bytes == NULL && c.count == 0));
    bool expected =
        status == STATUS_OK || status == STATUS_INVALID || status == STATUS_CORRUPT || status == STATUS_LIMIT;
    if (!expected)
        (void)fprintf(stderr, "status %d: %s\n", (int)status, err.message);
    FUZZ_CHECK(expected);
    if (status == STATUS_OK) {
        check(&c);
        check_stored(&c);
    }
    collection_close(&c);
    return 0;
}
