/* Tests files that a conversion must refuse: parts that are missing or do not fit each other, links that lead
 * elsewhere, values that are stored in another file, unknown filters, and tiny files whose tables exceed the limits.
 * Each file is valid except for one fault. The message must name the fault. */
#include "convert/convert.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "convert/hdf5_file.h"
#include "tests/support/table_memory.h"

enum { ROWS = 3, COLS = 2 };

static struct error err;
static struct collection_limits limits = COLLECTION_LIMITS;

/* ---- writing ------------------------------------------------------------------------------------------------- */

static hid_t make_group(hid_t at, const char *name)
{
    hid_t group = H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(group >= 0);
    return group;
}

static void set_text(hid_t object, const char *name, const char *text)
{
    hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    assert_true(H5Tset_size(type, strlen(text) + 1) >= 0);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, text) >= 0);
    H5Aclose(attribute);
    H5Tclose(type);
    H5Sclose(space);
}

static void set_pair(hid_t object, const char *name, int64_t a, int64_t b)
{
    const hsize_t two = 2;
    hid_t space = H5Screate_simple(1, &two, NULL);
    hid_t attribute = H5Acreate2(object, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, H5T_NATIVE_INT64, (const int64_t[]){a, b}) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
}

/* Creates an array. If `values` is NULL, the array has no values. */
static void put(hid_t at, const char *name, hid_t type, int rank, const hsize_t *dim, const void *values, hid_t made)
{
    hid_t space = H5Screate_simple(rank, dim, NULL);
    hid_t set = H5Dcreate2(at, name, type, space, H5P_DEFAULT, made, H5P_DEFAULT);
    assert_true(set >= 0 && (!values || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0));
    H5Dclose(set);
    H5Sclose(space);
}

static void put_integers(hid_t at, const char *name, const int64_t *values, hsize_t count)
{
    put(at, name, H5T_NATIVE_INT64, 1, &count, values, H5P_DEFAULT);
}

static void put_floats(hid_t at, const char *name, const double *values, hsize_t count)
{
    put(at, name, H5T_NATIVE_DOUBLE, 1, &count, values, H5P_DEFAULT);
}

/* texts: `width` bytes each */
static void put_texts(hid_t at, const char *name, const char *texts, size_t width, hsize_t count)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    assert_true(H5Tset_size(type, width) >= 0);
    put(at, name, type, 1, &count, texts, H5P_DEFAULT);
    H5Tclose(type);
}

static void put_frame(hid_t at, const char *name, const char *texts, size_t width, hsize_t count)
{
    hid_t frame = make_group(at, name);
    set_text(frame, "_index", "_index");
    put_texts(frame, "_index", texts, width, count);
    H5Gclose(frame);
}

static void put_names(hid_t file)
{
    put_frame(file, "obs", "a\0b\0c", 2, ROWS);
    put_frame(file, "var", "x\0y", 2, COLS);
}

/* The parts of a sparse matrix. `starts`, `indices` and `values` are the lengths of start[], index[] and data[]; an
 * array with a negative length is left out of the file. */
struct sparse {
    const char *form;
    int64_t rows, cols;
    int64_t start[8], index[8];
    double data[8];
    int starts, indices, values;
};

#define SPARSE                                                                                                         \
    {                                                                                                                  \
        "csr_matrix", ROWS, COLS, {0, 1, 1, 3}, {1, 0, 1}, {1, 2, 3}, 4, 3, 3                                          \
    }

static void put_sparse(hid_t at, const char *name, const struct sparse *s)
{
    hid_t group = make_group(at, name);
    if (s->form)
        set_text(group, "encoding-type", s->form);
    if (s->rows != INT64_MIN)
        set_pair(group, "shape", s->rows, s->cols);
    if (s->starts >= 0)
        put_integers(group, "indptr", s->start, (hsize_t)s->starts);
    if (s->indices >= 0)
        put_integers(group, "indices", s->index, (hsize_t)s->indices);
    if (s->values >= 0)
        put_floats(group, "data", s->data, (hsize_t)s->values);
    H5Gclose(group);
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static char path[64];

static hid_t begin(void)
{
    (void)snprintf(path, sizeof path, "/tmp/motif-convert-XXXXXX");
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0 && close(descriptor) == 0);
    return H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
}

