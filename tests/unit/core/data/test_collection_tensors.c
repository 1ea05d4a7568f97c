/* Tests uploads of safetensors files, of shards of arrays, and of arrays in any order: they become data sets, the ids
 * of samples are stored, and faulty files are refused. */
#include <archive.h>
#include <archive_entry.h>
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/buf.h"
#include "core/data/uploads/collection.h"
#include "tests/support/archive_add.h"
#include "tests/support/fault.h"

static struct error err;
static struct collection_limits limits = COLLECTION_LIMITS;

static enum status read_set(const char *format, const struct buf *bytes, struct collection *c)
{
    struct byte_source_memory memory = {(const unsigned char *)bytes->data, bytes->size, 7};
    struct byte_source from = byte_source_of_memory(&memory);
    struct collection_options options = {.label = "", .group = ""};
    err = (struct error){0};
    return collection_read(collection_format_named(format), &from, &options, &limits, c, &err);
}

/* Makes a safetensors file: the length of the header, the header, and `data`. */
static struct buf tensors(const char *header, const void *data, size_t bytes)
{
    struct buf out;
    unsigned char length[8] = {(unsigned char)strlen(header), (unsigned char)(strlen(header) >> 8)};
    buf_init(&out, 1 << 20);
    buf_append(&out, length, sizeof length);
    buf_append(&out, header, strlen(header));
    buf_append(&out, data, bytes);
    return out;
}

static void refuses(const char *header, const void *data, size_t bytes, enum status status, const char *message)
{
    struct buf file = tensors(header, data, bytes);
    struct collection c;
    assert_int_equal(read_set("safetensors", &file, &c), status);
    if (!strstr(err.message, message))
        fail_msg("'%s' does not say '%s'", err.message, message);
    buf_close(&file);
}

static void check_values(const struct collection *c, const float *values, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(collection_value(c, i) <= values[i] && collection_value(c, i) >= values[i]);
}

static void a_tensor_becomes_rows_whatever_its_name(void **state)
{
    const float x[] = {1.5f, -2, 3, 4, 5, 6};
    struct buf file =
        tensors("{\"blocks.8.hook\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}}  ", x, sizeof x);
    struct collection c;
    (void)state;
    assert_int_equal(read_set("safetensors", &file, &c), STATUS_OK);
    assert_int_equal(c.kind, COLLECTION_TABLE);
    assert_true(c.count == 3 && c.cols == 2 && c.records.count == 0);
    check_values(&c, x, 6);
    collection_close(&c);
    buf_close(&file);
}

/* Ids of 64 bits keep all digits, which a float could not. The order of tensors in the file does not matter. */
static void tensors_of_half_precision_tokens_have_ids_and_groups(void **state)
{
    struct {
        int64_t id[2];
        uint8_t group[2];
        uint16_t x[8]; /* bfloat16 */
    } data = {{9007199254740993, -1}, {4, 7}, {0x3F80, 0x4000, 0xC040, 0x3F00, 0, 0x4380, 0x3F81, 0xBF80}};
    const float x[] = {1, 2, -3, 0.5f, 0, 256, 1.0078125f, -1};
    unsigned char packed[34];
    memcpy(packed, data.id, 16);
    memcpy(packed + 16, data.group, 2);
    memcpy(packed + 18, data.x, 16);
    struct buf file = tensors("{\"__metadata__\":{\"model\":\"m\"},"
                              "\"x\":{\"dtype\":\"BF16\",\"shape\":[2,2,2],\"data_offsets\":[18,34]},"
                              "\"group\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[16,18]},"
                              "\"id\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]}}",
                              packed, sizeof packed);
    struct collection c;
    (void)state;
    assert_int_equal(read_set("safetensors", &file, &c), STATUS_OK);
    assert_true(c.count == 2 && c.rows == 2 && c.cols == 2);
    check_values(&c, x, 8);
    assert_string_equal(c.records.name[0], "9007199254740993");
    assert_string_equal(c.records.name[1], "-1");
    assert_string_equal(c.groups.name[c.group[1]], "7");
    collection_close(&c);
    buf_close(&file);
}

