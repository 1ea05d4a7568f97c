/* Tests arrays in NumPy's format: every element type, refusals with a reason, and files that are cut off. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/formats/npy.h"

struct file {
    unsigned char bytes[1024];
    size_t size;
};

static void build(struct file *f, int version, const char *header, const void *data, size_t data_bytes)
{
    size_t length = strlen(header), start = version == 1 ? 10 : 12;
    memcpy(f->bytes, "\x93NUMPY", 6);
    f->bytes[6] = (unsigned char)version;
    f->bytes[7] = 0;
    for (size_t i = 8; i < start; i++)
        f->bytes[i] = (unsigned char)(length >> (8 * (i - 8)));
    memcpy(f->bytes + start, header, length);
    memcpy(f->bytes + start + length, data, data_bytes);
    f->size = start + length + data_bytes;
}

static enum status read_file(const struct file *f, struct npy *out)
{
    /* memory of exactly the file's size, so that a sanitizer reports reads beyond it */
    unsigned char *copy = malloc(f->size > 0 ? f->size : 1);
    memcpy(copy, f->bytes, f->size);
    struct error err = {0};
    enum status status = npy_read(copy, f->size, 1000, out, &err);
    assert_int_equal(status, err.code);
    free(copy);
    return status;
}

static void every_element_type_is_read(void **state)
{
    struct file f;
    struct npy a;
    const float f4[6] = {1, -2.5f, 3, 4, 5, 1e-30f};
    build(&f, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n", f4, sizeof f4);
    assert_int_equal(read_file(&f, &a), STATUS_OK);
    assert_true(a.rank == 2 && a.dim[0] == 2 && a.dim[1] == 3 && a.count == 6);
    assert_memory_equal(a.values, f4, sizeof f4);
    free(a.values);
    const double f8[2] = {0.5, -1e30};
    build(&f, 2, "{\"shape\": (2,), \"descr\": \"<f8\", \"fortran_order\": False}", f8, sizeof f8);
    assert_int_equal(read_file(&f, &a), STATUS_OK);
    assert_true(a.rank == 1 && a.values[0] == 0.5f && a.values[1] == -1e30f);
    free(a.values);
    build(&f, 3, "{'descr':'|u1','fortran_order':False,'shape':(1,2,1,2)}", "\x00\x01\x80\xff", 4);
    assert_int_equal(read_file(&f, &a), STATUS_OK);
    assert_true(a.rank == 4 && a.values[2] == 128 && a.values[3] == 255);
    free(a.values);
    build(&f, 1, "{'descr':'>i8','fortran_order':False,'shape':()}", "\xff\xff\xff\xff\xff\xff\xff\xfe", 8);
    assert_int_equal(read_file(&f, &a), STATUS_OK);
    assert_true(a.rank == 0 && a.count == 1 && a.values[0] == -2);
    free(a.values);
    /* with one dimension, C order and Fortran order are the same */
    build(&f, 1, "{'descr':'<f4','fortran_order':True,'shape':(1,)}", f4, 4);
    assert_int_equal(read_file(&f, &a), STATUS_OK);
    free(a.values);
    build(&f, 1, "{'descr':'<f4','fortran_order':False,'shape':(0,3)}", f4, 0);
    assert_int_equal(read_file(&f, &a), STATUS_OK);
    assert_int_equal(a.count, 0);
    free(a.values);
}

static void unreadable_arrays_are_refused_with_a_reason(void **state)
{
    static const struct {
        const char *header;
        size_t bytes;
        enum status status;
    } cases[] = {
        {"{'descr':'<f4','fortran_order':False,'shape':(2,)}", 7, STATUS_CORRUPT},
        {"{'descr':'<f4','fortran_order':False,'shape':(2,)}", 9, STATUS_CORRUPT},
        {"{'descr':'<f4','fortran_order':False,'shape':(2)}", 8, STATUS_OK},
        {"{'descr':'<f4','fortran_order':False}", 8, STATUS_CORRUPT},
        {"{'descr':'<f4','shape':(2,)}", 8, STATUS_CORRUPT},
        {"{'descr':'<f4','descr':'<f4','fortran_order':False,'shape':(2,)}", 8, STATUS_CORRUPT},
        {"{'descr':'<f4','fortran_order':False,'shape':(2,)} x", 8, STATUS_CORRUPT},
        {"{'descr':'<f4','fortran_order':False,'shape':(2,),'more':1}", 8, STATUS_CORRUPT},
        {"{'descr':'<f4','fortran_order':0,'shape':(2,)}", 8, STATUS_CORRUPT},
        {"{'descr':'<f4','fortran_order':False,'shape':(-2,)}", 8, STATUS_CORRUPT},
        {"{'descr':'<f4','fortran_order':False,'shape':(1,1,1,1,2)}", 8, STATUS_INVALID},
        {"{'descr':'<f4','fortran_order':False,'shape':(99999999999999999999,)}", 8, STATUS_CORRUPT},
        {"{'descr':'<f4','fortran_order':False,'shape':(2147483647,2147483647,2147483647,2147483647)}", 8,
         STATUS_LIMIT},
        {"{'descr':'<f4','fortran_order':False,'shape':(0,2147483647,2147483647,2147483647)}", 0, STATUS_LIMIT},
        {"{'descr':'<f4','fortran_order':False,'shape':(1001,)}", 8, STATUS_LIMIT},
        {"{'descr':'<f4','fortran_order':True,'shape':(1,2)}", 8, STATUS_OK},
        {"{'descr':'<c8','fortran_order':False,'shape':(1,)}", 8, STATUS_INVALID},
        {"{'descr':'|O','fortran_order':False,'shape':(1,)}", 8, STATUS_INVALID},
        {"{'descr':[('a','<f4')],'fortran_order':False,'shape':(1,)}", 4, STATUS_INVALID},
        {"{'descr':[('a','<f4'),'fortran_order':False,'shape':(1,)}", 4, STATUS_CORRUPT},
        {"{'descr':'<U2','fortran_order':False,'shape':(1,)}", 8, STATUS_INVALID},
        {"{'descr':'','fortran_order':False,'shape':(1,)}", 4, STATUS_INVALID},
        {"", 8, STATUS_CORRUPT},
        {"{", 8, STATUS_CORRUPT},
        {"{'", 8, STATUS_CORRUPT},
    };
    struct file f;
    struct npy a;
    char zeros[16] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build(&f, 1, cases[i].header, zeros, cases[i].bytes);
        enum status status = read_file(&f, &a);
        if (status != cases[i].status)
            fail_msg("%s: %s", cases[i].header, status_name(status));
        free(a.values);
    }
    const float bad[2] = {1, INFINITY};
    build(&f, 1, "{'descr':'<f4','fortran_order':False,'shape':(2,)}", bad, sizeof bad);
    assert_int_equal(read_file(&f, &a), STATUS_INVALID);
    const double big = 1e300;
    build(&f, 1, "{'descr':'<f8','fortran_order':False,'shape':(1,)}", &big, sizeof big);
    assert_int_equal(read_file(&f, &a), STATUS_INVALID);
}

/* Every prefix of a valid file is refused, and nothing beyond it is read. */
static void files_that_are_cut_off_are_refused(void **state)
{
    struct file f;
    struct npy a;
    const float values[2] = {1, 2};
    for (int version = 1; version <= 3; version++) {
        build(&f, version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", values, sizeof values);
        size_t size = f.size;
        for (f.size = 0; f.size < size; f.size++)
            assert_int_not_equal(read_file(&f, &a), STATUS_OK);
        assert_int_equal(read_file(&f, &a), STATUS_OK);
        free(a.values);
        f.bytes[7] = 1;
        assert_int_equal(read_file(&f, &a), STATUS_CORRUPT);
        f.bytes[7] = 0;
        f.bytes[6] = 4;
        assert_int_equal(read_file(&f, &a), STATUS_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_element_type_is_read),
                                       cmocka_unit_test(unreadable_arrays_are_refused_with_a_reason),
                                       cmocka_unit_test(files_that_are_cut_off_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
