/* Fuzz target of the readers of AnnData and 10x files. Most random changes of a file end inside libhdf5, so this
 * target changes what the file contains: it makes a valid file in memory with libhdf5, and every four bytes of the
 * input change one object: they delete it, or put an array, a group, an attribute or a link in its place. A
 * conversion must either return an error or write a table that can be read back without a crash. It must close every
 * object. */
#include "tests/fuzz/fuzz.h"

#include <hdf5.h>
#include <string.h>

#include "convert/convert.h"
#include "convert/hdf5_file.h"
#include "tests/support/table_memory.h"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("0"),
    FUZZ_SEED("1"),
    FUZZ_SEED("2"),
    FUZZ_SEED("3"),
    FUZZ_SEED("1D\x01\x02\x03"),
    FUZZ_SEED("0B\x05\x01\x01"),
    FUZZ_SEED("2F\x0e\x03\x02"),
    FUZZ_SEED("1H\x06\x05\x01"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

static const char *const places[] = {
    "X",
    "X/data",
    "X/indices",
    "X/indptr",
    "obs",
    "obs/_index",
    "obs/label",
    "obs/label/codes",
    "obs/label/categories",
    "obs/label/values",
    "obs/label/mask",
    "obs/__categories",
    "obs/__categories/label",
    "obs/group",
    "var",
    "var/_index",
    "layers",
    "layers/raw",
    "raw",
    "raw/X",
    "raw/var",
    "uns",
    "uns/label_categories",
    "matrix",
    "matrix/data",
    "matrix/indices",
    "matrix/indptr",
    "matrix/shape",
    "matrix/barcodes",
    "matrix/features",
    "matrix/features/name",
    "matrix/features/id",
    "matrix/genes",
    "matrix/gene_names",
    "obs/index",
};
enum { PLACES = sizeof places / sizeof places[0] };

static void set_text(hid_t at, const char *name, const char *text)
{
    hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, strlen(text) + 1);
    if (H5Aexists(at, name) > 0)
        (void)H5Adelete(at, name);
    hid_t attribute = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        (void)H5Awrite(attribute, type, text);
        H5Aclose(attribute);
    }
    H5Tclose(type);
    H5Sclose(space);
}

static void set_pair(hid_t at, const char *name, int64_t a, int64_t b)
{
    const hsize_t two = 2;
    hid_t space = H5Screate_simple(1, &two, NULL);
    if (H5Aexists(at, name) > 0)
        (void)H5Adelete(at, name);
    hid_t attribute = H5Acreate2(at, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        (void)H5Awrite(attribute, H5T_NATIVE_INT64, (const int64_t[]){a, b});
        H5Aclose(attribute);
    }
    H5Sclose(space);
}

/* Creates an array, with the groups above it. If `values` is NULL, the array has no values. */
static void put(hid_t file, const char *place, hid_t type, int rank, const hsize_t *dim, const void *values)
{
    hid_t space = H5Screate_simple(rank, dim, NULL), links = H5Pcreate(H5P_LINK_CREATE);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    (void)H5Pset_create_intermediate_group(links, 1);
    (void)H5Pset_buffer(transfer, 1 << 14, NULL, NULL); /* the default, 1 MiB, is filled with zeros for each array */
    hid_t set = H5Dcreate2(file, place, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    if (set >= 0) {
        if (values)
            (void)H5Dwrite(set, type, H5S_ALL, H5S_ALL, transfer, values);
        H5Dclose(set);
    }
    H5Pclose(transfer);
    H5Pclose(links);
    H5Sclose(space);
}

static void put_list(hid_t file, const char *place, hid_t type, hsize_t count, const void *values)
{
    put(file, place, type, 1, &count, values);
}

static void put_group(hid_t file, const char *place, const char *form, int64_t rows, int64_t cols)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    (void)H5Pset_create_intermediate_group(links, 1);
    hid_t group = H5Gcreate2(file, place, links, H5P_DEFAULT, H5P_DEFAULT);
    if (group >= 0) {
        set_text(group, "encoding-type", form);
        set_pair(group, "shape", rows, cols);
        H5Gclose(group);
    }
    H5Pclose(links);
}

