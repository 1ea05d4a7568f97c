/* Fuzz target of uploads in every format. The first byte selects the format by its place in collection_formats() (0
 * npz, 1 npy, 2 safetensors, 3 csv, 4 tar, 5 fasta, 6 meme, 7 bed, 8 h5ad: the table that motif-convert writes). The
 * other bytes arrive in small pieces. An accepted collection must be consistent, and must equal the collection that is
 * read back from its stored form. A build that defines FUZZ_FORMAT="csv" ignores the first byte and reads only csv, so
 * that each format can have a separate target with the same corpus. */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count;
    const struct collection_format *formats = collection_formats(&count);
    if (size < 1)
        return 0;
    struct byte_source_memory memory = {data + 1, size - 1, 1 + size % 61};
    struct byte_source from = byte_source_of_memory(&memory);
    struct collection_options options = {.label = "",
                                         .group = "",
                                         .layout = size % 4,
                                         .target = size % 11 <= TARGET_NUMBER ? (enum collection_target)(size % 11)
                                                                              : TARGET_NONE,
                                         .negatives = size % 13 == 0 ? NEGATIVES_SHUFFLE : NEGATIVES_NONE};
    struct collection c;
    struct error err = {0};
#ifdef FUZZ_FORMAT
    const struct collection_format *format = collection_format_named(FUZZ_FORMAT);
    FUZZ_CHECK(format != NULL && formats != NULL && count > 0);
#else
    const struct collection_format *format = &formats[(size_t)(data[0] - '0') % count];
#endif
    /* a tar may contain recordings, and resampling takes 40 µs for each number */
    limits.bytes = strcmp(format->name, "tar") == 0 ? 1 << 10 : 1 << 18;
    enum status status = collection_read(format, &from, &options, &limits, &c, &err);
    FUZZ_CHECK(status == err.code && (status == STATUS_OK || err.message[0] != '\0'));
    FUZZ_CHECK(status == STATUS_OK || (c.values == NULL && c.bytes == NULL && c.count == 0));
    FUZZ_CHECK(status == STATUS_OK || status == STATUS_INVALID || status == STATUS_CORRUPT || status == STATUS_LIMIT);
    if (status == STATUS_OK) {
        check(&c);
        check_stored(&c);
    }
    collection_close(&c);
    return 0;
}
