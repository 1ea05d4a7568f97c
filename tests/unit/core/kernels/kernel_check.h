/* Functions that the kernel tests share: repeatable random numbers, memory, and the distance between two results.
 *
 * A test makes the same call with the reference table and with each vector table that this processor supports. The
 * distance is the largest difference divided by the largest magnitude of the reference result. It is not relative to
 * each single element, because sums can cancel to nearly zero. */
#ifndef MOTIF_TESTS_UNIT_CORE_KERNELS_KERNEL_CHECK_H
#define MOTIF_TESTS_UNIT_CORE_KERNELS_KERNEL_CHECK_H

#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/kernels/kernels.h"

static inline float random_at_index(uint32_t stream, uint64_t index)
{
    struct philox from = philox_stream(7, stream, 0);
    return philox_uniform(&from, index);
}

/* Returns n random values in [-1, 1). The caller frees them. */
static inline float *random_floats(uint32_t stream, size_t n)
{
    struct philox from = philox_stream(11, stream, 0);
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    philox_fill_uniform(&from, 0, x, n);
    for (size_t i = 0; i < n; i++)
        x[i] = 2 * x[i] - 1;
    return x;
}

static inline float *copy_floats(const float *x, size_t n)
{
    float *y = malloc(n * sizeof *y);
    assert_non_null(y);
    memcpy(y, x, n * sizeof *y);
    return y;
}

/* Returns a map of random values whose halo and padding are zero. The caller frees it. */
static inline float *random_map(uint32_t stream, const struct map_shape *s)
{
    size_t plane = (size_t)s->channels * (size_t)s->height * (size_t)s->width;
    float *planar = random_floats(stream, plane * (size_t)s->images), *map = malloc(map_size(s) * sizeof *map);
    assert_non_null(map);
    for (int n = 0; n < s->images; n++)
        map_from_planar(s, planar + (size_t)n * plane, map, n);
    free(planar);
    return map;
}

static inline float *empty_map(const struct map_shape *s)
{
    float *map = calloc(map_size(s), sizeof *map);
    assert_non_null(map);
    return map;
}

static inline double distance(const float *x, const float *y, size_t n)
{
    double most = 0, scale = 1e-30;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)x[i] - (double)y[i]);
        if (!(d <= most))
            most = d;
        if (fabs((double)x[i]) > scale)
            scale = fabs((double)x[i]);
    }
    return most / scale;
}

static inline double distance_double(const double *x, const double *y, size_t n)
{
    double most = 0, scale = 1e-30;
    for (size_t i = 0; i < n; i++) {
        double d = fabs(x[i] - y[i]);
        if (!(d <= most))
            most = d;
        if (fabs(x[i]) > scale)
            scale = fabs(x[i]);
    }
    return most / scale;
}

#define CHECK_CLOSE(what, table, x, y, n)                                                                              \
    do {                                                                                                               \
        double far_ = distance(x, y, n);                                                                               \
        if (!(far_ <= 1e-5))                                                                                           \
            fail_msg("%s of %s is %g from the plain one", what, (table)->name, far_);                                  \
    } while (0)

/* Begins a loop that runs its body once for each vector table of this processor. The table is in the variable
 * `fast`. */
#define FOR_EACH_TABLE(fast)                                                                                           \
    for (int table_ = 0; table_ < 2; table_++)                                                                         \
        for (const struct kernels *fast = kernels_named(table_ ? "avx512" : "avx2"); fast; fast = NULL)

#define ref (kernels_named("ref"))
#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