/* Closes the file, converts it and deletes it. */
static enum status finish(hid_t made, bool tenx, const struct convert_options *options)
{
    struct table_memory memory = {0};
    struct table_writer *to = malloc(sizeof *to);
    struct collection c = {0};
    hid_t file;
    assert_true(to && H5Fclose(made) >= 0);
    FILE *opened = fopen(path, "rbe");
    assert_non_null(opened);
    *to = table_memory_writer(&memory);
    err = (struct error){0};
    enum status status = hdf5_file_open(fileno(opened), &file, &err);
    assert_int_equal(status, STATUS_OK);
    status = tenx ? convert_10x(file, options, to, &err) : convert_h5ad(file, options, to, &err);
    assert_true(H5Fget_obj_count(file, H5F_OBJ_ALL) == 1);
    H5Fclose(file);
    if (!status)
        status = table_memory_read(&memory, &limits, &c, &err);
    collection_close(&c);
    free(memory.bytes);
    free(to);
    assert_true(fclose(opened) == 0 && remove(path) == 0);
    return status;
}

static const struct convert_options plain = {"", "", "", ""};

static void expect(hid_t made, bool tenx, const struct convert_options *options, enum status code, const char *words)
{
    assert_int_equal(finish(made, tenx, options), code);
    if (!strstr(err.message, words))
        fail_msg("'%s' does not say '%s'", err.message, words);
}

/* ---- sparse matrices -------------------------------------------------------------------------------------------- */

static void try_sparse(const struct sparse *s, enum status code, const char *words)
{
    hid_t file = begin();
    put_names(file);
    put_sparse(file, "X", s);
    expect(file, false, &plain, code, words);
}

static void parts_of_sparse_matrices_that_do_not_fit_are_refused(void **state)
{
    struct sparse s = SPARSE;
    (void)state;
    try_sparse(&s, STATUS_OK, "");
    s.form = NULL;
    try_sparse(&s, STATUS_INVALID, "csr_matrix or csc_matrix");
    s.form = "coo_matrix";
    try_sparse(&s, STATUS_INVALID, "csr_matrix or csc_matrix");
    s = (struct sparse)SPARSE;
    s.rows = INT64_MIN;
    try_sparse(&s, STATUS_INVALID, "has no shape");
    s = (struct sparse)SPARSE;
    s.rows = -3;
    try_sparse(&s, STATUS_INVALID, "-3 rows");
    s.rows = (int64_t)1 << 40;
    try_sparse(&s, STATUS_LIMIT, "are allowed");
    s = (struct sparse)SPARSE;
    s.starts = 3;
    try_sparse(&s, STATUS_INVALID, "'indptr' must be a list of 4 integers");
    s.starts = -1;
    try_sparse(&s, STATUS_INVALID, "there is no 'indptr'");
    s = (struct sparse)SPARSE;
    s.indices = 2;
    try_sparse(&s, STATUS_INVALID, "of the same length");
    s.indices = -1;
    try_sparse(&s, STATUS_INVALID, "there is no 'indices'");
    s = (struct sparse)SPARSE;
    s.values = -1;
    try_sparse(&s, STATUS_INVALID, "there is no 'data'");
    static const int64_t bad[][4] = {{1, 1, 1, 3}, {0, 2, 1, 3}, {0, 1, 1, 2}, {0, 1, 1, 4}, {0, -1, 1, 3}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        s = (struct sparse)SPARSE;
        memcpy(s.start, bad[i], sizeof bad[i]);
        try_sparse(&s, STATUS_INVALID, "'indptr' must grow from 0 to 3");
    }
    s = (struct sparse)SPARSE;
    s.index[2] = COLS;
    try_sparse(&s, STATUS_INVALID, "entry 2 of 'indices' is 2; it must be from 0 to 1");
    s.index[2] = -1;
    try_sparse(&s, STATUS_INVALID, "entry 2 of 'indices' is -1");
    s = (struct sparse){"csc_matrix", ROWS, COLS, {0, 1, 3}, {2, 0, ROWS}, {1, 2, 3}, 3, 3, 3};
    try_sparse(&s, STATUS_INVALID, "entry 2 of 'indices' is 3; it must be from 0 to 2");
    s.index[2] = 0; /* accepted: values of the same entry are added */
    try_sparse(&s, STATUS_OK, "");
    s.data[1] = s.data[2] = 3e38;
    try_sparse(&s, STATUS_INVALID, "row 1, feature 'y': the value is not a number, or it is beyond single precision");
}

