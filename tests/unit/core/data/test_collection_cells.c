/* Tests tables of cells: an archive with a matrix in Matrix Market's format and the names of features and cells
 * becomes the same table as a dense array. A faulty archive is refused with a message that states the fault. */
#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/data/uploads/collection.h"
#include "tests/support/archive_add.h"

enum { ROOM = 1 << 16, CELLS = 23, FEATURES = 17 };

static struct error err;

struct member {
    const char *name, *text;
};

/* Reads an archive whose members contain these texts. Members whose names end in .gz are compressed. */
static enum status read_members(const struct member *members, int count, struct collection *c)
{
    static char bytes[4 * ROOM];
    size_t size;
    struct archive *a = archive_write_new();
    assert_int_equal(archive_write_set_format_ustar(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, bytes, sizeof bytes, &size), ARCHIVE_OK);
    for (int i = 0; i < count; i++) {
        char packed[ROOM];
        const char *name = members[i].name, *content = members[i].text;
        size_t length = strlen(content);
        if (strcmp(name + strlen(name) - 3, ".gz") == 0) {
            z_stream z = {.next_in = (Bytef *)(uintptr_t)content,
                          .avail_in = (uInt)length,
                          .next_out = (Bytef *)packed,
                          .avail_out = sizeof packed};
            assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
            assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
            length = sizeof packed - z.avail_out;
            content = packed;
            (void)deflateEnd(&z);
        }
        archive_add(a, name, content, length);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    struct byte_source_memory memory = {(const unsigned char *)bytes, size, 7};
    struct byte_source from = byte_source_of_memory(&memory);
    const struct collection_options options = {.label = "", .group = ""};
    const struct collection_limits limits = COLLECTION_LIMITS;
    err = (struct error){0};
    return collection_read(collection_format_named("tar"), &from, &options, &limits, c, &err);
}

/* A table of random counts, as a dense array and as the text of a Matrix Market file with its entries in random
 * order. */
struct table {
    float value[CELLS][FEATURES];
    char features[ROOM], barcodes[ROOM], matrix[ROOM], labels[ROOM];
};

static void make_table(struct table *t, uint64_t seed, bool turned)
{
    struct philox from = philox_stream(seed, 3, 0);
    int entry[CELLS * FEATURES], entries = 0;
    size_t used[4] = {0};
    memset(t, 0, sizeof *t);
    for (int i = 0; i < CELLS * FEATURES; i++) {
        uint32_t bits = philox_u32(&from, (uint64_t)i);
        if (bits % 4 > 0)
            continue;
        t->value[i / FEATURES][i % FEATURES] = (float)(1 + bits / 4 % 1000) / 8;
        entry[entries++] = i;
    }
    for (int i = entries - 1; i > 0; i--) {
        int j = (int)(philox_u32(&from, (uint64_t)(1000 + i)) % (uint32_t)(i + 1)), kept = entry[i];
        entry[i] = entry[j];
        entry[j] = kept;
    }
    used[2] += (size_t)sprintf(t->matrix, "%%%%MatrixMarket matrix coordinate real general\n%% a comment\n%d %d %d\n",
                               turned ? CELLS : FEATURES, turned ? FEATURES : CELLS, entries);
    for (int i = 0; i < entries; i++) {
        int cell = entry[i] / FEATURES, feature = entry[i] % FEATURES;
        used[2] += (size_t)sprintf(t->matrix + used[2], "%d %d %.9g\n", 1 + (turned ? cell : feature),
                                   1 + (turned ? feature : cell), (double)t->value[cell][feature]);
    }
    for (int i = 0; i < FEATURES; i++)
        used[0] += (size_t)sprintf(t->features + used[0], "ENSG%02d\tgene%d\tGene Expression\n", i, i < 2 ? 0 : i);
    used[3] += (size_t)sprintf(t->labels, "file,label\n");
    for (int i = 0; i < CELLS; i++) {
        used[1] += (size_t)sprintf(t->barcodes + used[1], "CELL%02d-1\n", i);
        used[3] += (size_t)sprintf(t->labels + used[3], "CELL%02d-1,%s\n", CELLS - 1 - i, i % 3 ? "b" : "t");
    }
}

static void cells_equal_the_dense_table(void **state)
{
    static struct table t;
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        struct collection c;
        make_table(&t, (uint64_t)turned, turned == 1);
        const struct member members[] = {{turned ? "raw/matrix.mtx.gz" : "matrix.mtx", t.matrix},
                                         {turned ? "raw/features.tsv.gz" : "genes.tsv", t.features},
                                         {"labels.csv", t.labels},
                                         {turned ? "raw/barcodes.tsv.gz" : "barcodes.tsv", t.barcodes}};
        if (read_members(members, 4, &c))
            fail_msg("%s", err.message);
        assert_true(c.kind == COLLECTION_TABLE && c.count == CELLS && c.cols == FEATURES &&
                    c.columns.count == FEATURES);
        assert_string_equal(c.columns.name[0], "gene0");
        /* Another feature has the same name, so the column gets the id. */
        assert_string_equal(c.columns.name[1], "ENSG01");
        assert_string_equal(c.columns.name[16], "gene16");
        assert_int_equal(c.target, TARGET_CLASS);
        for (int i = 0; i < CELLS; i++) {
            for (int k = 0; k < FEATURES; k++)
                assert_true(collection_value(&c, collection_begin(&c, i) + k) == t.value[i][k]);
            assert_string_equal(c.vocabulary.name[c.label[i]], (CELLS - 1 - i) % 3 ? "b" : "t");
        }
        collection_close(&c);
    }
}

