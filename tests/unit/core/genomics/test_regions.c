/* Tests that regions of a genome become samples: their windows, labels, negatives, and archives of several files. */
#include <archive.h>
#include <archive_entry.h>
#include <math.h>
#include <sys/stat.h>
#include <zlib.h>

#include "tests/support/unit.h"
#include "tests/support/looks.h"
#include "core/base/random/philox.h"
#include "core/data/uploads/collection.h"
#include "core/genomics/files/bigwig.h"

static struct collection_limits limits = COLLECTION_LIMITS;
static struct error err;

/* ---- regions of a genome ----------------------------------------------------------------------------------- */

enum { CHROMOSOME = 3000 };
static char genome_root[] = "/tmp/genomeXXXXXX", chromosome[2][CHROMOSOME + 1];

/* Writes two sequences in lines of 70 bases, the second one in small letters, and their index. */
static int make_genome(void **state)
{
    char path[128];
    if (!mkdtemp(genome_root))
        return -1;
    snprintf(path, sizeof path, "%s/tiny", genome_root);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/tiny/genome.fa", genome_root);
    FILE *fasta = fopen(path, "w");
    snprintf(path, sizeof path, "%s/tiny/genome.fa.fai", genome_root);
    FILE *index = fopen(path, "w");
    struct philox noise = philox_stream(11, 1, 0);
    for (int c = 0; c < 2; c++) {
        fprintf(fasta, ">chr%d anything\n", 2 - c);
        fprintf(index, "chr%d\t%d\t%ld\t70\t71\n", 2 - c, CHROMOSOME, ftell(fasta));
        for (int i = 0; i < CHROMOSOME; i++) {
            chromosome[c][i] = "ACGT"[philox_u32(&noise, (uint64_t)(c * CHROMOSOME + i)) % 4];
            fputc(c == 1 ? chromosome[c][i] + 32 : chromosome[c][i], fasta);
            if (i % 70 == 69 || i == CHROMOSOME - 1)
                fputc('\n', fasta);
        }
    }
    return fclose(fasta) || fclose(index);
}

static int remove_genome(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", genome_root);
    return system(command);
}

static enum status read_regions(const char *text, const struct collection_options *options, struct collection *c)
{
    struct byte_source_memory memory = {(const unsigned char *)text, strlen(text), 9};
    struct byte_source from = byte_source_of_memory(&memory);
    err = (struct error){0};
    return collection_read(collection_format_named("bed"), &from, options, &limits, c, &err);
}

static char base_of(const struct collection *c, int64_t sample, int64_t i)
{
    int64_t length = collection_length(c, sample), begin = collection_begin(c, sample);
    for (int b = 0; b < 4; b++)
        if (collection_value(c, begin + b * length + i) > 0)
            return "ACGT"[b];
    return 'N';
}

static void regions_become_windows_of_the_genome(void **state)
{
    struct collection_options options = {
        .label = "name", .group = "", .data = genome_root, .genome = "tiny", .window = 20};
    struct collection c;
    const int32_t *label;
    static const char text[] =
        "track name=x\n#comment\nchr2\t100\t200\tone two\nchr1\t1000\t1100\tone\t5\t-\t1\t2\t3\t30\n"
        "chr1\t2\t12\tone\n";
    if (read_regions(text, &options, &c) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_true(c.count == 2 && c.kind == COLLECTION_SEQUENCES && c.records.count == 2 && c.warnings == 1);
    /* the window around 7 would begin at 7 - 10, before the chromosome */
    assert_string_equal(c.warning[0].code, "regions-left-out");
    assert_string_equal(c.records.name[0], "chr2:140-160");
    assert_string_equal(c.records.name[1], "chr1:1020-1040(-)");
    assert_int_equal(collection_labels(&c, 0, &label), 2);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(base_of(&c, 0, i), chromosome[0][140 + i]);
        char other = chromosome[1][1039 - i];
        assert_int_equal(base_of(&c, 1, i), other == 'A' ? 'T' : other == 'C' ? 'G' : other == 'G' ? 'C' : 'A');
    }
    collection_close(&c);
    options =
        (struct collection_options){.label = "CTCF", .group = "", .data = genome_root, .genome = "tiny", .window = 0};
    assert_int_equal(read_regions("chr2\t0\t75\n", &options, &c), STATUS_OK);
    assert_true(c.count == 1 && collection_length(&c, 0) == 75);
    assert_string_equal(c.vocabulary.name[0], "CTCF");
    collection_close(&c);
}

