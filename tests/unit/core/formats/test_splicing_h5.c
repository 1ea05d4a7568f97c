/* Tests the reader of SpliceAI's data files. The test writes files with libhdf5 and reads them back. Without the
 * library, it checks the error message about the missing library. */
#include "core/formats/spliceai_h5.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef MOTIF_HDF5

#include <hdf5.h>

#include "core/base/random/mt19937.h"

enum { LENGTH = 6, FLANK = 5, WHOLE = LENGTH + 2 * FLANK };

/* The content of the files. base_of() returns the base at position b of window w, and class_of() returns the class of
 * this position. Windows are numbered over all data sets. Some bases are unknown. */
static uint8_t base_of(int w, int b)
{
    return (uint8_t)((w * 7 + b * 3) % 5);
}
static uint8_t class_of(int w, int b)
{
    return (uint8_t)((w + b) % 3);
}

static void put(hid_t file, const char *name, int rank, const hsize_t *dim, hid_t type, const signed char *values)
{
    hid_t space = H5Screate_simple(rank, dim, NULL);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_SCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Sclose(space);
}

static void put_chunk(hid_t file, int chunk, int first, int windows, hid_t type)
{
    signed char *x = calloc((size_t)windows, WHOLE * 4), *y = calloc((size_t)windows, LENGTH * 3);
    for (int w = 0; w < windows; w++) {
        for (int b = 0; b < WHOLE; b++)
            if (base_of(first + w, b) < 4)
                x[(w * WHOLE + b) * 4 + base_of(first + w, b)] = 1;
        for (int b = 0; b < LENGTH; b++)
            y[(w * LENGTH + b) * 3 + class_of(first + w, b)] = 1;
    }
    char name[16];
    snprintf(name, sizeof name, "X%d", chunk);
    put(file, name, 3, (hsize_t[]){(hsize_t)windows, WHOLE, 4}, type, x);
    snprintf(name, sizeof name, "Y%d", chunk);
    put(file, name, 4, (hsize_t[]){1, (hsize_t)windows, LENGTH, 3}, type, y);
    free(x);
    free(y);
}