static void entries_of_pattern_matrices_are_read_as_one(void **state)
{
    struct collection c;
    const struct member members[] = {
        {"matrix.mtx", "%%matrixmarket MATRIX Coordinate Pattern General\n2 3 2\n2 1\n1 3\n"},
        {"features.tsv", "a\nb\n"},
        {"barcodes.tsv", "x\ny\nz\n"}};
    (void)state;
    if (read_members(members, 3, &c))
        fail_msg("%s", err.message);
    const float wanted[] = {0, 1, 0, 0, 1, 0};
    for (int i = 0; i < 6; i++)
        assert_true(collection_value(&c, i) == wanted[i]);
    assert_int_equal(c.target, TARGET_NONE);
    collection_close(&c);
}

/* The files of a table may have a prefix, as in GEO. Features of equal names get their ids or a number. */
static void names_of_cells_and_features_are_kept(void **state)
{
    static const char *const columns[] = {"A", "B", "ENSG2", "CD3", "CD3_TotalSeqB", "CD3-1"};
    struct collection c;
    const struct member members[] = {
        {"GSM1/GSM1_run.genes.tsv.gz",
         "ENSG0\tA\nENSG1\tB\tGene Expression\nENSG2\tB\nENSG3\tCD3\nCD3_TotalSeqB\tCD3\nCD3\tCD3\n"},
        {"GSM1/GSM1_run.matrix.mtx.gz",
         "%%MatrixMarket matrix coordinate real general\n6 2 2\n1 1 16777217\n6 2 -2.5\n"},
        {"GSM1/GSM1_run.barcodes.tsv.gz", "AAAC0-1\nAAAC1-1\textra\n"}};
    (void)state;
    if (read_members(members, 3, &c))
        fail_msg("%s", err.message);
    assert_true(c.count == 2 && c.records.count == 2 && c.columns.count == 6);
    assert_string_equal(c.records.name[0], "AAAC0-1");
    assert_string_equal(c.records.name[1], "AAAC1-1");
    for (int i = 0; i < 6; i++)
        assert_string_equal(c.columns.name[i], columns[i]);
    assert_true(collection_value(&c, 0) == 16777216 && collection_value(&c, 11) == -2.5F);
    assert_string_equal(c.warning[0].code, "renamed-columns");
    assert_non_null(
        strstr(c.warning[0].text, "3 features with the name of an earlier feature were renamed: 'B', 'CD3'"));
    assert_string_equal(c.warning[1].code, "rounded");
    assert_non_null(strstr(c.warning[1].text, "1 whole numbers beyond 16777216"));
    assert_non_null(strstr(c.warning[1].text, "matrix.mtx, line 3: 16777217 became 16777216"));
    collection_close(&c);
}