static void faulty_headers_are_refused(void **state)
{
    const float x[4] = {0};
    (void)state;
    refuses("[]", x, 0, STATUS_CORRUPT, "must be a JSON object");
    refuses("{\"x\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,12]}}", x, 16, STATUS_CORRUPT, "do not fit");
    refuses("{\"x\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[4,20]}}", x, 16, STATUS_CORRUPT,
            "previous tensor ends");
    refuses("{\"x\":{\"dtype\":\"F8_E4M3\",\"shape\":[2,2],\"data_offsets\":[0,4]}}", x, 4, STATUS_INVALID, "type");
    refuses("{\"x\":{\"dtype\":\"F32\",\"shape\":[2,1,1,1,2],\"data_offsets\":[0,16]}}", x, 16, STATUS_INVALID,
            "dimensions");
    refuses("{\"x\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}", x, 12, STATUS_CORRUPT, "end inside");
    refuses("{\"x\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]}}", x, 16, STATUS_CORRUPT, "more bytes");
    refuses("{\"x\":{\"dtype\":\"F32\",\"shape\":[-2,2],\"data_offsets\":[0,16]}}", x, 16, STATUS_CORRUPT, "shape");
    refuses("{\"x\":{\"dtype\":\"F32\",\"shape\":[1e9,1e9],\"data_offsets\":[0,16]}}", x, 16, STATUS_CORRUPT, "shape");
    refuses("{\"y\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", x, 2, STATUS_INVALID, "no array 'x'");
    refuses("{\"a\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
            "\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[8,16]}}",
            x, 16, STATUS_INVALID, "'a' is not allowed");
    refuses("{\"x\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
            "\"id\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[8,11]}}",
            x, 11, STATUS_INVALID, "3 ids for 2 samples");
    refuses("{\"x\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
            "\"id\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}",
            x, 16, STATUS_INVALID, "text or integers");
    struct buf huge;
    struct collection c;
    buf_init(&huge, 64);
    buf_append(&huge, "\xff\xff\xff\xff\0\0\0\0{}", 10);
    assert_int_equal(read_set("safetensors", &huge, &c), STATUS_LIMIT);
    buf_close(&huge);
}

/* ---- shards ---------------------------------------------------------------------------------------------------- */

