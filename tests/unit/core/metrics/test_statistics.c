/* Tests edit distance and bootstrap intervals. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/sorted.h"
#include "core/metrics/interval.h"
#include "core/metrics/edit_distance.h"
#include "tests/support/fault.h"

static int naive_distance(const int *a, int a_count, const int *b, int b_count)
{
    if (a_count == 0 || b_count == 0)
        return a_count + b_count;
    int replaced = naive_distance(a + 1, a_count - 1, b + 1, b_count - 1) + (a[0] != b[0]);
    int deleted = naive_distance(a + 1, a_count - 1, b, b_count) + 1;
    int inserted = naive_distance(a, a_count, b + 1, b_count - 1) + 1;
    int best = deleted < inserted ? deleted : inserted;
    return replaced < best ? replaced : best;
}

static void edit_distance_equals_its_definition(void **state)
{
    srand(1);
    for (int trial = 0; trial < 400; trial++) {
        int a[7], b[7], a_count = rand() % 7, b_count = rand() % 7;
        for (int i = 0; i < 7; i++) {
            a[i] = rand() % 3;
            b[i] = rand() % 3;
        }
        int wanted = naive_distance(a, a_count, b, b_count);
        assert_int_equal(edit_distance(a, a_count, b, b_count), wanted);
        assert_int_equal(edit_distance(b, b_count, a, a_count), wanted);
        int longer = a_count > b_count ? a_count : b_count;
        assert_true(edit_error(a, a_count, b, b_count) == (longer > 0 ? (double)wanted / longer : 0.0));
    }
}

static void edit_distance_is_defined_for_empty_and_long_lists(void **state)
{
    static int many[EDIT_DISTANCE_MAX + 1];
    const int y[] = {1, 7, 4, 2, 9}, rotated[] = {7, 4, 2, 9, 1};
    assert_int_equal(edit_distance(y, 5, rotated, 5), 2);
    assert_true(edit_error(y, 5, NULL, 0) == 1.0); /* an empty prediction has the error 1 */
    assert_true(edit_error(NULL, 0, NULL, 0) == 0.0);
    assert_int_equal(edit_distance(many, EDIT_DISTANCE_MAX, NULL, 0), EDIT_DISTANCE_MAX);
    assert_int_equal(edit_distance(many, EDIT_DISTANCE_MAX, many, EDIT_DISTANCE_MAX), 0);
    assert_int_equal(edit_distance(many, EDIT_DISTANCE_MAX + 1, many, 1), -1);
    assert_true(isnan(edit_error(many, 1, many, EDIT_DISTANCE_MAX + 1)));
}

/* The reference is numpy 1.24: RandomState(0).choice, and percentiles with linear interpolation. The nine values are
 * the end-to-end errors of the paper's nine runs, whose published interval is [.47, 1.15]. */
static void bootstrap_equals_numpy(void **state)
{
    const double runs[] = {.36, .38, .42, .46, .571, .64, .76, .77, 2.23}, holes[] = {1, NAN, 4, 2.5};
    struct bootstrap out;
    assert_int_equal(bootstrap_mean(runs, 9, &out, NULL), STATUS_OK);
    assert_int_equal(out.count, 9);
    assert_true(fabs(out.mean - 0.7323333333333333) < 1e-14);
    assert_true(fabs(out.low - 0.47455555555555556) < 1e-14);
    assert_true(fabs(out.high - 1.1468027777777778) < 1e-14);
    assert_int_equal(bootstrap_mean(holes, 4, &out, NULL), STATUS_OK);
    assert_int_equal(out.count, 3);
    assert_true(out.mean == 2.5 && out.low == 1.0 && out.high == 4.0);
    assert_int_equal(bootstrap_mean(runs, 1, &out, NULL), STATUS_OK);
    assert_true(out.mean == .36 && out.low == .36 && out.high == .36);
    assert_int_equal(bootstrap_mean(holes + 1, 1, &out, NULL), STATUS_OK);
    assert_true(out.count == 0 && isnan(out.mean) && isnan(out.low));
    assert_int_equal(bootstrap_mean(NULL, 0, &out, NULL), STATUS_OK);
    assert_int_equal(out.count, 0);
    fault_after(0);
    assert_int_equal(bootstrap_mean(runs, 9, &out, NULL), STATUS_NO_MEMORY);
    assert_true(fault_happened());
}

static void quantiles_are_interpolated(void **state)
{
    const double sorted[] = {1, 2, 4, 8};
    assert_true(sorted_quantile(sorted, 4, 0.0) == 1.0);
    assert_true(sorted_quantile(sorted, 4, 0.5) == 3.0);
    assert_true(fabs(sorted_quantile(sorted, 4, 0.9) - 6.8) < 1e-12);
    assert_true(sorted_quantile(sorted, 4, 1.0) == 8.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edit_distance_equals_its_definition),
        cmocka_unit_test(edit_distance_is_defined_for_empty_and_long_lists),
        cmocka_unit_test(bootstrap_equals_numpy),
        cmocka_unit_test(quantiles_are_interpolated),
    };
    return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