static void refuses(const char *matrix, const char *features, const char *barcodes, const char *message)
{
    struct collection c;
    const struct member members[] = {{"matrix.mtx", matrix}, {"features.tsv", features}, {"barcodes.tsv", barcodes}};
    assert_int_equal(read_members(members, 3, &c), STATUS_INVALID);
    if (!strstr(err.message, message))
        fail_msg("'%s' does not say '%s'", err.message, message);
}

#define HEAD "%%MatrixMarket matrix coordinate integer general\n"

static void faults_of_cells_are_named(void **state)
{
    struct collection c;
    const char *two = "a\nb\n", *three = "x\ny\nz\n";
    (void)state;
    refuses("", two, three, "line 0: the file is empty");
    refuses("1 2 3\n", two, three, "line 1: must be %%MatrixMarket");
    refuses("%%MatrixMarket matrix array real general\n", two, three, "only coordinate");
    refuses("%%MatrixMarket matrix coordinate real symmetric\n", two, three, "only general");
    refuses("%%MatrixMarket matrix coordinate complex general\n", two, three, "real, integer or pattern");
    refuses(HEAD, two, three, "before the line with the numbers");
    refuses(HEAD "2 3\n", two, three, "line 2: must be the numbers");
    refuses(HEAD "2 3 7\n", two, three, "more entries than");
    refuses(HEAD "2 3 1000000000\n", two, three, "more entries than");
    refuses(HEAD "2 3 1\n", two, three, "ends before its last entry");
    refuses(HEAD "2 3 1\n0 1 4\n", two, three, "line 3: the row or the column is outside");
    refuses(HEAD "2 3 1\n3 1 4\n", two, three, "outside of the matrix");
    refuses(HEAD "2 3 1\n1 1 nan\n", two, three, "finite number");
    refuses(HEAD "2 3 1\n1 1 1 1\n", two, three, "finite number");
    refuses(HEAD "2 3 1\n1 1 4\n1 2 4\n", two, three, "more entries than the line of sizes states");
    refuses(HEAD "2 3 2\n1 1 4\n1 1 5\n", two, three, "the cell 'x' has two entries");
    refuses(HEAD "3 3 1\n1 1 4\n", two, three, "3 rows and 3 columns, but there are 2 features and 3 cells");
    refuses(HEAD "2 3 1\n1 1 1e300\n", two, three, "line 3: the value is beyond single precision (3.4e38)");
    refuses(HEAD "2 3 1\n1 1 4\n", two, "x\ny\nx\n", "barcodes.tsv, line 3: a cell occurs twice; if several runs");
    const struct member prefixes[] = {{"A_matrix.mtx", HEAD "1 1 1\n1 1 4\n"},
                                      {"A_features.tsv", "a\n"},
                                      {"B_barcodes.tsv", "x\n"}},
                        several[] = {{"A_matrix.mtx", HEAD}, {"B_matrix.mtx", HEAD}}, other[] = {{"Amatrix.mtx", HEAD}};
    assert_int_equal(read_members(prefixes, 3, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "have the same prefix; got 'A_matrix.mtx', 'A_...' and 'B_barcodes.tsv'"));
    assert_int_equal(read_members(several, 2, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "member 'B_matrix.mtx': is a further file of this kind"));
    assert_int_equal(read_members(other, 1, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "is not allowed"));
    const struct member lonely[] = {{"matrix.mtx", HEAD}, {"labels.csv", "file,label\n"}};
    assert_int_equal(read_members(lonely, 2, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "needs matrix.mtx, features.tsv"));
    const struct member unlabelled[] = {{"matrix.mtx", HEAD "1 2 1\n1 1 4\n"},
                                        {"features.tsv", "a\n"},
                                        {"barcodes.tsv", "x\ny\n"},
                                        {"labels.csv", "file,label\nx,one\n"}};
    assert_int_equal(read_members(unlabelled, 4, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "there is no row for the member 'y'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_equal_the_dense_table),
        cmocka_unit_test(entries_of_pattern_matrices_are_read_as_one),
        cmocka_unit_test(names_of_cells_and_features_are_kept),
        cmocka_unit_test(faults_of_cells_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
