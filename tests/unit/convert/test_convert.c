/* Tests conversions of AnnData and 10x files. Files that other programs wrote (tests/fixtures/tables/make.py) give
 * the expected table, in every form. Matrices with many blocks, which the test writes with libhdf5, give the same
 * table as a plain reference. The argument of the program is the folder of the files. */
#include "convert/convert.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "convert/frame.h"
#include "convert/hdf5_file.h"
#include "convert/matrix.h"
#include "core/base/random/philox.h"
#include "tests/support/table_memory.h"

enum { CELLS = 23, FEATURES = 7 };

static const char *folder;
static struct error err;
static const struct collection_limits limits = COLLECTION_LIMITS;

/* Converts a file of the folder and reads the table. */
static enum status convert(const char *name, const struct convert_options *options, struct collection *c)
{
    char path[512];
    struct table_memory memory = {0};
    struct table_writer *to = malloc(sizeof *to);
    hid_t file;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(descriptor >= 0 && to);
    *to = table_memory_writer(&memory);
    err = (struct error){0};
    *c = (struct collection){0};
    enum status status = hdf5_file_open(descriptor, &file, &err);
    if (!status) {
        status = strstr(name, ".h5ad") ? convert_h5ad(file, options, to, &err) : convert_10x(file, options, to, &err);
        assert_true(H5Fget_obj_count(file, H5F_OBJ_ALL) == 1); /* only the file itself is open */
        H5Fclose(file);
    }
    if (!status)
        status = table_memory_read(&memory, &limits, c, &err);
    assert_int_equal(close(descriptor), 0);
    free(memory.bytes);
    free(to);
    return status;
}

static float value_at(int cell, int feature)
{
    return (cell * 7 + feature * 3) % 5 < 2 ? (float)((cell + 1) * (feature + 2)) / 8 : 0;
}

static const char *const types[] = {"B cell", "T cell", "\xCE\xB3\xCE\xB4 T"};

/* Checks values, the names of rows and the labels. `first`: index of the feature in the first column. */
static void check(const struct collection *c, int first, float scale, bool labelled)
{
    assert_true(c->kind == COLLECTION_TABLE && c->count == CELLS && c->cols == FEATURES - first &&
                c->columns.count == FEATURES - first && c->records.count == CELLS);
    for (int i = 0; i < CELLS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "CELL%02d-1", i);
        assert_string_equal(c->records.name[i], name);
        for (int k = first; k < FEATURES; k++)
            assert_true(collection_value(c, collection_begin(c, i) + k - first) == scale * value_at(i, k));
        if (labelled)
            assert_string_equal(c->vocabulary.name[c->label[i]], types[i % 3]);
    }
    assert_int_equal(c->target, labelled ? TARGET_CLASS : TARGET_NONE);
}

static void every_form_of_a_file_gives_the_same_table(void **state)
{
    static const char *const names[] = {"csr.h5ad",    "csc.h5ad", "v07.h5ad", "v06.h5ad",
                                        "latest.h5ad", "v3.h5",    "v2.h5"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct collection c;
        bool labelled = strstr(names[i], ".h5ad") != NULL;
        const struct convert_options options = {"", labelled ? "type" : "", "", ""};
        if (convert(names[i], &options, &c))
            fail_msg("%s: %s", names[i], err.message);
        check(&c, 0, 1, labelled);
        assert_string_equal(c.columns.name[0], "gene0");
        /* the second feature of this name gets another name: its id if the file has ids */
        assert_string_equal(c.columns.name[1], labelled ? "gene0-1" : "ENSG01");
        assert_string_equal(c.columns.name[6], "gene6");
        assert_true(c.warnings >= 1 && strcmp(c.warning[0].code, "renamed-columns") == 0);
        collection_close(&c);
    }
}

static void layers_and_raw_values_can_be_chosen(void **state)
{
    struct collection c;
    (void)state;
    assert_int_equal(convert("dense.h5ad", &(struct convert_options){"", "type", "", ""}, &c), STATUS_OK);
    check(&c, 2, 1, true);
    collection_close(&c);
    assert_int_equal(convert("dense.h5ad", &(struct convert_options){"doubled", "type", "", ""}, &c), STATUS_OK);
    check(&c, 2, 2, true);
    collection_close(&c);
    assert_int_equal(convert("dense.h5ad", &(struct convert_options){"raw", "type", "", ""}, &c), STATUS_OK);
    check(&c, 0, 1, true); /* raw has all features */
    collection_close(&c);
    assert_int_equal(convert("csr.h5ad", &(struct convert_options){"doubled", "", "", ""}, &c), STATUS_OK);
    check(&c, 0, 2, false);
    collection_close(&c);
    assert_int_equal(convert("csr.h5ad", &(struct convert_options){"raw", "", "", ""}, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "neither a layer 'raw' nor a group 'raw'"));
    assert_int_equal(convert("csr.h5ad", &(struct convert_options){"counts", "", "", ""}, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "there is no layer 'counts'"));
    assert_int_equal(convert("v06.h5ad", &(struct convert_options){"counts", "", "", ""}, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "the file has no layers"));
}

