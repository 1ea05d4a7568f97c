/* References for the tests of pathways: the explicit matrix of a dictionary, and reproducible numbers. Include cmocka.h
 * before this header. */
#ifndef MOTIF_TESTS_UNIT_CORE_METHODS_PATHWAYS_PATHWAYS_MATRIX_H
#define MOTIF_TESTS_UNIT_CORE_METHODS_PATHWAYS_PATHWAYS_MATRIX_H

#include <math.h>
#include <stdlib.h>

#include "core/base/random/philox.h"
#include "core/coding/transform.h"
#include "tests/support/assert_ok.h"

#define assert_near(a, b, tolerance)                                                                                   \
    do {                                                                                                               \
        double a_ = (a), b_ = (b);                                                                                     \
        if (!(fabs(a_ - b_) <= (tolerance)))                                                                           \
            fail_msg("%s = %.12g, %s = %.12g", #a, a_, #b, b_);                                                        \
    } while (0)

static inline float noise_value(uint32_t stream, size_t at)
{
    struct philox random = philox_stream(77, stream, 0);
    return (float)philox_normal(&random, at);
}

/* Returns the explicit matrix, [signal][code]. The caller frees it. */
static inline double *explicit_matrix(const struct dictionary *d)
{
    const struct dictionary_shape *s = &d->shape;
    size_t rows = dictionary_signal_size(d), columns = dictionary_code_size(d);
    double *a = calloc(rows * columns, sizeof *a);
    assert_non_null(a);
    for (int y = 0; y < s->height; y++)
        for (int x = 0; x < s->width; x++)
            for (int f = 0; f < s->filters; f++)
                for (int dy = 0; dy < s->extent_h; dy++)
                    for (int dx = 0; dx < s->extent_w; dx++)
                        for (int c = 0; c < s->inputs; c++) {
                            int at_y = (y + dy) % s->height, at_x = (x + dx) % s->width;
                            size_t row =
                                ((size_t)at_y * (size_t)s->width + (size_t)at_x) * (size_t)s->inputs + (size_t)c;
                            size_t column = ((size_t)y * (size_t)s->width + (size_t)x) * (size_t)s->filters + (size_t)f;
                            size_t tap =
                                (((size_t)f * (size_t)s->extent_h + (size_t)dy) * (size_t)s->extent_w + (size_t)dx) *
                                    (size_t)s->inputs +
                                (size_t)c;
                            a[row * columns + column] += (double)d->filters[tap];
                        }
    return a;
}

static inline double inner(const double *a, size_t rows, size_t columns, size_t i, size_t j)
{
    double sum = 0;
    for (size_t r = 0; r < rows; r++)
        sum += a[r * columns + i] * a[r * columns + j];
    return sum;
}

#endif