/* A strand of 1 or -1, positions that a program wrote as floating-point numbers, columns between blanks, and regions
 * that cannot be read as the file states them. */
static void unusual_columns_are_read_or_reported(void **state)
{
    struct collection_options options = {
        .label = "x", .group = "", .data = genome_root, .genome = "tiny", .window = 20};
    static const char *const codes[] = {"regions-beyond", "strands-unknown", "summits-outside"};
    static const char *const texts[] = {
        "2 regions (the first: line 7, column 3: '6000', but chr1 has 3000 bases) were left out",
        "1 regions (the first: line 6, column 6: '0.05') state no strand",
        "1 regions (the first: line 5, column 10: '200') have a summit outside"};
    static const char *const places[] = {"chr1:100-120",      "chr1:300-320(-)", "chr2:50-70",
                                         "chr1:1000-1020(-)", "chr1:1040-1060",  "chr1:400-420"};
    static const char text[] = "chr1\t100.0\t1.2e+02\tp1\t0\t1\nchr1\t300\t320\tp2\t0\t-1\nchr2\t50\t70\tp3\t0\t*\n"
                               "chr1 1000 1020  p4 0 -\nchr1\t1000\t1100\tp5\t0\t.\t1\t2\t3\t200\n"
                               "chr1\t400\t420\tp6\t0\t0.05\nchr1\t2990\t6000\nchr1\t-5\t300\n";
    struct collection c;
    if (read_regions(text, &options, &c) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(c.count, 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(c.records.name[i], places[i]);
    assert_int_equal(c.warnings, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(c.warning[i].code, codes[i]);
        if (!strstr(c.warning[i].text, texts[i]))
            fail_msg("'%s' does not say '%s'", c.warning[i].text, texts[i]);
    }
    collection_close(&c);
    static const char *const strands[] = {"+",     "plus", "Forward", "F",    "1.0", "W",           "-",
                                          "minus", "REV",  "r",       "-1.0", "C",   "\xE2\x88\x92"};
    char lines[1024] = "chrom\tstart\tend\tname\tscore\tstrand\n"; /* a header */
    for (int i = 0; i < 13; i++)
        sprintf(lines + strlen(lines), "chr1\t%d\t%d\tp\t0\t%s\n", 100 + 40 * i, 120 + 40 * i, strands[i]);
    assert_int_equal(read_regions(lines, &options, &c), STATUS_OK);
    assert_int_equal(c.count, 13);
    assert_int_equal(c.warnings, 0);
    for (int i = 0; i < 13; i++)
        assert_int_equal(strstr(c.records.name[i], "(-)") != NULL, i >= 6);
    collection_close(&c);
    /* the first ten columns of idr's output are those of narrowPeak */
    static const char idr[] =
        "chr1\t1000\t1160\t.\t1000\t.\t9\t-1\t3\t15\t5\t5\t1000\t1160\t8\t14\t1001\t1160\t8\t15\n";
    assert_int_equal(read_regions(idr, &options, &c), STATUS_OK);
    assert_string_equal(c.records.name[0], "chr1:1005-1025");
    collection_close(&c);
}

static void negatives_of_the_genome_have_as_many_g_and_c(void **state)
{
    enum { REGIONS = 12, WINDOW = 50 };
    struct collection_options options = {
        .label = "", .group = "", .data = genome_root, .genome = "tiny", .window = WINDOW, .negatives = NEGATIVES_GC};
    struct collection c;
    const int32_t *label;
    char text[REGIONS * 32] = "";
    for (int i = 0; i < REGIONS; i++)
        sprintf(text + strlen(text), "chr%d\t%d\t%d\n", 1 + i % 2, 100 + 200 * i, 150 + 200 * i);
    assert_int_equal(read_regions(text, &options, &c), STATUS_OK);
    assert_true(c.count == 2 * REGIONS && c.records.count == c.count);
    for (int i = 0; i < REGIONS; i++) {
        int gc[2] = {0};
        for (int side = 0; side < 2; side++)
            for (int j = 0; j < WINDOW; j++)
                gc[side] += strchr("GC", base_of(&c, i + side * REGIONS, j)) != NULL;
        assert_true(abs(gc[0] - gc[1]) <= 1 && collection_labels(&c, REGIONS + i, &label) == 0);
        int number, start;
        assert_int_equal(sscanf(c.records.name[REGIONS + i], "chr%d:%d-", &number, &start), 2);
        for (int k = 0; k < REGIONS; k++)
            assert_true(number != 1 + k % 2 || start + WINDOW <= 100 + 200 * k || start >= 150 + 200 * k);
    }
    collection_close(&c);
}

/* Each window that is read looks at the budget. */
static void the_search_for_negatives_ends_wherever_its_budget_ends(void **state)
{
    struct looks looks;
    struct collection_options options = {.label = "",
                                         .group = "",
                                         .data = genome_root,
                                         .genome = "tiny",
                                         .window = 20,
                                         .negatives = NEGATIVES_GC,
                                         .work = &looks.work};
    (void)state;
    for (int n = 0; n == 0 || looks.ended; n++) {
        struct collection c;
        looks_open(&looks, n);
        enum status status = read_regions("chr1\t100\t150\nchr2\t300\t350\n", &options, &c);
        assert_int_equal(status, looks.ended ? STATUS_CANCELLED : STATUS_OK);
        assert_true(n < 5000 && (looks.ended || n > 6));
        collection_close(&c);
    }
}

static void regions_on_sequences_that_the_genome_lacks_are_left_out(void **state)
{
    struct collection_options options = {.label = "", .group = "", .data = genome_root, .genome = "tiny", .window = 20};
    static const char text[] = "chrUn_KI270302v1_alt_and_more_than_31_bytes\t9\t5\nchr1\t100\t200\nchrEBV\t1\t50\n"
                               "chr1\t2\t12\n";
    struct collection c;
    if (read_regions(text, &options, &c) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_true(c.count == 1 && c.warnings == 2);
    assert_string_equal(c.records.name[0], "chr1:140-160");
    assert_string_equal(c.warning[0].code, "regions-elsewhere");
    assert_string_equal(c.warning[0].text, "2 regions were left out, because the genome lacks their sequences; the "
                                           "first of these regions is on chrUn_KI270302v1_alt_and_more_than_31_bytes; "
                                           "the genome has chr1, chr2");
    assert_string_equal(c.warning[1].code, "regions-left-out");
    collection_close(&c);
}

/* Regions that the genome lacks do not count towards the limit of the number of regions. */
static void regions_that_the_genome_lacks_do_not_count_towards_the_limit(void **state)
{
    static const enum collection_negatives negatives[] = {NEGATIVES_NONE, NEGATIVES_GC};
    static const char elsewhere[] = "chrEBV\t1\t50\nchrUn\t1\t50\nchr1\t100\t200\nchrEBV\t5\t9\n",
                      full[] = "chr1\t100\t200\nchr1\t300\t400\nchr1\t500\t600\n";
    const struct collection_limits usual = limits;
    struct collection c;
    limits.samples = 2;
    for (int i = 0; i < 2; i++) {
        struct collection_options options = {
            .label = "", .group = "", .data = genome_root, .genome = "tiny", .window = 30, .negatives = negatives[i]};
        assert_int_equal(read_regions(elsewhere, &options, &c), STATUS_OK);
        assert_string_equal(c.records.name[0], "chr1:135-165");
        collection_close(&c);
        assert_int_equal(read_regions(full, &options, &c), STATUS_LIMIT);
    }
    limits = usual;
}

/* The regions cover chr2, and chr1 except [2600, 2900); their windows cover much less. The window of the last region
 * crosses the end of chr1, so this region gives no sample, but it may contain no negative either. */
static void negatives_lie_outside_of_whole_regions(void **state)
{
    enum { WINDOW = 50 };
    struct collection_options options = {
        .label = "", .group = "", .data = genome_root, .genome = "tiny", .window = WINDOW, .negatives = NEGATIVES_GC};
    struct collection c;
    static const char text[] = "chr2\t0\t3000\n"
                               "chr1\t0\t1000\nchr1\t400\t450\nchr1\t500\t2600\tx\t0\t.\t0\t0\t0\t40\n"
                               "chr1\t2900\t3000\tx\t0\t.\t0\t0\t0\t99\n";
    assert_int_equal(read_regions(text, &options, &c), STATUS_OK);
    assert_true(c.count > 4 && c.count <= 8 && c.warnings > 0);
    assert_string_equal(c.warning[0].code, "regions-left-out");
    for (int64_t i = 4; i < c.count; i++) {
        int number, start;
        assert_int_equal(sscanf(c.records.name[i], "chr%d:%d-", &number, &start), 2);
        assert_true(number == 1 && start >= 2600 && start + WINDOW <= 2900);
    }
    collection_close(&c);
}

static void faulty_regions_are_refused_with_the_line(void **state)
{
    struct collection_options options = {.label = "", .group = "", .data = genome_root, .genome = "tiny", .window = -1};
    static const struct {
        const char *text, *says;
    } cases[] = {{"chr1\t5\n", "line 1: a region needs"},
                 {"chr9\t5\t9\nchr1\t5\t9\n",
                  "lacks the sequences of 1 regions, the first of which is on 'chr9'; the genome has chr1, chr2; the "
                  "others cross an end"},
                 {"1\t5\t9\n", "on '1'; the genome calls it chr1: prefix the names with chr (sed 's/^/chr/' FILE)"},
                 {"CHR2\t5\t9\n", "on 'CHR2'; the genome calls it chr2: rename it"},
                 {"chr1\t5\t9\n", "no region is left: the windows of all 1 regions"},
                 {"chr\xff\t5\t9\n", "line 1: the name of the chromosome is not UTF-8"},
                 {"chr1\t9\t9\n", "line 1: the region is empty: the end (column 3) equals the start (column 2: 9)"},
                 {"chr1\t9\t8\n", "line 1: the end (column 3) lies before the start (column 2: 9)"},
                 {"\nchr1\t9\t3001\n",
                  "no region is left: 1 regions lie beyond an end of their chromosome (line 2, column "
                  "3: '3001', but chr1 has 3000 bases)"},
                 {"chr1\tx\t30\n", "line 1, column 2: 'x' is not a whole number"},
                 {"chr1\t9\t30.5\n", "line 1, column 3: '30.5' is not a whole number"},
                 {"chr1\t1,000\t2,000\n", "line 1, column 2: '1,000' is not a whole number"},
                 {"chr1\t1000\t1160\tp1\t500\t.\t5.5\t3.2\t2.1\t1015\n",
                  "line 1, column 10: '1015' is a position of the chromosome, but a summit counts from the start"},
                 {"", "there are no samples"}};
    struct collection c;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_regions(cases[i].text, &options, &c), STATUS_INVALID);
        if (!strstr(err.message, cases[i].says))
            fail_msg("'%s' does not say '%s'", err.message, cases[i].says);
    }
    static const char *const names[] = {"", "none", "../tiny"};
    for (int i = 0; i < 3; i++) {
        options.genome = names[i];
        assert_int_equal(read_regions("chr1\t5\t9\n", &options, &c), STATUS_INVALID);
    }
}

static void refused(const char *text, const struct collection_options *options, const char *says)
{
    struct collection c;
    assert_int_equal(read_regions(text, options, &c), STATUS_INVALID);
    if (!strstr(err.message, says))
        fail_msg("'%s' does not say '%s'", err.message, says);
}

/* Makes folders of the operator: a data set, and genomes of which only the index exists. */
static void an_unknown_genome_gets_the_names_of_the_genomes(void **state)
{
    struct collection_options options = {.label = "", .group = "", .data = genome_root, .genome = "hg19", .window = 5};
    static const char *const more[] = {"a-set", "mm10", "dm6", "ce11", "hg38", "rn7", "aa"};
    char command[160];
    refused("chr1\t5\t9\n", &options, "genome=hg19: there is no genome hg19; the genomes of this server: tiny");
    for (int i = 0; i < 7; i++) {
        snprintf(command, sizeof command, "mkdir %s/%s && touch %s/%s/%s", genome_root, more[i], genome_root, more[i],
                 i > 0 ? "genome.fa.fai" : "set.pack");
        assert_int_equal(system(command), 0);
    }
    refused("chr1\t5\t9\n", &options, "the genomes of this server: aa, ce11, dm6, hg38, mm10, ...");
    for (int i = 0; i < 7; i++) {
        snprintf(command, sizeof command, "rm -r %s/%s", genome_root, more[i]);
        assert_int_equal(system(command), 0);
    }
    options.data = "/nonexistent";
    refused("chr1\t5\t9\n", &options, "there is no genome hg19; the operator of this server has set up no genome");
}

/* ---- numbers ----------------------------------------------------------------------------------------------- */

static void a_column_has_the_number_of_a_region(void **state)
{
    struct collection_options options = {.label = "",
                                         .group = "",
                                         .data = genome_root,
                                         .genome = "tiny",
                                         .window = 20,
                                         .target = TARGET_NUMBER,
                                         .label_column = 5};
    struct collection c;
    assert_int_equal(read_regions("chr1\t100\t200\ta\t7.5\nchr2\t100\t200\tb\t-1e3\n", &options, &c), STATUS_OK);
    assert_true(c.target == TARGET_NUMBER && c.count == 2 && c.number[0] == 7.5F && c.number[1] == -1000 && !c.profile);
    collection_close(&c);
    refused("chr1\t100\t200\ta\t7\nchr2\t100\t200\tb\thigh\n", &options,
            "BED, line 2, column 5: 'high' is not a number");
    refused("chr1\t100\t200\ta\t7\nchr2\t100\t200\tb\t.\n", &options, "BED, line 2, column 5: '.' is not a number");
    options.missing = MISSING_DROP;
    assert_int_equal(read_regions("chr1\t100\t200\ta\t.\nchr2\t100\t200\tb\t-5\nchr1\t100\t200\ta\tNA\n", &options, &c),
                     STATUS_OK);
    assert_true(c.count == 1 && c.number[0] == -5);
    collection_close(&c);
    options.missing = MISSING_REFUSE;
    refused("chr1\t100\t200\ta\t1,5\nchr2\t100\t200\tb\t7\n", &options,
            "line 1, column 5: '1,5' may be numbers with a decimal comma");
    assert_int_equal(read_regions("\xEF\xBB\xBF"
                                  "chr1\t100\t200\ta\t7\rchr2\t100\t200\tb\t8\r",
                                  &options, &c),
                     STATUS_OK);
    assert_true(c.count == 2 && c.number[1] == 8);
    collection_close(&c);
    options.label_column = 0;
    refused("chr1\t100\t200\n", &options, "needs either the column");
}

/* Writes a bigWig file to the operator's folder. On chr1, the signal is 1 at [0, 50). On chr2, it is 2 at [100, 200)
 * and 6 at [200, 300). `length` is the length of chr1. Returns false if this build cannot write bigWig files. */
static bool make_signal(const char *name, uint32_t length)
{
    static const char *const names[] = {"chr1", "chr2"};
    const uint32_t lengths[] = {length, CHROMOSOME};
    static const struct bigwig_interval intervals[] = {{0, 0, 50, 1}, {1, 100, 200, 2}, {1, 200, 300, 6}};
    char path[128];
    struct buf bytes;
    buf_init(&bytes, 1 << 20);
    err = (struct error){0};
    enum status status = bigwig_write(names, lengths, 2, intervals, 3, NULL, &bytes, &err);
    if (status == STATUS_CONFLICT)
        return false;
    assert_int_equal(status, STATUS_OK);
    snprintf(path, sizeof path, "%s/%s", genome_root, name);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/signal.bw", genome_root, name);
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    assert_int_equal(fclose(file), 0);
    buf_close(&bytes);
    return true;
}

static void a_signal_gives_a_mean_or_a_profile_for_each_region(void **state)
{
    struct collection_options options = {.label = "",
                                         .group = "",
                                         .data = genome_root,
                                         .genome = "tiny",
                                         .window = 0,
                                         .target = TARGET_NUMBER,
                                         .signal = "track"};
    struct collection c;
    static const char text[] = "chr2\t150\t250\nchr2\t150\t250\ta\t0\t-\nchr2\t280\t320\nchr1\t1000\t1040\n";
    static const float profile[] = {2, 2, 6, 6, 6, 6, 2, 2, 6, 6, 0, 0, 0, 0, 0, 0};
    if (!make_signal("track", CHROMOSOME))
        skip();
    if (read_regions(text, &options, &c) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_true(c.count == 4 && c.vocabulary.count == 1 && !c.profile);
    assert_string_equal(c.vocabulary.name[0], "track");
    assert_true(c.number[0] == 4 && c.number[1] == 4 && c.number[2] == 3 && c.number[3] == 0);
    collection_close(&c);
    options.bins = 4;
    assert_int_equal(read_regions(text, &options, &c), STATUS_OK);
    assert_true(c.vocabulary.count == 4 && c.profile);
    assert_string_equal(c.vocabulary.name[3], "3");
    assert_memory_equal(c.number, profile, sizeof profile); /* the second region is on the other strand */
    collection_close(&c);
    options.bins = 3; /* divides the 100 bases of a region into parts of 33, 33 and 34 bases */
    assert_int_equal(read_regions("chr2\t150\t250\n", &options, &c), STATUS_OK);
    assert_true(fabsf(c.number[1] - (17 * 2 + 16 * 6) / 33.F) < 1e-6F);
    collection_close(&c);
}

static void faulty_signals_are_refused(void **state)
{
    struct collection_options options = {.label = "",
                                         .group = "",
                                         .data = genome_root,
                                         .genome = "tiny",
                                         .window = 0,
                                         .target = TARGET_NUMBER,
                                         .signal = "none"};
    static const char text[] = "chr1\t100\t110\n";
    char path[128];
    if (!make_signal("short", 500))
        skip();
    refused(text, &options, "signal=none: there is no signal none; the signals of this server: short, track");
    options.signal = "../track";
    refused(text, &options, "signal=../track");
    options.signal = "short";
    refused(text, &options, "its chr1 has 500 bases, but that of the genome has 3000");
    options.signal = "track";
    options.bins = 11;
    refused(text, &options, "bins must be at most the 10 bases");
    options.bins = 1;
    options.label_column = 4;
    refused(text, &options, "needs either the column");
    options.label_column = 0;
    options.target = TARGET_CLASS;
    refused(text, &options, "needs target=number");
    options.signal = "";
    refused(text, &options, "bins needs signal");
    snprintf(path, sizeof path, "%s/short/signal.bw", genome_root);
    FILE *file = fopen(path, "wb");
    fputs("no signal", file);
    fclose(file);
    options = (struct collection_options){
        .label = "", .group = "", .data = genome_root, .genome = "tiny", .target = TARGET_NUMBER, .signal = "short"};
    refused(text, &options, "is no bigWig file");
}

/* ---- several files ----------------------------------------------------------------------------------------- */

struct member {
    const char *name, *text;
};

/* Reads an archive of files; those whose names end with .gz are compressed. */
static enum status read_archive(const struct member *member, int count, const struct collection_options *options,
                                struct collection *c)
{
    static unsigned char bytes[1 << 16], small[4096];
    size_t used = 0;
    struct archive *a = archive_write_new();
    assert_true(archive_write_set_format_ustar(a) == ARCHIVE_OK &&
                archive_write_open_memory(a, bytes, sizeof bytes, &used) == ARCHIVE_OK);
    for (int i = 0; i < count; i++) {
        const void *content = member[i].text;
        size_t size = strlen(member[i].text);
        if (strstr(member[i].name, ".gz")) {
            z_stream z = {.next_in = (unsigned char *)member[i].text,
                          .avail_in = (unsigned)size,
                          .next_out = small,
                          .avail_out = sizeof small};
            assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
            assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
            content = small;
            size = z.total_out;
            deflateEnd(&z);
        }
        struct archive_entry *e = archive_entry_new();
        archive_entry_set_pathname(e, member[i].name);
        archive_entry_set_size(e, (la_int64_t)size);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_perm(e, 0644);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        assert_int_equal(archive_write_data(a, content, size), (long)size);
        archive_entry_free(e);
    }
    assert_int_equal(archive_write_free(a), ARCHIVE_OK);
    struct byte_source_memory memory = {bytes, used, 11};
    struct byte_source from = byte_source_of_memory(&memory);
    err = (struct error){0};
    return collection_read(collection_format_named("tar"), &from, options, &limits, c, &err);
}

static bool has_names(const struct collection *c, int64_t sample, int count, const char *const *names)
{
    const int32_t *label;
    bool same = collection_labels(c, sample, &label) == count;
    for (int i = 0; same && i < count; i++)
        same = strcmp(c->vocabulary.name[label[i]], names[i]) == 0;
    return same;
}

static void the_name_of_each_file_is_the_class_of_its_regions(void **state)
{
    struct collection_options options = {.label = "", .group = "", .data = genome_root, .genome = "tiny", .window = 30};
    static const struct member files[] = {{"peaks/CTCF K562.bed", "chr1\t100\t200\nchr2\t300\t400\tx\n"},
                                          {"peaks/gata1.narrowPeak.gz", "chr1\t900\t950\t.\t0\t.\t1\t2\t3\t7\n"}};
    struct collection c;
    if (read_archive(files, 2, &options, &c) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_true(c.count == 3 && c.target == TARGET_CLASS && c.vocabulary.count == 2);
    assert_true(has_names(&c, 0, 1, (const char *[]){"CTCF K562"}) &&
                has_names(&c, 1, 1, (const char *[]){"CTCF K562"}));
    assert_true(has_names(&c, 2, 1, (const char *[]){"gata1"}));
    assert_string_equal(c.records.name[2], "chr1:892-922");
    collection_close(&c);
    options.negatives = NEGATIVES_SHUFFLE;
    assert_int_equal(read_archive(files, 2, &options, &c), STATUS_OK);
    assert_true(c.count == 6 && c.target == TARGET_SEQUENCE && has_names(&c, 5, 0, NULL));
    collection_close(&c);
}

static void a_place_in_several_files_is_one_sample_with_a_set_of_names(void **state)
{
    struct collection_options options = {
        .label = "", .group = "", .data = genome_root, .genome = "tiny", .window = 100, .target = TARGET_LABELS};
    /* A window has 100 bases. Without a strand, the windows of chr1 begin at 100, 150 and 249; on the strand '-', one
     * begins at 100. The windows at 100 and 150 share half of their bases. Those at 150 and 249 share only one base. */
    static const struct member files[] = {
        {"b.bed", "chr1\t149\t151\nchr1\t298\t300\nchr2\t500\t600\n"},
        {"a.bed", "chr1\t199\t201\nchr1\t149\t151\tn\t0\t-\nchr2\t510\t590\nchr2\t500\t600\n"}};
    struct collection c;
    if (read_archive(files, 2, &options, &c) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_true(c.count == 4 && c.target == TARGET_LABELS);
    assert_true(has_names(&c, 0, 2, (const char *[]){"a", "b"}) && has_names(&c, 1, 1, (const char *[]){"b"}) &&
                has_names(&c, 2, 2, (const char *[]){"a", "b"}) && has_names(&c, 3, 1, (const char *[]){"a"}));
    assert_string_equal(c.records.name[3], "chr1:100-200(-)");
    collection_close(&c);
}

static void a_column_of_a_file_has_the_label(void **state)
{
    struct collection_options options = {
        .label = "", .group = "", .data = genome_root, .genome = "tiny", .window = 30, .label_column = 7};
    static const char text[] = "chr1\t100\t200\tn\t0\t+\tliver cell\nchr1\t400\t500\tn\t0\t+\t.\n"
                               "chr1\t700\t800\tn\t0\t+\tlung,liver\n";
    struct collection c;
    assert_int_equal(read_regions(text, &options, &c), STATUS_OK);
    assert_true(c.count == 3 && c.target == TARGET_SEQUENCE && c.vocabulary.count == 2);
    assert_true(has_names(&c, 0, 1, (const char *[]){"liver cell"}) && has_names(&c, 1, 0, NULL));
    collection_close(&c);
    options.target = TARGET_LABELS;
    assert_int_equal(read_regions(text, &options, &c), STATUS_OK);
    assert_true(c.target == TARGET_LABELS && has_names(&c, 2, 2, (const char *[]){"liver", "lung"}));
    collection_close(&c);
    options.target = TARGET_CLASS;
    assert_int_equal(read_regions(text, &options, &c), STATUS_INVALID); /* the second region has none */
    options.negatives = NEGATIVES_SHUFFLE;
    options.target = TARGET_NONE;
    assert_int_equal(read_regions(text, &options, &c), STATUS_OK);
    assert_int_equal(c.count, 5); /* a region without a label is a negative itself */
    collection_close(&c);
    options.label_column = 8;
    assert_int_equal(read_regions(text, &options, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "line 1: there is no column 8"));
}

static void archives_of_regions_contain_nothing_else(void **state)
{
    struct collection_options options = {.label = "", .group = "", .data = genome_root, .genome = "tiny", .window = 30};
    static const struct member with_sequences[] = {{"a.bed", "chr1\t100\t200\n"}, {"b.fa", ">a\nACGT\n"}},
                               faulty[] = {{"a.bed", "chr1\t100\t200\n"}, {"deep/b.bed", "chr1\t100\n"}},
                               sequences[] = {{"b.fa", ">a\nACGT\n"}};
    struct collection c;
    assert_int_equal(read_archive(with_sequences, 2, &options, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "must not contain other files"));
    options.label = "both";
    options.label_column = 2;
    assert_int_equal(read_archive(with_sequences, 1, &options, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "label and label_column both"));
    options.label = "";
    options.label_column = 0;
    assert_int_equal(read_archive(faulty, 2, &options, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "member 'deep/b.bed': BED, line 1"));
    options.negatives = NEGATIVES_GC;
    options.stated = OPTION_NEGATIVES;
    assert_int_equal(read_archive(sequences, 1, &options, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "negatives does not apply to an archive of these files"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_become_windows_of_the_genome),
        cmocka_unit_test(unusual_columns_are_read_or_reported),
        cmocka_unit_test(negatives_of_the_genome_have_as_many_g_and_c),
        cmocka_unit_test(the_search_for_negatives_ends_wherever_its_budget_ends),
        cmocka_unit_test(regions_on_sequences_that_the_genome_lacks_are_left_out),
        cmocka_unit_test(regions_that_the_genome_lacks_do_not_count_towards_the_limit),
        cmocka_unit_test(negatives_lie_outside_of_whole_regions),
        cmocka_unit_test(faulty_regions_are_refused_with_the_line),
        cmocka_unit_test(an_unknown_genome_gets_the_names_of_the_genomes),
        cmocka_unit_test(a_column_has_the_number_of_a_region),
        cmocka_unit_test(a_signal_gives_a_mean_or_a_profile_for_each_region),
        cmocka_unit_test(faulty_signals_are_refused),
        cmocka_unit_test(the_name_of_each_file_is_the_class_of_its_regions),
        cmocka_unit_test(a_place_in_several_files_is_one_sample_with_a_set_of_names),
        cmocka_unit_test(a_column_of_a_file_has_the_label),
        cmocka_unit_test(archives_of_regions_contain_nothing_else),
    };
    return cmocka_run_group_tests(tests, make_genome, remove_genome);
}
