/* Tests the speed of a run and the estimate of its end that follows from it. */
#include <math.h>

#include "tests/support/unit.h"
#include "trainer/pace.h"

/* Reports `samples` more samples after each of `seconds` seconds. The run is `age` seconds old before the first
 * report. */
static void report(struct pace *pace, int64_t samples, int seconds, double age)
{
    for (int i = 1; i <= seconds; i++)
        pace_update(pace, samples, 1.0, age + i);
}

static void nothing_is_known_before_the_first_samples(void **state)
{
    struct pace pace = {0};
    pace_update(&pace, 0, 5.0, 5.0);
    pace_update(&pace, 10, 0.0, 5.0);
    assert_true(isnan(pace_seconds(&pace, 100)));
    assert_true(pace.recent == 0.0 && pace.steady == 0.0);
}

static void a_constant_speed_is_exact(void **state)
{
    struct pace pace = {0};
    report(&pace, 500, 300, 0);
    assert_true(fabs(pace.recent - 500) < 1e-9);
    assert_true(fabs(pace_seconds(&pace, 5000) - 10) < 1e-9);
}

static void half_a_minute_without_the_processor_barely_moves_the_end_of_a_long_run(void **state)
{
    struct pace pace = {0};
    report(&pace, 1000, 600, 0);
    report(&pace, 50, 30, 600);
    assert_true(pace.recent < 110); /* `recent`, the speed that users see, follows the last seconds */
    double seconds = pace_seconds(&pace, 100000);
    assert_true(seconds > 100 && seconds < 125); /* at the speed of the last seconds, the rest would take 2,000 s */
}

static void a_lasting_change_of_speed_moves_the_end(void **state)
{
    struct pace pace = {0};
    report(&pace, 1000, 100, 0);
    report(&pace, 100, 400, 100);
    assert_true(pace_seconds(&pace, 100000) > 900); /* at the new speed, the rest takes 1,000 s */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_before_the_first_samples),
        cmocka_unit_test(a_constant_speed_is_exact),
        cmocka_unit_test(half_a_minute_without_the_processor_barely_moves_the_end_of_a_long_run),
        cmocka_unit_test(a_lasting_change_of_speed_moves_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
