/* Coherence of filter banks against the definition, and the gradient of the penalty against central differences, in
 * double precision. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/philox.h"
#include "core/nn/coherence.h"

static const struct filter_bank banks[] = {{3, 1, 1, 5}, {4, 2, 3, 3}, {2, 3, 1, 1}, {1, 2, 2, 3}, {5, 1, 1, 1}};
enum { BANKS = sizeof banks / sizeof banks[0], MOST = 80 };

static size_t taps(const struct filter_bank *b)
{
    return (size_t)(b->filters * b->inputs * b->height * b->width);
}

static void fill(real *w, size_t count, uint32_t stream)
{
    struct philox random = philox_stream(5, stream, 0);
    philox_fill_normal(&random, 0, w, count);
}

static double value(const struct filter_bank *b, const real *w, int f, int c, int y, int x)
{
    if (y < 0 || y >= b->height || x < 0 || x >= b->width)
        return 0;
    return w[((f * b->inputs + c) * b->height + y) * b->width + x];
}

static double plain_inner(const struct filter_bank *b, const real *w, int f, int g, int dy, int dx)
{
    double sum = 0;
    for (int c = 0; c < b->inputs; c++)
        for (int y = 0; y < b->height; y++)
            for (int x = 0; x < b->width; x++)
                sum += value(b, w, f, c, y, x) * value(b, w, g, c, y - dy, x - dx);
    return sum;
}

static double plain_penalty(const struct filter_bank *b, const real *w, double *largest)
{
    double sum = 0;
    *largest = 0;
    for (int f = 0; f < b->filters; f++)
        for (int g = 0; g < b->filters; g++)
            for (int dy = 1 - b->height; dy < b->height; dy++)
                for (int dx = 1 - b->width; dx < b->width; dx++) {
                    double scale = sqrt(plain_inner(b, w, f, f, 0, 0) * plain_inner(b, w, g, g, 0, 0));
                    double c = plain_inner(b, w, f, g, dy, dx) / scale;
                    if (f == g && dy == 0 && dx == 0)
                        continue;
                    sum += c * c;
                    *largest = fmax(*largest, fabs(c));
                }
    return 0.5 * sum / b->filters;
}

static void coherence_equals_its_definition(void **state)
{
    for (int i = 0; i < BANKS; i++) {
        const struct filter_bank *b = &banks[i];
        real w[MOST], dw[MOST] = {0}, *scratch = malloc(filter_gram_size(b) * sizeof *scratch);
        double largest, penalty;
        fill(w, taps(b), (uint32_t)i);
        penalty = plain_penalty(b, w, &largest);
        assert_true(fabs(filter_coherence(b, w) - fmin(1, largest)) < 1e-12);
        assert_true(fabs(filter_penalty(b, w, 3, dw, scratch) - 3 * penalty) < 1e-11);
        free(scratch);
    }
    const struct filter_bank one = {2, 1, 1, 2};
    const real same[] = {1, 2, -2, -4}, zero[] = {0, 0, 1, 0};
    assert_true(fabs(filter_coherence(&one, same) - 1) < 1e-12);
    assert_true(filter_coherence(&one, zero) == 0);
}

static void the_gradient_is_right(void **state)
{
    const double h = 1e-6, weight = 0.7;
    for (int i = 0; i < BANKS; i++) {
        const struct filter_bank *b = &banks[i];
        real w[MOST], dw[MOST], unused[MOST] = {0}, *scratch = malloc(filter_gram_size(b) * sizeof *scratch);
        fill(w, taps(b), 20 + (uint32_t)i);
        for (size_t k = 0; k < taps(b); k++)
            dw[k] = 0.5; /* is added to */
        filter_penalty(b, w, weight, dw, scratch);
        for (size_t k = 0; k < taps(b); k++) {
            real at = w[k];
            w[k] = at + h;
            double up = filter_penalty(b, w, weight, unused, scratch);
            w[k] = at - h;
            double down = filter_penalty(b, w, weight, unused, scratch);
            w[k] = at;
            assert_true(fabs((up - down) / (2 * h) - (dw[k] - 0.5)) < 1e-7);
        }
        for (int f = 0; f < b->filters; f++) { /* lengths do not matter, so no filter is pushed along itself */
            double along = 0;
            size_t n = taps(b) / (size_t)b->filters;
            for (size_t k = 0; k < n; k++)
                along += (dw[(size_t)f * n + k] - 0.5) * w[(size_t)f * n + k];
            assert_true(fabs(along) < 1e-9);
        }
        free(scratch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(coherence_equals_its_definition),
                                       cmocka_unit_test(the_gradient_is_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