/* Creates an array of texts: two bytes each, or of variable length. */
static void put_texts(hid_t file, const char *place, hsize_t count, bool variable)
{
    static const char *const pointers[8] = {"a", "b", "c", "", "a", "\xff", "long", "\n"};
    hid_t type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, variable ? H5T_VARIABLE : 2);
    put_list(file, place, type, count < 8 ? count : 8, variable ? (const void *)pointers : "a\0b\0c\0d\0\0\0a\0f\0g");
    H5Tclose(type);
}

/* Makes a valid file of three rows and two columns. `form`: AnnData with a dense matrix (0), with compressed rows (1)
 * or with compressed columns (2); 10x (3). */
static void make(hid_t file, int form)
{
    static const int64_t rows[] = {0, 1, 1, 3}, cols[] = {0, 1, 3}, index[] = {1, 0, 1}, codes[] = {0, 1, 0};
    static const double data[] = {1, 2, 3, 4, 5, 6};
    static const hsize_t sides[] = {3, 2};
    if (form == 3) {
        put_list(file, "matrix/data", H5T_NATIVE_DOUBLE, 3, data);
        put_list(file, "matrix/indices", H5T_NATIVE_INT64, 3, index);
        put_list(file, "matrix/indptr", H5T_NATIVE_INT64, 4, rows);
        put_list(file, "matrix/shape", H5T_NATIVE_INT64, 2, (const int64_t[]){2, 3});
        put_texts(file, "matrix/barcodes", 3, false);
        put_texts(file, "matrix/features/name", 2, false);
        put_texts(file, "matrix/features/id", 2, true);
        return;
    }
    if (form == 0) {
        put(file, "X", H5T_NATIVE_DOUBLE, 2, sides, data);
    } else {
        put_group(file, "X", form == 1 ? "csr_matrix" : "csc_matrix", 3, 2);
        put_list(file, "X/data", H5T_NATIVE_DOUBLE, 3, data);
        put_list(file, "X/indices", H5T_NATIVE_INT64, 3, index);
        put_list(file, "X/indptr", H5T_NATIVE_INT64, form == 1 ? 4 : 3, form == 1 ? rows : cols);
    }
    put_texts(file, "obs/_index", 3, true);
    put_list(file, "obs/label/codes", H5T_NATIVE_INT64, 3, codes);
    put_texts(file, "obs/label/categories", 2, true);
    put_texts(file, "var/_index", 2, false);
}

static void put_compounds(hid_t file, const char *place, hsize_t count)
{
    struct row {
        char index[2];
        int8_t label;
    };
    static const struct row rows[8] = {{"a", 0}, {"b", 1}, {"c", 0}};
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct row)), text = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(text, 2);
    (void)H5Tinsert(type, "index", HOFFSET(struct row, index), text);
    (void)H5Tinsert(type, "label", HOFFSET(struct row, label), H5T_NATIVE_SCHAR);
    put_list(file, place, type, count < 8 ? count : 8, rows);
    H5Tclose(text);
    H5Tclose(type);
}

