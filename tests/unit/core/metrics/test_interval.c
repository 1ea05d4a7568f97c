/* Tests the confidence intervals of shares, their differences, and correlations: values from textbooks, and cases with
 * few samples or none. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/metrics/interval.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static void wilson_interval_has_the_published_ends(void **state)
{
    struct interval half = interval_share(0.5, 10, 1.96), none = interval_share(0, 5, 1.96),
                    all = interval_share(1, 5, 1.96);
    assert_near(half.low, 0.2366, 1e-4);
    assert_near(half.high, 0.7634, 1e-4);
    assert_near(none.low, 0, 1e-12);
    assert_near(none.high, 0.4345, 1e-4);
    assert_near(all.low, 0.5655, 1e-4);
    assert_near(all.high, 1, 1e-12);
}

static void share_of_no_samples_can_be_anything(void **state)
{
    struct interval any = interval_share(0, 0, 1.96);
    assert_true(any.low == 0 && any.high == 1);
}

static void newcombe_interval_has_the_published_ends(void **state)
{
    struct interval usual = interval_difference(56.0 / 70, 70, 48.0 / 80, 80, 1.96),
                    small = interval_difference(0.9, 10, 0.3, 10, 1.96),
                    whole = interval_difference(1, 10, 0, 20, 1.96);
    assert_near(usual.low, 0.0524, 1e-4);
    assert_near(usual.high, 0.3339, 1e-4);
    assert_near(small.low, 0.1705, 1e-4);
    assert_near(small.high, 0.8090, 1e-4);
    assert_near(whole.low, 0.6791, 1e-4);
    assert_near(whole.high, 1, 1e-12);
}

static void fisher_interval_has_the_published_ends(void **state)
{
    struct interval r = interval_correlation(0.5, 103, 1.96); /* atanh(.5) = .5493, standard error .1 */
    assert_near(r.low, tanh(0.5493 - 0.196), 1e-4);
    assert_near(r.high, tanh(0.5493 + 0.196), 1e-4);
    assert_true(interval_correlation(1, 100, 1.96).low > 0.99);
}

static void correlation_of_few_samples_can_be_anything(void **state)
{
    struct interval few = interval_correlation(0.9, 3, 1.96), unknown = interval_correlation(NAN, 100, 1.96);
    assert_true(few.low == -1 && few.high == 1);
    assert_true(unknown.low == -1 && unknown.high == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wilson_interval_has_the_published_ends),
        cmocka_unit_test(share_of_no_samples_can_be_anything),
        cmocka_unit_test(newcombe_interval_has_the_published_ends),
        cmocka_unit_test(fisher_interval_has_the_published_ends),
        cmocka_unit_test(correlation_of_few_samples_can_be_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