/* ---- dense matrices --------------------------------------------------------------------------------------------- */

static void matrices_of_another_shape_or_type_are_refused(void **state)
{
    static const hsize_t three[] = {ROWS, COLS, 1}, turned[] = {COLS, ROWS}, empty[] = {0, COLS};
    const double values[ROWS * COLS] = {1, 2, 3, 4, NAN, 6};
    struct {
        const hsize_t *dim;
        int rank;
        hid_t type;
        enum status code;
        const char *words;
    } cases[] = {{three, 2, H5T_NATIVE_DOUBLE, STATUS_INVALID, "row 3, feature 'x'"},
                 {three, 1, H5T_NATIVE_DOUBLE, STATUS_INVALID, "'X' must be a matrix of numbers"},
                 {three, 3, H5T_NATIVE_DOUBLE, STATUS_INVALID, "'X' has 3 dimensions"},
                 {turned, 2, H5T_NATIVE_DOUBLE, STATUS_INVALID, "2 rows and 3 columns, but there are 3 names of cells"},
                 {empty, 2, H5T_NATIVE_DOUBLE, STATUS_INVALID, "0 rows"},
                 {three, 2, H5T_STD_REF_OBJ, STATUS_INVALID, "'X' must be a matrix of numbers"},
                 {three, 2, H5T_C_S1, STATUS_INVALID, "'X' must be a matrix of numbers"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hid_t file = begin();
        put_names(file);
        put(file, "X", cases[i].type, cases[i].rank, cases[i].dim, cases[i].type == H5T_NATIVE_DOUBLE ? values : NULL,
            H5P_DEFAULT);
        expect(file, false, &plain, cases[i].code, cases[i].words);
    }
    hid_t file = begin();
    put_names(file);
    expect(file, false, &plain, STATUS_INVALID, "the file has no X; state the layer");
    file = begin();
    expect(file, false, &plain, STATUS_INVALID, "so it is not an AnnData file");
}

/* ---- links, other files, filters ------------------------------------------------------------------------ */

static void links_that_lead_elsewhere_are_refused(void **state)
{
    static const struct sparse s = SPARSE;
    (void)state;
    hid_t file = begin();
    put_names(file);
    assert_true(H5Lcreate_external("/etc/passwd", "/", file, "X", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    expect(file, false, &plain, STATUS_INVALID, "'X' is a link to another place");
    file = begin();
    put_names(file);
    put_sparse(file, "values", &s);
    assert_true(H5Lcreate_soft("/values", file, "X", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    expect(file, false, &plain, STATUS_INVALID, "'X' is a link to another place");
    file = begin(); /* soft links that lead in a circle */
    put_names(file);
    assert_true(H5Lcreate_soft("/Y", file, "X", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_soft("/X", file, "Y", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    expect(file, false, &plain, STATUS_INVALID, "'X' is a link to another place");
    file = begin(); /* a hard link to the root: a group that contains itself */
    put_names(file);
    assert_true(H5Lcreate_hard(file, "/", file, "X", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    expect(file, false, &plain, STATUS_INVALID, "csr_matrix or csc_matrix");
    file = begin(); /* a part of a matrix in another file */
    put_names(file);
    struct sparse part = SPARSE;
    part.values = -1;
    put_sparse(file, "X", &part);
    assert_true(H5Lcreate_external("other.h5", "/data", file, "X/data", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    expect(file, false, &plain, STATUS_INVALID, "'data' is a link to another place");
}

static void values_in_other_files_and_arrays_are_refused(void **state)
{
    static const hsize_t sides[] = {ROWS, COLS};
    (void)state;
    hid_t file = begin(), made = H5Pcreate(H5P_DATASET_CREATE);
    put_names(file);
    assert_true(H5Pset_external(made, "/etc/passwd", 0, ROWS * COLS * 8) >= 0);
    put(file, "X", H5T_NATIVE_DOUBLE, 2, sides, NULL, made);
    H5Pclose(made);
    expect(file, false, &plain, STATUS_INVALID, "the values of 'X' are in another file or array");

    file = begin();
    made = H5Pcreate(H5P_DATASET_CREATE);
    put_names(file);
    hid_t space = H5Screate_simple(2, sides, NULL);
    assert_true(H5Pset_virtual(made, space, "other.h5", "/X", space) >= 0);
    H5Sclose(space);
    put(file, "X", H5T_NATIVE_DOUBLE, 2, sides, NULL, made);
    H5Pclose(made);
    expect(file, false, &plain, STATUS_INVALID, "the values of 'X' are in another file or array");

    file = begin();
    made = H5Pcreate(H5P_DATASET_CREATE);
    put_names(file);
    assert_true(H5Pset_chunk(made, 2, sides) >= 0 && H5Pset_filter(made, 32000, H5Z_FLAG_OPTIONAL, 0, NULL) >= 0);
    put(file, "X", H5T_NATIVE_DOUBLE, 2, sides, NULL, made);
    H5Pclose(made);
    expect(file, false, &plain, STATUS_INVALID, "'X' is compressed by the filter 32000");
}

static void tables_beyond_the_limits_are_refused(void **state)
{
    static const hsize_t sides[] = {(hsize_t)1 << 42, COLS}, wide[] = {ROWS, TABLE_COLUMNS + 1};
    (void)state;
    for (int i = 0; i < 2; i++) {
        hid_t file = begin(), made = H5Pcreate(H5P_DATASET_CREATE);
        const hsize_t chunk[] = {i ? 1 : 1024, i ? 1024 : COLS};
        hsize_t bytes;
        put_names(file);
        assert_true(H5Pset_chunk(made, 2, chunk) >= 0 && H5Pset_deflate(made, 9) >= 0);
        put(file, "X", H5T_NATIVE_DOUBLE, 2, i ? wide : sides, NULL, made);
        H5Pclose(made);
        assert_true(H5Fget_filesize(file, &bytes) >= 0 && bytes < 20000);
        expect(file, false, &plain, STATUS_LIMIT, i ? "3 rows and 1048577 columns" : "'X' is too large");
    }
}

/* ---- names and columns --------------------------------------------------------------------------------- */

/* A good file whose obs has the given names and a further column or group, which `add` makes. */
static hid_t with_column(const char *names, size_t width, void (*add)(hid_t obs))
{
    static const struct sparse s = SPARSE;
    hid_t file = begin();
    put_sparse(file, "X", &s);
    put_frame(file, "obs", names, width, ROWS);
    put_frame(file, "var", "x\0y", 2, COLS);
    hid_t obs = H5Gopen2(file, "obs", H5P_DEFAULT);
    if (add)
        add(obs);
    H5Gclose(obs);
    return file;
}

static const int64_t numbers[] = {0, 1, 2, 0};
static const double reals[] = {0, 1, 2};

static void add_codes(hid_t obs, const char *name, const int64_t *codes, hsize_t count, int categories)
{
    hid_t group = make_group(obs, name);
    put_integers(group, "codes", codes, count);
    if (categories > 0)
        put_texts(group, "categories", "p\0q\0r", 2, (hsize_t)categories);
    H5Gclose(group);
}

static void add_good(hid_t obs)
{
    add_codes(obs, "column", numbers, ROWS, 3);
}
static void add_far(hid_t obs)
{
    add_codes(obs, "column", numbers, ROWS, 2);
}
static void add_short(hid_t obs)
{
    add_codes(obs, "column", numbers, ROWS - 1, 3);
}
static void add_nameless(hid_t obs)
{
    add_codes(obs, "column", numbers, ROWS, 0);
}
static void add_missing(hid_t obs)
{
    add_codes(obs, "column", (const int64_t[]){0, -1, 2}, ROWS, 3);
}
static void add_negative(hid_t obs)
{
    add_codes(obs, "column", (const int64_t[]){0, -2, 2}, ROWS, 3);
}
static void add_real_codes(hid_t obs)
{
    hid_t group = make_group(obs, "column");
    put_floats(group, "codes", reals, ROWS);
    put_texts(group, "categories", "p\0q\0r", 2, 3);
    H5Gclose(group);
}
static void add_matrix(hid_t obs)
{
    put(obs, "column", H5T_NATIVE_INT64, 2, (const hsize_t[]){2, 2}, numbers, H5P_DEFAULT);
}
static void add_references(hid_t obs)
{
    put(obs, "column", H5T_STD_REF_OBJ, 1, (const hsize_t[]){ROWS}, NULL, H5P_DEFAULT);
}
static void add_link(hid_t obs)
{
    assert_true(H5Lcreate_external("other.h5", "/", obs, "column", H5P_DEFAULT, H5P_DEFAULT) >= 0);
}
static void add_short_mask(hid_t obs)
{
    hid_t group = make_group(obs, "column");
    put_integers(group, "values", numbers, ROWS);
    put_integers(group, "mask", numbers, 2);
    H5Gclose(group);
}
static void add_unmasked(hid_t obs)
{
    hid_t group = make_group(obs, "column");
    put_integers(group, "values", numbers, ROWS);
    H5Gclose(group);
}
static void add_empty(hid_t obs)
{
    H5Gclose(make_group(obs, "column"));
}
static void add_wide(hid_t obs)
{
    put(obs, "column", H5T_C_S1, 1, (const hsize_t[]){ROWS}, NULL, H5P_DEFAULT);
    assert_true(H5Ldelete(obs, "column", H5P_DEFAULT) >= 0);
    static char texts[5000 * ROWS];
    put_texts(obs, "column", texts, 5000, ROWS);
}
static void add_long(hid_t obs)
{
    static char texts[300 * ROWS];
    memset(texts, 'x', sizeof texts);
    put_texts(obs, "column", texts, 300, ROWS);
}

static void columns_that_are_damaged_are_refused(void **state)
{
    static const struct {
        void (*add)(hid_t obs);
        enum status code;
        const char *words;
    } cases[] = {
        {add_good, STATUS_OK, ""},
        {add_far, STATUS_INVALID, "row 3 of the column 'column' has the code 2, but there is no such category"},
        {add_short, STATUS_INVALID, "the column 'column' has 2 rows, but the matrix has 3"},
        {add_nameless, STATUS_INVALID, "there is no 'categories'"},
        {add_missing, STATUS_INVALID, "row 2 has no label"},
        {add_negative, STATUS_INVALID, "has the code -2"},
        {add_real_codes, STATUS_INVALID, "must be integers"},
        {add_matrix, STATUS_INVALID, "must have one dimension"},
        {add_references, STATUS_INVALID, "neither text, number nor category"},
        {add_link, STATUS_INVALID, "'column' is a link to another place"},
        {add_short_mask, STATUS_INVALID, "must have a boolean for each row"},
        {add_unmasked, STATUS_INVALID, "there is no 'mask'"},
        {add_empty, STATUS_INVALID, "there is no 'values'"},
        {add_wide, STATUS_LIMIT, "has texts of 5000 bytes"},
        {add_long, STATUS_INVALID, "row 1 of the column 'column' is longer than 255 bytes"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect(with_column("a\0b\0c", 2, cases[i].add), false, &(struct convert_options){"", "column", "", ""},
               cases[i].code, cases[i].words);
}

static void names_that_could_hide_something_are_refused(void **state)
{
    (void)state;
    expect(with_column("a\0\x1b\0c", 2, NULL), false, &plain, STATUS_INVALID,
           "the name of a row is not UTF-8 or contains control characters");
    expect(with_column("a\0\xff\0c", 2, NULL), false, &plain, STATUS_INVALID, "is not UTF-8");
    hid_t file = begin();
    static const struct sparse s = SPARSE;
    put_sparse(file, "X", &s);
    put_frame(file, "obs", "a\0b\0c", 2, ROWS);
    put_frame(file, "var", "x\0\0", 2, COLS);
    expect(file, false, &plain, STATUS_INVALID, "the name of feature 2 is empty");
    file = begin();
    put_sparse(file, "X", &s);
    put_frame(file, "var", "x\0y", 2, COLS);
    put_integers(file, "obs", numbers, ROWS);
    expect(file, false, &plain, STATUS_INVALID, "'obs' must be a table");
    file = begin();
    put_sparse(file, "X", &s);
    put_frame(file, "var", "x\0y", 2, COLS);
    H5Gclose(make_group(file, "obs"));
    expect(file, false, &plain, STATUS_INVALID, "obs has no column 'index'; it has none");
}

/* ---- 10x
 * -------------------------------------------------------------------------------------------------------------- */

static void put_tenx(hid_t file, const char *genome, int cells, const int64_t shape[2])
{
    hid_t group = make_group(file, genome);
    put_integers(group, "indptr", (const int64_t[]){0, 1, 1, 3}, 4);
    put_integers(group, "indices", (const int64_t[]){1, 0, 1}, 3);
    put_floats(group, "data", (const double[]){1, 2, 3}, 3);
    put_integers(group, "shape", shape, 2);
    put_texts(group, "barcodes", "a\0b\0c", 2, (hsize_t)cells);
    put_texts(group, "genes", "i\0j", 2, COLS);
    put_texts(group, "gene_names", "x\0y", 2, COLS);
    H5Gclose(group);
}

static void faulty_files_of_10x_are_refused(void **state)
{
    static const int64_t shape[] = {COLS, ROWS}, odd[] = {COLS, ROWS + 1};
    static const struct convert_options human = {"human", "", "", ""};
    (void)state;
    hid_t file = begin();
    put_tenx(file, "human", ROWS, shape);
    put_tenx(file, "mouse", ROWS, shape);
    expect(file, true, &plain, STATUS_INVALID, "the file has several genomes: human, mouse; select one with layer");
    file = begin();
    put_tenx(file, "human", ROWS, shape);
    put_tenx(file, "mouse", ROWS, shape);
    expect(file, true, &human, STATUS_OK, "");
    file = begin();
    expect(file, true, &plain, STATUS_INVALID, "so it is not a file of 10x");
    file = begin();
    put_tenx(file, "human", ROWS - 1, shape);
    expect(file, true, &plain, STATUS_INVALID,
           "2 features and 3 cells, but there are 2 names of features, 2 ids and 2");
    file = begin();
    put_tenx(file, "human", ROWS, odd);
    expect(file, true, &plain, STATUS_INVALID, "'indptr' must be a list of 5 integers");
    file = begin();
    put_names(file);
    expect(file, true, &plain, STATUS_INVALID, "use the format h5ad");
}

static void bytes_that_are_no_hdf5_file_are_refused(void **state)
{
    hid_t file;
    int descriptor = memfd_create("none", MFD_CLOEXEC), ends[2];
    (void)state;
    assert_true(descriptor >= 0 && write(descriptor, "\x89HDF\r\n\x1a\n and nothing else", 25) == 25);
    err = (struct error){0};
    assert_int_equal(hdf5_file_open(descriptor, &file, &err), STATUS_CORRUPT);
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(hdf5_file_open(ends[0], &file, NULL), STATUS_CORRUPT);
    assert_true(close(ends[0]) == 0 && close(ends[1]) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_sparse_matrices_that_do_not_fit_are_refused),
        cmocka_unit_test(matrices_of_another_shape_or_type_are_refused),
        cmocka_unit_test(links_that_lead_elsewhere_are_refused),
        cmocka_unit_test(values_in_other_files_and_arrays_are_refused),
        cmocka_unit_test(tables_beyond_the_limits_are_refused),
        cmocka_unit_test(columns_that_are_damaged_are_refused),
        cmocka_unit_test(names_that_could_hide_something_are_refused),
        cmocka_unit_test(faulty_files_of_10x_are_refused),
        cmocka_unit_test(bytes_that_are_no_hdf5_file_are_refused),
    };
    if (hdf5_start(&err) != STATUS_OK)
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