/* Makes one change. The bytes of `what` are the kind of the change, the changed object, and two parameters. */
static void change(hid_t file, const uint8_t what[4])
{
    static const int64_t numbers[8] = {0, 1, 1, 3, -1, 2, INT64_MAX, 0};
    static const double reals[8] = {0, 1, 2, 1e300, -3, 0.5, 7, 8};
    static const char *const forms[] = {"csr_matrix", "csc_matrix", "csr", "array", ""};
    const char *place = places[what[1] % PLACES];
    hsize_t count = what[3] % 8;
    int act = what[0] % 14;
    bool there = H5Lexists(file, "/", H5P_DEFAULT) >= 0 && H5Oexists_by_name(file, place, H5P_DEFAULT) > 0;
    hid_t object = there && act >= 11 ? H5Oopen(file, place, H5P_DEFAULT) : -1;
    if (there && act < 11)
        (void)H5Ldelete(file, place, H5P_DEFAULT);
    if (act == 1)
        put_list(file, place, what[2] % 2 ? H5T_NATIVE_INT64 : H5T_STD_I64BE, count, numbers + what[2] % 2);
    else if (act == 2)
        put_list(file, place, H5T_NATIVE_DOUBLE, count, reals);
    else if (act == 3)
        put_texts(file, place, count, what[2] % 2);
    else if (act == 4)
        put(file, place, H5T_NATIVE_DOUBLE, 2, (const hsize_t[]){what[2] % 5, what[3] % 4}, NULL);
    else if (act == 5)
        put_group(file, place, forms[what[2] % 5], what[3] % 7 - 1, what[3] / 7 % 7 - 1);
    else if (act == 6)
        (void)H5Lcreate_hard(file, places[what[2] % PLACES], file, place, H5P_DEFAULT, H5P_DEFAULT);
    else if (act == 7)
        (void)H5Lcreate_soft(places[what[2] % PLACES], file, place, H5P_DEFAULT, H5P_DEFAULT);
    else if (act == 8)
        (void)H5Lcreate_external("none.h5", "/", file, place, H5P_DEFAULT, H5P_DEFAULT);
    else if (act == 9)
        put_compounds(file, place, count);
    else if (act == 10)
        put(file, place, what[2] % 2 ? H5T_STD_REF_OBJ : H5T_NATIVE_INT64, what[2] % 4, (const hsize_t[]){count, 2, 2},
            NULL);
    else if (object >= 0 && act == 11)
        set_pair(object, what[2] % 2 ? "shape" : "h5sparse_shape", what[3] % 9 - 2, what[3] / 9 % 9 - 2);
    else if (object >= 0 && act == 12)
        set_text(object, what[2] % 2 ? "encoding-type" : "h5sparse_format", forms[what[3] % 5]);
    else if (object >= 0)
        set_text(object, "_index", what[3] % 2 ? "label" : "index");
    if (object >= 0)
        H5Oclose(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct table_writer to;
    static const struct collection_limits limits = {1 << 18, 1 << 10, 1 << 12, 64};
    struct table_memory memory = {0};
    struct collection c = {0};
    struct error err = {0};
    if (size < 1)
        return 0;
    FUZZ_CHECK(hdf5_start(&err) == STATUS_OK);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    FUZZ_CHECK(H5Pset_fapl_core(access, 1 << 14, false) >= 0);
    hid_t file = H5Fcreate("fuzz", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    FUZZ_CHECK(file >= 0);
    make(file, data[0] % 4);
    for (size_t at = 1; at + 4 <= size && at < 80; at += 4)
        change(file, data + at);
    ssize_t open_before = H5Fget_obj_count(file, H5F_OBJ_ALL);
    FUZZ_CHECK(open_before == 1);
    const struct convert_options options = {size % 5 == 0 ? "raw" : "", size % 3 == 0 && data[0] % 4 < 3 ? "label" : "",
                                            "", ""};
    to = table_memory_writer(&memory);
    enum status status =
        data[0] % 4 == 3 ? convert_10x(file, &options, &to, &err) : convert_h5ad(file, &options, &to, &err);
    FUZZ_CHECK(status == err.code && (status == STATUS_OK || err.message[0] != '\0'));
    FUZZ_CHECK(H5Fget_obj_count(file, H5F_OBJ_ALL) == 1);
    FUZZ_CHECK(size > 1 || status == STATUS_OK); /* a file of make() without a change must be accepted */
    H5Fclose(file);
    H5Pclose(access);
    if (!status) {
        status = table_memory_read(&memory, &limits, &c, &err);
        FUZZ_CHECK(status == STATUS_OK || status == STATUS_INVALID || status == STATUS_LIMIT);
    }
    collection_close(&c);
    free(memory.bytes);
    return 0;
}
