/* Tests the number of principal components that exceed noise, on tables that are made of a known number of factors. */
#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/metrics/components.h"

/* Returns a random table. Each column is a sum of `factors` independent normal factors with normal weights, plus noise.
 * The caller frees the table. */
static float *planted(int rows, int columns, int factors, float noise, uint64_t seed)
{
    float *x = malloc((size_t)rows * (size_t)columns * sizeof *x);
    struct philox weight = philox_stream(seed, 1, 0), factor = philox_stream(seed, 2, 0),
                  other = philox_stream(seed, 3, 0);
    assert_non_null(x);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = (double)noise * philox_normal(&other, (uint64_t)i * (uint64_t)columns + (uint64_t)j);
            for (int k = 0; k < factors; k++)
                sum += philox_normal(&weight, (uint64_t)j * 64 + (uint64_t)k) *
                       philox_normal(&factor, (uint64_t)i * 64 + (uint64_t)k);
            x[(ptrdiff_t)i * columns + j] = (float)(100 + 7 * sum);
        }
    return x;
}

static int count_of(float *x, int rows, int columns)
{
    struct error err = {0};
    int count = -1;
    assert_int_equal(components_count(x, rows, columns, &count, &err), STATUS_OK);
    free(x);
    return count;
}

static void planted_factors_are_counted(void **state)
{
    for (int factors = 1; factors <= 8; factors++) {
        assert_int_equal(count_of(planted(600, 40, factors, 0.5F, (uint64_t)factors), 600, 40), factors);
        assert_int_equal(count_of(planted(100, 300, factors, 0.5F, (uint64_t)factors), 100, 300), factors);
    }
}

static void independent_columns_have_hardly_any_components(void **state)
{
    for (uint64_t seed = 1; seed <= 5; seed++) /* noise may give one component by chance */
        assert_true(count_of(planted(500, 50, 0, 1, seed), 500, 50) <= 1);
}

static void constant_columns_do_not_count(void **state)
{
    float *x = planted(200, 10, 2, 0.3F, 3), *wide = calloc((size_t)200 * 30, sizeof *wide);
    assert_non_null(wide);
    for (int i = 0; i < 200; i++)
        for (int j = 0; j < 30; j++)
            wide[i * 30 + j] = j < 10 ? x[i * 10 + j] : 5;
    free(x);
    assert_int_equal(count_of(wide, 200, 30), 2);
    assert_int_equal(count_of(calloc(40, sizeof(float)), 10, 4), 0);
    assert_int_equal(count_of(calloc(4, sizeof(float)), 1, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_factors_are_counted),
        cmocka_unit_test(independent_columns_have_hardly_any_components),
        cmocka_unit_test(constant_columns_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
