/* Tests bins of activations, and the bound on the information of a sparse map. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/metrics/binning.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

/* Two bins for the values 1 to 8. The first ends at 4.5, the second at 8. Values from 8 on are beyond the last bin and
 * belong to the first one (binning.h). */
static void limits_and_means_equal_those_computed_by_hand(void **state)
{
    const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct binning b;
    binning_make(&b, 2, values, 8);
    assert_near(b.limit[0], 4.5, 0);
    assert_near(b.limit[1], 8, 0);
    assert_near(b.mean[0], (1 + 2 + 3 + 4 + 8) / 5.0, 1e-15);
    assert_near(b.mean[1], 6, 1e-15);
    assert_near(binning_apply(&b, 4.4), 3.6, 1e-15);
    assert_near(binning_apply(&b, 4.5), 6, 1e-15);
    assert_near(binning_apply(&b, 7.99), 6, 1e-15);
    assert_near(binning_apply(&b, 8), 3.6, 1e-15);
    assert_near(binning_apply(&b, 100), 3.6, 1e-15);
}

/* The error falls as the number of bins grows. A single value is returned unchanged. */
static void more_bins_approximate_better(void **state)
{
    float values[1000];
    struct binning b;
    double last = INFINITY;
    for (int i = 0; i < 1000; i++)
        values[i] = (float)(i * i) / 1000;
    for (int bins = 1; bins <= 16; bins *= 2) {
        double error = 0;
        binning_make(&b, bins, values, 1000);
        for (int i = 0; i < 999; i++)
            error += fabs(binning_apply(&b, (double)values[i]) - (double)values[i]) / 999;
        assert_true(error < 0.7 * last);
        last = error;
    }
    binning_make(&b, 4, values + 10, 1);
    assert_near(binning_apply(&b, 0.1), (double)values[10], 1e-9);
}

static void information_equals_the_published_value(void **state)
{
    assert_near(binning_information(8, 0.5, 0), 8, 1e-12);
    assert_near(binning_information(100, 0, 4), 0, 0);
    assert_near(binning_information(10, 1, 4), 40, 0);
    /* The digits of the paper: 10^5 positions at the density 5.02e-5, with four bits for an activation. */
    assert_near(binning_information(1e5, 5.022621e-5, 4), 1e5 * (7.8974984e-4 + 4 * 5.022621e-5), 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_and_means_equal_those_computed_by_hand),
        cmocka_unit_test(more_bins_approximate_better),
        cmocka_unit_test(information_equals_the_published_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