static void a_column_of_any_type_is_a_label_or_a_group(void **state)
{
    struct collection c;
    (void)state;
    static const struct {
        const char *column, *first, *last; /* the texts of this column for the cells 0 and 21 */
    } cases[] = {
        {"donor", "donor 0", "donor 1"}, {"plate", "0", "1"}, {"depth", "0", "5.25"}, {"doublet", "True", "False"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (convert("dense.h5ad", &(struct convert_options){"", cases[i].column, cases[i].column, ""}, &c))
            fail_msg("%s: %s", cases[i].column, err.message);
        assert_string_equal(c.vocabulary.name[c.label[0]], cases[i].first);
        assert_string_equal(c.vocabulary.name[c.label[21]], cases[i].last);
        assert_string_equal(c.groups.name[c.group[0]], cases[i].first);
        assert_string_equal(c.groups.name[c.group[21]], cases[i].last);
        collection_close(&c);
    }
    assert_int_equal(convert("v06.h5ad", &(struct convert_options){"", "depth", "type", ""}, &c), STATUS_OK);
    assert_string_equal(c.vocabulary.name[c.label[21]], "5.25");
    assert_string_equal(c.groups.name[c.group[2]], types[2]);
    collection_close(&c);
}

static void several_columns_of_labels_make_a_set(void **state)
{
    struct collection c;
    const int32_t *label;
    (void)state;
    assert_int_equal(convert("dense.h5ad", &(struct convert_options){"", "type, donor", "Plate", ""}, &c), STATUS_OK);
    assert_int_equal(c.target, TARGET_LABELS);
    assert_int_equal(collection_labels(&c, 21, &label), 2);
    assert_string_equal(c.vocabulary.name[label[0] < label[1] ? label[0] : label[1]], types[0]);
    assert_string_equal(c.recognised.labels, "a set: the texts of 2 columns");
    static const char *const roles[][2] = {{"label", "type"}, {"label", "donor"}, {"group", "plate"}, {"id", "_index"}};
    assert_int_equal(c.recognised.columns, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(c.recognised.column[i].role, roles[i][0]);
        assert_string_equal(c.recognised.column[i].name, roles[i][1]);
    }
    collection_close(&c);
    assert_int_equal(convert("dense.h5ad", &(struct convert_options){"", "doublet,plate", "", ""}, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "row 3, column 'plate': '2' is neither 0 nor 1, but the columns of labels"));
    assert_int_equal(convert("dense.h5ad", &(struct convert_options){"", "type,type", "", ""}, &c), STATUS_INVALID);
    assert_string_equal(err.message, "label names the column 'type' twice");
    assert_int_equal(convert("dense.h5ad", &(struct convert_options){"", "type,kind", "", ""}, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "obs has no column 'kind'"));
}

static void a_missing_label_is_refused_and_a_missing_group_has_no_name(void **state)
{
    struct collection c;
    (void)state;
    assert_int_equal(convert("dense.h5ad", &(struct convert_options){"", "age", "", ""}, &c), STATUS_INVALID);
    assert_string_equal(err.message, "row 23 has no label; every row needs one, unless the labels are sets: "
                                     "target=labels (motifctl: --target labels). missing=drop (motifctl: --missing "
                                     "drop) leaves it out");
    assert_int_equal(convert("dense.h5ad", &(struct convert_options){"", "", "age", ""}, &c), STATUS_OK);
    assert_string_equal(c.groups.name[c.group[21]], "41");
    assert_string_equal(c.groups.name[c.group[22]], "");
    collection_close(&c);
}

static void the_message_about_a_wrong_column_names_the_columns(void **state)
{
    struct collection c;
    (void)state;
    assert_int_equal(convert("dense.h5ad", &(struct convert_options){"", "kind", "", ""}, &c), STATUS_INVALID);
    assert_string_equal(err.message, "obs has no column 'kind'; it has age, depth, donor, doublet, plate, type");
    static const char *const odd[] = {"../var", "type/codes", ".", "__categories", "/obs/type"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        assert_int_equal(convert("dense.h5ad", &(struct convert_options){"", odd[i], "", ""}, &c), STATUS_INVALID);
    assert_int_equal(convert("v06.h5ad", &(struct convert_options){"", "kind", "", ""}, &c), STATUS_INVALID);
    assert_string_equal(err.message, "obs has no column 'kind'; it has type, depth");
    assert_int_equal(convert("v3.h5", &(struct convert_options){"", "kind", "", ""}, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "leave label out"));
    assert_int_equal(convert("v2.h5", &(struct convert_options){"mm10", "", "", ""}, &c), STATUS_INVALID);
    assert_string_equal(err.message, "there is no genome 'mm10'");
    assert_int_equal(convert("v2.h5", &(struct convert_options){"GRCh38", "", "", ""}, &c), STATUS_OK);
    collection_close(&c);
}

/* ---- matrices with many blocks -------------------------------------------------------------------------------- */

enum { MOST_ROWS = 30, MOST_COLS = 20, MOST_ENTRIES = 4 * MOST_ROWS * MOST_COLS };

struct sample {
    int rows, cols, entries;
    int64_t start[MOST_ROWS + MOST_COLS], index[MOST_ENTRIES];
    float data[MOST_ENTRIES], sum[MOST_ROWS][MOST_COLS], dense[MOST_ROWS * MOST_COLS];
};

/* Draws the entries of a matrix in compressed rows or columns, in random order and some of them twice. */
static void draw(struct sample *s, uint64_t seed, bool by_rows)
{
    struct philox random = philox_stream(seed, 7, 0);
    uint64_t at = 0;
    memset(s, 0, sizeof *s);
    s->rows = 8 + (int)(philox_u32(&random, at++) %
                        (MOST_ROWS - 7)); /* at least 8 rows, so that no row gets more entries than a block has */
    s->cols = 1 + (int)(philox_u32(&random, at++) % MOST_COLS);
    int major = by_rows ? s->rows : s->cols, minor = by_rows ? s->cols : s->rows;
    for (int i = 0; i < major; i++) {
        int count = (int)(philox_u32(&random, at++) % 9);
        for (int j = 0; j < count; j++) {
            int other = (int)(philox_u32(&random, at++) % (uint32_t)minor);
            s->index[s->entries] = other;
            s->data[s->entries] = (float)(philox_u32(&random, at++) % 1000) / 8;
            s->sum[by_rows ? i : other][by_rows ? other : i] += s->data[s->entries++];
        }
        s->start[i + 1] = s->entries;
    }
    for (int i = 0; i < s->rows; i++)
        memcpy(s->dense + i * s->cols, s->sum[i], (size_t)s->cols * sizeof(float));
}

static void put(hid_t at, const char *name, hid_t type, int rank, const hsize_t *dim, const void *values)
{
    hid_t space = H5Screate_simple(rank, dim, NULL);
    hid_t set = H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Sclose(space);
}

static void compare(struct matrix *matrix, const struct sample *s)
{
    struct table_memory memory = {0};
    struct table_writer *to = malloc(sizeof *to);
    struct table_reader *reader = malloc(sizeof *reader);
    float values[MOST_COLS];
    assert_true(to && reader && matrix_rows(matrix) == s->rows && matrix_cols(matrix) == s->cols);
    *to = table_memory_writer(&memory);
    table_write_head(to, &(struct table_head){.rows = s->rows, .cols = s->cols});
    for (int i = 0; i < s->rows; i++)
        assert_int_equal(matrix_next(matrix, to, &err), STATUS_OK);
    assert_int_equal(matrix_next(matrix, to, &err), STATUS_INTERNAL);
    table_write_end(to);
    struct byte_source_memory bytes = {memory.bytes, memory.size, 0};
    struct byte_source from = byte_source_of_memory(&bytes);
    *reader = (struct table_reader){.from = &from};
    assert_int_equal(table_read_head(reader, NULL), STATUS_OK);
    for (int i = 0; i < s->rows; i++) {
        assert_int_equal(table_read_values(reader, values, NULL), STATUS_OK);
        for (int j = 0; j < s->cols; j++)
            assert_true(values[j] == s->sum[i][j]);
    }
    assert_int_equal(table_read_end(reader, NULL), STATUS_OK);
    matrix_close(matrix);
    free(memory.bytes);
    free(to);
    free(reader);
}

static void matrices_of_every_form_equal_the_plain_table(void **state)
{
    static struct sample s;
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct matrix *matrix;
        bool by_rows = seed % 2 == 0;
        hid_t access = H5Pcreate(H5P_FILE_ACCESS);
        draw(&s, seed, by_rows);
        assert_true(H5Pset_fapl_core(access, 1 << 16, false) >= 0);
        hid_t file = H5Fcreate("matrix", H5F_ACC_TRUNC, H5P_DEFAULT, access);
        const hsize_t entries = (hsize_t)s.entries, starts = (hsize_t)(by_rows ? s.rows : s.cols) + 1,
                      sides[2] = {(hsize_t)s.rows, (hsize_t)s.cols};
        put(file, "data", H5T_NATIVE_FLOAT, 1, &entries, s.data);
        put(file, "indices", H5T_NATIVE_INT64, 1, &entries, s.index);
        put(file, "indptr", H5T_NATIVE_INT64, 1, &starts, s.start);
        put(file, "dense", H5T_NATIVE_FLOAT, 2, sides, s.dense);
        err = (struct error){0};
        if (matrix_open_sparse(file, s.rows, s.cols, by_rows, &matrix, &err))
            fail_msg("seed %d: %s", (int)seed, err.message);
        compare(matrix, &s);
        err = (struct error){0};
        assert_int_equal(matrix_open(file, "dense", &matrix, &err), STATUS_OK);
        compare(matrix, &s);
        H5Fclose(file);
        H5Pclose(access);
    }
}

/* The encodings of columns with missing values: values and mask, also as the names of categories. */
static void columns_with_a_mask_are_read(void **state)
{
    static const char *const names[] = {"_index", "kind", "text", "number", "flag", "share"},
                             *const wanted[][3] = {{"c0", "c1", "c2"},    {"B", "", "T"},
                                                   {"x", "", "z"},        {"-7", "8", ""},
                                                   {"True", "", "False"}, {"0.100000001", "123456789012.5", ""}};
    const hsize_t three = 3, two = 2;
    const signed char codes[] = {1, -1, 0}, flags[] = {1, 0, 0},
                      masks[][3] = {{0, 1, 0}, {0, 0, 1}, {0, 1, 0}, {0, 0, 1}};
    const int64_t numbers[] = {-7, 8, 9};
    const double shares[] = {0.1F, 123456789012.5, 1};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), text = H5Tcopy(H5T_C_S1), boolean = H5Tenum_create(H5T_NATIVE_SCHAR);
    (void)state;
    assert_true(H5Pset_fapl_core(access, 1 << 16, false) >= 0 && H5Tset_size(text, 4) >= 0);
    assert_true(H5Tenum_insert(boolean, "FALSE", &(signed char){0}) >= 0 &&
                H5Tenum_insert(boolean, "TRUE", &(signed char){1}) >= 0);
    hid_t file = H5Fcreate("masked", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hid_t obs = H5Gcreate2(file, "obs", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put(obs, "_index", text, 1, &three, "c0\0\0c1\0\0c2\0");
    hid_t kind = H5Gcreate2(obs, "kind", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put(kind, "codes", H5T_NATIVE_SCHAR, 1, &three, codes);
    hid_t list = H5Gcreate2(kind, "categories", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put(list, "values", text, 1, &two, "T\0\0\0B\0\0");
    put(list, "mask", boolean, 1, &two, masks[1]);
    for (int i = 2; i < 6; i++) {
        hid_t group = H5Gcreate2(obs, names[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        if (i == 2)
            put(group, "values", text, 1, &three, "x\0\0\0y\0\0\0z\0\0");
        else
            put(group, "values",
                i == 3   ? H5T_NATIVE_INT64
                : i == 4 ? boolean
                         : H5T_NATIVE_DOUBLE,
                1, &three,
                i == 3   ? (const void *)numbers
                : i == 4 ? (const void *)flags
                         : shares);
        put(group, "mask", boolean, 1, &three, masks[i - 2]);
        H5Gclose(group);
    }
    struct frame frame;
    assert_int_equal(frame_open(file, file, "obs", &frame, &err), STATUS_OK);
    for (int i = 0; i < 6; i++) {
        struct column column;
        const char *shown;
        if (column_open(&frame, names[i], &column, &err))
            fail_msg("%s: %s", names[i], err.message);
        for (int row = 0; row < 3; row++) {
            assert_int_equal(column_next(&column, &shown, &err), STATUS_OK);
            assert_string_equal(shown, wanted[i][row]);
        }
        column_close(&column);
    }
    frame_close(&frame);
    H5Gclose(list);
    H5Gclose(kind);
    H5Gclose(obs);
    H5Tclose(text);
    H5Tclose(boolean);
    H5Fclose(file);
    H5Pclose(access);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_with_a_mask_are_read),
        cmocka_unit_test(every_form_of_a_file_gives_the_same_table),
        cmocka_unit_test(layers_and_raw_values_can_be_chosen),
        cmocka_unit_test(a_column_of_any_type_is_a_label_or_a_group),
        cmocka_unit_test(several_columns_of_labels_make_a_set),
        cmocka_unit_test(a_missing_label_is_refused_and_a_missing_group_has_no_name),
        cmocka_unit_test(the_message_about_a_wrong_column_names_the_columns),
        cmocka_unit_test(matrices_of_every_form_equal_the_plain_table),
    };
    if (argc != 2 || hdf5_start(&err) != STATUS_OK)
        return 2;
    folder = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