static void add_npy(struct archive *a, const char *name, const char *type, const char *shape, const void *data,
                    size_t bytes)
{
    unsigned char file[512] = "\x93NUMPY\x01\x00\x76";
    int length =
        snprintf((char *)file + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    memset(file + 10 + length, ' ', (size_t)(118 - length));
    file[127] = '\n';
    memcpy(file + 128, data, bytes);
    archive_add(a, name, file, 128 + bytes);
}

static char packed[1 << 16];
static size_t packed_bytes;

static struct archive *begin(void)
{
    struct archive *a = archive_write_new();
    assert_int_equal(archive_write_set_format_ustar(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, packed, sizeof packed, &packed_bytes), ARCHIVE_OK);
    return a;
}

static enum status read_tar(struct archive *a, struct collection *c)
{
    struct buf file;
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    buf_init(&file, sizeof packed);
    buf_append(&file, packed, packed_bytes);
    enum status status = read_set("tar", &file, c);
    buf_close(&file);
    return status;
}

static void shards_follow_each_other_with_their_ids(void **state)
{
    const float x[] = {1, 2.5f, 3, 4, 5, 6, 7, 8};
    const char texts[2][4] = {"doc1", "d\xC3\xA9"}; /* elements of NumPy's type S4 */
    const int32_t numbers[] = {40, 41};
    struct collection c;
    struct archive *a = begin();
    struct buf last = tensors("{\"activations\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}", x + 6, 8);
    (void)state;
    add_npy(a, "run/ids-0.npy", "|S4", "2,", texts, sizeof texts);
    add_npy(a, "run/shard-0.npy", "<f4", "1, 2", x, 8);
    add_npy(a, "run/shard-1.npy", "<f4", "2, 2", x + 2, 16);
    add_npy(a, "run/ids-1.npy", "<i4", "2,", numbers, sizeof numbers);
    archive_add(a, "run/shard-2.safetensors", last.data, last.size);
    assert_int_equal(read_tar(a, &c), STATUS_OK);
    assert_true(c.count == 4 && c.cols == 2);
    check_values(&c, x, 8);
    const char *const ids[] = {"doc1", "d\xC3\xA9", "40", "41"};
    for (int i = 0; i < 4; i++)
        assert_string_equal(c.records.name[i], ids[i]);
    collection_close(&c);
    buf_close(&last);
}

static void shards_that_do_not_fit_are_refused(void **state)
{
    const float x[] = {1, 2, 3, 4};
    const uint8_t numbers[] = {1, 2, 3};
    struct collection c;
    (void)state;
    struct archive *a = begin();
    add_npy(a, "a.npy", "<f4", "1, 2", x, 8);
    add_npy(a, "b.npy", "<f4", "2, 1", x, 8);
    assert_int_equal(read_tar(a, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "member 'b.npy': has samples of"));
    a = begin();
    add_npy(a, "a.npy", "<f4", "2, 2", x, 16);
    add_npy(a, "id.npy", "|u1", "3,", numbers, 3);
    assert_int_equal(read_tar(a, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "3 ids for 2 samples"));
    a = begin();
    add_npy(a, "id.npy", "|u1", "3,", numbers, 3);
    assert_int_equal(read_tar(a, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "has no samples"));
    struct buf grouped = tensors("{\"x\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                                 "\"group\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[8,9]}}",
                                 (const unsigned char[9]){0}, 9);
    for (int first = 0; first < 2; first++) { /* only one of the files has groups */
        a = begin();
        add_npy(a, first ? "c.npy" : "a.npy", "<f4", "1, 2", x, 8);
        archive_add(a, "b.safetensors", grouped.data, grouped.size);
        assert_int_equal(read_tar(a, &c), STATUS_INVALID);
        assert_non_null(strstr(err.message, "only some samples have a group"));
    }
    buf_close(&grouped);
    a = begin();
    add_npy(a, "a.npy", "<f4", "1, 2", x, 8);
    add_npy(a, "run/wide.npy", "<i8", "1, 2", (const int64_t[]){1, 16777217}, 16);
    assert_int_equal(read_tar(a, &c), STATUS_OK);
    assert_string_equal(c.warning[0].code, "rounded");
    assert_non_null(strstr(c.warning[0].text, "the first: wide.npy, x, row 0, column 1 (counted from 0): 16777217"));
    collection_close(&c);
    a = begin();
    add_npy(a, "ideal.npy", "<f4", "2, 2", x, 16); /* a file of samples, although its name begins with "id" */
    assert_int_equal(read_tar(a, &c), STATUS_OK);
    assert_int_equal(c.count, 2);
    collection_close(&c);
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

struct member {
    const char *name, *type, *shape;
    const void *data;
    size_t bytes;
};
enum { MEMBERS_MOST = 8 };

/* Makes an .npz whose members are in the given order; NULL: in theirs. packing: the option of libarchive's writer. */
static struct buf pack(const struct member *members, int count, const int *order, const char *packing)
{
    struct archive *a = archive_write_new();
    struct buf file;
    assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
    assert_int_equal(archive_write_set_options(a, packing), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, packed, sizeof packed, &packed_bytes), ARCHIVE_OK);
    for (int i = 0; i < count; i++) {
        const struct member *m = &members[order ? order[i] : i];
        add_npy(a, m->name, m->type, m->shape, m->data, m->bytes);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    buf_init(&file, sizeof packed);
    buf_append(&file, packed, packed_bytes);
    return file;
}

static enum status read_members(const struct member *members, int count, const int *order, const char *packing,
                                struct collection *c)
{
    struct buf file = pack(members, count, order, packing);
    enum status status = read_set("npz", &file, c);
    buf_close(&file);
    return status;
}

/* Writes one of the count! orders of the numbers below `count`. */
static void order_of(int number, int count, int *order)
{
    int left[MEMBERS_MOST];
    for (int i = 0; i < count; i++)
        left[i] = i;
    for (int i = 0; i < count; i++) {
        int pick = number % (count - i);
        number /= count - i;
        order[i] = left[pick];
        left[pick] = left[count - i - 1];
    }
}

/* Checks that two data sets have the same samples, labels, groups, parts and ids. */
static void check_same(const struct collection *a, const struct collection *b)
{
    assert_true(a->kind == b->kind && a->count == b->count && a->cols == b->cols && a->rows == b->rows);
    assert_true(a->channels == b->channels && a->channels_first == b->channels_first && a->rate == b->rate);
    assert_int_equal(a->stored, b->stored);
    assert_memory_equal(a->store, b->store, a->stored);
    assert_memory_equal(a->start, b->start, (size_t)(a->count + 1) * sizeof *a->start);
    assert_true(a->target == b->target && a->vocabulary.count == b->vocabulary.count);
    for (int i = 0; i < a->vocabulary.count; i++)
        assert_string_equal(a->vocabulary.name[i], b->vocabulary.name[i]);
    for (int64_t i = 0; i < a->count; i++) {
        const int32_t *one, *other;
        int labels = collection_labels(a, i, &one);
        assert_int_equal(collection_labels(b, i, &other), labels);
        for (int k = 0; k < labels; k++)
            assert_int_equal(one[k], other[k]);
        assert_int_equal(a->group[i], b->group[i]);
        assert_int_equal(a->part[i], b->part[i]);
        assert_string_equal(a->records.name[i], b->records.name[i]);
    }
}

/* Reads every step-th of the orders. */
static void check_orders(const struct member *members, int count, int orders, int step)
{
    struct collection first, c;
    int order[MEMBERS_MOST];
    if (read_members(members, count, NULL, "zip:compression=store", &first))
        fail_msg("%s", err.message);
    for (int i = 0; i < orders; i += step) {
        order_of(i, count, order);
        if (read_members(members, count, order, i % 2 ? "zip:compression=store" : "zip:compression=deflate", &c))
            fail_msg("order %d: %s", i, err.message);
        check_same(&first, &c);
        collection_close(&c);
    }
    collection_close(&first);
}

static const float ragged[] = {1, 2.5f, 3, 4, 5, -6, 7, 8, 9, 10};
static const int32_t lengths[] = {2, 3};
static const struct member ragged_members[] = {
    {"options.npy", "|S8", "1,", "y=index\0", 8},    {"length.npy", "<i4", "2,", lengths, sizeof lengths},
    {"x.npy", "<f4", "5, 2", ragged, sizeof ragged}, {"y.npy", "|u1", "2,", "\1\0", 2},
    {"names.npy", "|S3", "2,", "owlfox", 6},         {"group.npy", "|S1", "2,", "ab", 2},
    {"part.npy", "|S5", "2,", "traintest\0", 10},    {"id.npy", "<i4", "2,", lengths, sizeof lengths},
};
static const unsigned char plane_bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/* NumPy writes members in the order in which the user names them. */
static void arrays_may_have_any_order(void **state)
{
    const struct member planes[] = {
        {"options.npy", "|S21", "2,", "layout=channels-firsttarget=sequence\0\0\0\0\0", 42},
        {"X.npy", "|u1", "2, 2, 2, 2", plane_bytes, sizeof plane_bytes},
        {"y.npy", "|u1", "2, 2", "\0\1\1\1", 4},
        {"group.npy", "|S1", "2,", "ab", 2},
        {"part.npy", "|S5", "2,", "traintest\0", 10},
        {"ids.npy", "|S1", "2,", "pq", 2},
    };
    (void)state;
    check_orders(ragged_members, 8, 40320, 37);
    check_orders(planes, 6, 720, 1);
}

/* The order of the bytes in a safetensors file follows no rule either. */
static void tensors_may_have_any_order(void **state)
{
    const char *const headers[] = {"{\"x\":{\"dtype\":\"F32\",\"shape\":[5,2],\"data_offsets\":[0,40]},"
                                   "\"length\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[40,48]}}",
                                   "{\"x\":{\"dtype\":\"F32\",\"shape\":[5,2],\"data_offsets\":[8,48]},"
                                   "\"length\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[0,8]}}"};
    const float values[] = {1, 3, 2.5f, 4, 5, 7, 9, -6, 8, 10}; /* channels first, sample by sample */
    (void)state;
    for (int i = 0; i < 2; i++) {
        unsigned char data[48];
        memcpy(data + (i == 0 ? 0 : 8), ragged, sizeof ragged);
        memcpy(data + (i == 0 ? 40 : 0), lengths, sizeof lengths);
        struct buf file = tensors(headers[i], data, sizeof data);
        struct collection c;
        assert_int_equal(read_set("safetensors", &file, &c), STATUS_OK);
        assert_true(c.count == 2 && c.channels == 2 && c.cols == 3 && collection_length(&c, 0) == 2);
        check_values(&c, values, 10);
        collection_close(&c);
        buf_close(&file);
    }
}

static void refuses_members(const struct member *members, int count, enum status status, const char *message)
{
    struct collection c;
    assert_int_equal(read_members(members, count, NULL, "zip:compression=deflate", &c), status);
    if (!strstr(err.message, message))
        fail_msg("'%s' does not say '%s'", err.message, message);
}

static void faults_of_arrays_in_any_order_name_the_array(void **state)
{
    const float nan[] = {1, NAN, 2, 3};
    struct member x = {"images.npy", "<f4", "2, 2", nan, 16}, y = {"y.npy", "|u1", "2,", "ab", 2};
    const struct member late[] = {{"options.npy", "|S8", "1,", "y=index\0", 8},
                                  {"x.npy", "<f4", "2, 1, 2", ragged, 16},
                                  {"length.npy", "|u1", "2,", "\1\1", 2}};
    (void)state;
    refuses_members((struct member[]){x, y}, 2, STATUS_INVALID, "member 'images.npy': row 0, column 1 of the array");
    x.bytes = 12;
    refuses_members((struct member[]){x, y}, 2, STATUS_CORRUPT, "member 'images.npy': the bytes end inside");
    x.bytes = 16;
    x.shape = "1, 2";
    refuses_members((struct member[]){x, y}, 2, STATUS_CORRUPT, "member 'images.npy': there are more bytes");
    x.shape = "2147483647, 2147483647, 2147483647, 2147483647";
    refuses_members((struct member[]){x, y}, 2, STATUS_LIMIT, "member 'images.npy': the samples take more than");
    x.type = "|S2";
    refuses_members((struct member[]){x, y}, 2, STATUS_INVALID, "member 'x' must be numbers in 2, 3 or 4 dimensions");
    x = (struct member){"x.npy", "<f4", "2, 2", ragged, 16};
    refuses_members((struct member[]){x, y, {"data.npy", "|u1", "2,", "ab", 2}}, 3, STATUS_INVALID, "repeats an array");
    refuses_members((struct member[]){x, y, {"length.npy", "|u1", "2,", "\1\3", 2}}, 3, STATUS_INVALID,
                    "member 'x.npy': member 'length' must have one dimension and a sum of 2");
    refuses_members(late, 3, STATUS_INVALID, "member 'length.npy': needs x in two dimensions");
    refuses_members(late, 1, STATUS_INVALID, "there is no array 'x'");
}

/* The bytes of x, of which there are more than the reader has in memory at a time, leave nothing behind the values. */
static void kept_bytes_leave_nothing_in_the_file(void **state)
{
    enum { ROWS = 150000, BYTES = ROWS * 16 };
    static const char text[] = "{\"x\":{\"dtype\":\"F64\",\"shape\":[150000,2],\"data_offsets\":[0,2400000]},"
                               "\"length\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[2400000,2400004]}}";
    double *data = malloc(BYTES + 4);
    struct buf file;
    struct collection c;
    FILE *at = tmpfile();
    int store = fileno(at);
    struct collection_options options = {.label = "", .group = "", .store = &store};
    (void)state;
    for (int i = 0; i < 2 * ROWS; i++)
        data[i] = i % 1000 + 0.5;
    memcpy(data + 2 * ROWS, &(int32_t){ROWS}, 4);
    buf_init(&file, BYTES + 4096);
    buf_append(&file, (unsigned char[8]){sizeof text - 1}, 8);
    buf_append(&file, text, sizeof text - 1);
    buf_append(&file, data, BYTES + 4);
    struct byte_source_memory memory = {(const unsigned char *)file.data, file.size, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    assert_int_equal(collection_read(collection_format_named("safetensors"), &from, &options, &limits, &c, &err),
                     STATUS_OK);
    assert_true(c.count == 1 && c.channels == 2 && c.cols == ROWS);
    for (int i = 0; i < 2 * ROWS; i++)
        assert_true(fabsf(collection_value(&c, i % 2 * ROWS + i / 2) - (float)data[i]) <= 0);
    assert_int_equal(fseek(at, 0, SEEK_END), 0);
    assert_int_equal(ftell(at), BYTES / 2);
    collection_close(&c);
    buf_close(&file);
    free(data);
    fclose(at);
}

static void each_failing_allocation_is_reported(void **state)
{
    const int order[] = {2, 7, 4, 3, 5, 1, 6, 0};
    struct buf file = pack(ragged_members, 8, order, "zip:compression=deflate");
    struct collection c;
    (void)state;
    for (int n = 0;; n++) {
        fault_after(n);
        enum status status = read_set("npz", &file, &c);
        if (!fault_happened()) {
            assert_int_equal(status, STATUS_OK);
            collection_close(&c);
            break;
        }
        if (status != STATUS_NO_MEMORY)
            fail_msg("allocation %d: %s", n, err.message);
    }
    buf_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_becomes_rows_whatever_its_name),
        cmocka_unit_test(tensors_of_half_precision_tokens_have_ids_and_groups),
        cmocka_unit_test(faulty_headers_are_refused),
        cmocka_unit_test(shards_follow_each_other_with_their_ids),
        cmocka_unit_test(shards_that_do_not_fit_are_refused),
        cmocka_unit_test(arrays_may_have_any_order),
        cmocka_unit_test(tensors_may_have_any_order),
        cmocka_unit_test(faults_of_arrays_in_any_order_name_the_array),
        cmocka_unit_test(kept_bytes_leave_nothing_in_the_file),
        cmocka_unit_test(each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
