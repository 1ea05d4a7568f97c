/* Compares the coherence of filter banks with its definition, in double precision. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
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

static double plain_coherence(const struct filter_bank *b, const real *w)
{
    double largest = 0;
    for (int f = 0; f < b->filters; f++)
        for (int g = 0; g < b->filters; g++)
            for (int dy = 1 - b->height; dy < b->height; dy++)
                for (int dx = 1 - b->width; dx < b->width; dx++) {
                    double scale = sqrt(plain_inner(b, w, f, f, 0, 0) * plain_inner(b, w, g, g, 0, 0));
                    double c = plain_inner(b, w, f, g, dy, dx) / scale;
                    if (f == g && dy == 0 && dx == 0)
                        continue;
                    largest = fmax(largest, fabs(c));
                }
    return largest;
}

static void coherence_equals_its_definition(void **state)
{
    for (int i = 0; i < BANKS; i++) {
        const struct filter_bank *b = &banks[i];
        real w[MOST];
        double largest;
        fill(w, taps(b), (uint32_t)i);
        largest = plain_coherence(b, w);
        assert_true(fabs(filter_coherence(b, w, NULL) - fmin(1, largest)) < 1e-12);
    }
    const struct filter_bank one = {2, 1, 1, 2};
    const real same[] = {1, 2, -2, -4}, zero[] = {0, 0, 1, 0};
    assert_true(fabs(filter_coherence(&one, same, NULL) - 1) < 1e-12);
    assert_true(filter_coherence(&one, zero, NULL) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(coherence_equals_its_definition)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