static hid_t begin(char *path)
{
    strcpy(path, "/tmp/motif-h5-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
}

static void a_written_file_is_read_back(void **state)
{
    char path[64];
    hid_t made = begin(path);
    put_chunk(made, 0, 0, 4, H5T_STD_I8LE);
    /* this file has another number type, because the reader accepts any number type */
    put_chunk(made, 1, 4, 3, H5T_IEEE_F32LE);
    H5Fclose(made);
    struct splicing_h5 *file = NULL;
    struct error err = {0};
    assert_int_equal(splicing_h5_open(path, &file, &err), STATUS_OK);
    assert_int_equal(splicing_h5_windows(file), 7);
    assert_int_equal(splicing_h5_length(file), LENGTH);
    assert_int_equal(splicing_h5_flank(file), FLANK);
    for (int w = 6; w >= 0; w--) {
        uint8_t bases[WHOLE], classes[WHOLE];
        assert_int_equal(splicing_h5_read(file, w, bases, classes, &err), STATUS_OK);
        for (int b = 0; b < WHOLE; b++) {
            int label = b >= FLANK && b < FLANK + LENGTH ? class_of(w, b - FLANK) : 0;
            assert_int_equal(bases[b], base_of(w, b));
            assert_int_equal(classes[b], label);
        }
    }
    assert_int_equal(splicing_h5_read(file, 7, NULL, NULL, NULL), STATUS_INVALID);

    /* One generator shuffles the data sets, then draws a permutation of the windows of each data set. */
    int64_t order[7];
    int chunks[2] = {0, 1}, inside[4], at = 0;
    struct mt19937 rng;
    mt19937_init(&rng, 0xffffffffu);
    mt19937_shuffle(&rng, chunks, 2);
    assert_int_equal(splicing_h5_order(file, -1, order, NULL), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        int windows = chunks[i] == 0 ? 4 : 3;
        mt19937_permutation(&rng, inside, windows);
        for (int j = 0; j < windows; j++)
            assert_int_equal(order[at++], (chunks[i] == 0 ? 0 : 4) + inside[j]);
    }
    splicing_h5_close(file);
    unlink(path);
}

static void refused(hid_t made, const char *path, enum status code, const char *says)
{
    struct splicing_h5 *file = NULL;
    struct error err = {0};
    if (made >= 0)
        H5Fclose(made);
    assert_int_equal(splicing_h5_open(path, &file, &err), code);
    if (strstr(err.message, says) == NULL)
        fail_msg("'%s' instead of '%s'", err.message, says);
    assert_null(file);
    unlink(path);
}

static void files_of_other_shapes_are_refused(void **state)
{
    static const signed char zeros[WHOLE * 4 * 2];
    char path[64];
    refused(begin(path), path, STATUS_CORRUPT, "no data set X0");
    refused(-1, "/nowhere", STATUS_IO, "cannot be opened");
    hid_t made = begin(path);
    put(made, "X0", 3, (hsize_t[]){2, WHOLE, 4}, H5T_STD_I8LE, zeros);
    refused(made, path, STATUS_CORRUPT, "X0 and Y0 are not");
    made = begin(path);
    put(made, "X0", 3, (hsize_t[]){2, WHOLE, 4}, H5T_STD_I8LE, zeros);
    /* the number of windows differs between the labels and the bases */
    put(made, "Y0", 4, (hsize_t[]){1, 1, LENGTH, 3}, H5T_STD_I8LE, zeros);
    refused(made, path, STATUS_CORRUPT, "X0 and Y0 are not");
    made = begin(path);
    put(made, "X0", 2, (hsize_t[]){2, WHOLE}, H5T_STD_I8LE, zeros);
    put(made, "Y0", 4, (hsize_t[]){1, 2, LENGTH, 3}, H5T_STD_I8LE, zeros);
    refused(made, path, STATUS_CORRUPT, "X0 and Y0 are not");
    made = begin(path);
    put_chunk(made, 0, 0, 2, H5T_STD_I8LE);
    /* the windows of the second chunk have another length than those of the first */
    put(made, "X1", 3, (hsize_t[]){1, WHOLE + 2, 4}, H5T_STD_I8LE, zeros);
    put(made, "Y1", 4, (hsize_t[]){1, 1, LENGTH, 3}, H5T_STD_I8LE, zeros);
    refused(made, path, STATUS_CORRUPT, "X1 and Y1 are not");
}

static void rows_that_are_not_one_hot_are_refused(void **state)
{
    signed char x[WHOLE * 4] = {0}, y[LENGTH * 3] = {0};
    uint8_t bases[WHOLE], classes[WHOLE];
    char path[64];
    for (int variant = 0; variant < 3; variant++) {
        memset(x, 0, sizeof x);
        memset(y, 0, sizeof y);
        if (variant == 0)
            x[8] = x[9] = 1;
        if (variant == 1)
            x[8] = 2;
        if (variant == 2)
            y[3] = y[5] = 1;
        hid_t made = begin(path);
        put(made, "X0", 3, (hsize_t[]){1, WHOLE, 4}, H5T_STD_I8LE, x);
        put(made, "Y0", 4, (hsize_t[]){1, 1, LENGTH, 3}, H5T_STD_I8LE, y);
        H5Fclose(made);
        struct splicing_h5 *file = NULL;
        assert_int_equal(splicing_h5_open(path, &file, NULL), STATUS_OK);
        assert_int_equal(splicing_h5_read(file, 0, bases, classes, NULL), STATUS_CORRUPT);
        splicing_h5_close(file);
        unlink(path);
    }
}

static int finish(void **state)
{
    H5close(); /* releases what libhdf5 keeps, so that no leak is reported */
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_file_is_read_back),
        cmocka_unit_test(files_of_other_shapes_are_refused),
        cmocka_unit_test(rows_that_are_not_one_hot_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}

#else

static void a_build_without_the_library_says_so(void **state)
{
    struct splicing_h5 *file = NULL;
    struct error err = {0};
    assert_int_equal(splicing_h5_open("x.h5", &file, &err), STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "-Dhdf5=enabled"));
    assert_null(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_build_without_the_library_says_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
