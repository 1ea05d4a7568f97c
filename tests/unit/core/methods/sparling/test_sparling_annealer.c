/* Compares the annealer with traces of the published package and with the arithmetic of Algorithm 1. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/methods/sparling/training/annealer.h"

/* cmocka has no comparison for doubles. */
#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static const struct annealer_rule paper_rule = {
    .factor = 0.75, .density_final = 4.492e-5, .target_min = 0, .target_max = 1, .decay = 1e-7};

struct point {
    int64_t step;
    double accuracy, sparsity;
};

static void follow(const struct annealer_rule *rule, double target, const struct point *points, size_t count)
{
    struct annealer a;
    struct error err = {0};
    annealer_init(&a, 0.5, target, 0);
    for (size_t i = 0; i < count; i++) {
        bool ended;
        assert_int_equal(annealer_update(&a, rule, points[i].step, points[i].accuracy, 1, false, &ended, &err),
                         STATUS_OK);
        annealer_advance(&a, rule);
        assert_near(1 - a.density, points[i].sparsity, 1e-12);
    }
}

static void validations_within_the_spacing_are_ignored(void **state)
{
    static const struct annealer_rule rule = {
        .factor = 0.1, .target_min = 0.8, .target_max = 0.8, .decay = 0, .spacing = 10};
    static const struct point points[] = {
        {100, 0.9, 0.95}, {200, 0.7, 0.95}, {300, 0.9, 0.995}, {305, 0.9, 0.995}, {311, 0.9, 0.9995}};
    follow(&rule, 0.8, points, 5);
}

static void target_falls_within_its_limits(void **state)
{
    static const struct annealer_rule rule = {.factor = 0.1, .target_min = 0.8, .target_max = 0.9, .decay = 0.01};
    static const struct point points[] = {
        {3, 0.89, 0.95}, {4, 0.875, 0.95}, {100, 0.79, 0.95}, {101, 0.83, 0.995}, {102, 0.819, 0.995}};
    follow(&rule, 0.9, points, 5);
}

/* A validation follows every 20,000 samples, and the target falls by d_T = 1e-7 per sample. So it falls by 0.002 from
 * one validation to the next. */
static void target_rises_to_the_accuracy_and_falls_again(void **state)
{
    struct annealer a;
    struct error err = {0};
    bool ended;
    annealer_init(&a, 0.5, 1, 0);
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(annealer_update(&a, &paper_rule, i * 20000, 0.5, 1, false, &ended, &err), STATUS_OK);
        assert_false(ended);
    }
    assert_near(a.target, 0.99, 1e-12);
    /* The target falls to 0.988 here. A stage ends only if the accuracy exceeds the target. */
    assert_int_equal(annealer_update(&a, &paper_rule, 120000, 0.995, 1, false, &ended, &err), STATUS_OK);
    assert_true(ended);
    assert_near(a.target, 0.995, 1e-12);
    assert_near(a.density, 0.5, 0); /* the density is not multiplied yet, because the checkpoint is saved first */
    assert_int_equal(a.pending, 1);
    annealer_advance(&a, &paper_rule);
    assert_near(a.density, 0.375, 0);
    annealer_advance(&a, &paper_rule); /* this call changes nothing, because no stage is pending */
    assert_near(a.density, 0.375, 0);
    assert_int_equal(a.stage, 1);
}

static void accuracy_equal_to_the_target_does_not_end_a_stage(void **state)
{
    static const struct annealer_rule rule = {.factor = 0.75, .target_max = 1, .decay = 0};
    struct annealer a;
    struct error err = {0};
    bool ended;
    annealer_init(&a, 0.5, 0.75, 0);
    assert_int_equal(annealer_update(&a, &rule, 10, 0.75, 1, false, &ended, &err), STATUS_OK);
    assert_false(ended);
}

/* The paper's run ends after 33 stages. The last model has the density 0.5 * 0.75^32. */
static void paper_schedule_ends_after_33_stages(void **state)
{
    struct annealer a;
    struct error err = {0};
    annealer_init(&a, 0.5, 0, 0);
    int stages = 0;
    for (;; stages++) {
        bool ended;
        int64_t samples = (stages + 1) * 20000;
        assert_int_equal(annealer_update(&a, &paper_rule, samples, 1e-3 * (stages + 1), 1, false, &ended, &err),
                         STATUS_OK);
        assert_true(ended);
        assert_int_equal(annealer_at_least(&a, &paper_rule), stages == 32);
        if (annealer_last(&a, &paper_rule))
            break;
        annealer_advance(&a, &paper_rule);
        assert_true(stages < 100);
    }
    assert_int_equal(stages, 32);
    a.pending = 0;
    assert_true(annealer_at_least(&a, &paper_rule) && !annealer_last(&a, &paper_rule));
    assert_near(a.density, 5.022621286031664e-05, 1e-18);
}

static void fewer_samples_than_before_are_refused(void **state)
{
    struct annealer a;
    struct error err = {0};
    bool ended;
    annealer_init(&a, 0.5, 1, 100);
    assert_int_equal(annealer_update(&a, &paper_rule, 99, 0.5, 1, false, &ended, &err), STATUS_INTERNAL);
}

static void plateau_ends_a_stage_only_above_its_density(void **state)
{
    struct annealer_rule rule = paper_rule;
    rule.plateau_validations = 2;
    rule.plateau_gain = 0.1;
    rule.plateau_density = 0.4;
    static const double losses[] = {1, 0.95, 0.5, 0.49, 0.48};
    static const bool ends[] = {false, false, false, false, true};
    struct annealer a;
    struct error err = {0};
    bool ended;
    annealer_init(&a, 0.5, 1, 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(annealer_update(&a, &rule, i + 1, 0, losses[i], false, &ended, &err), STATUS_OK);
        assert_int_equal(ended, ends[i]);
    }
    annealer_advance(&a, &rule);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(annealer_update(&a, &rule, 10 + i, 0, 1, false, &ended, &err), STATUS_OK);
        assert_false(ended); /* the density is 0.375, and a plateau ends a stage only above 0.4 */
    }
}

/* One validation of a case below. accuracy, loss: its results; spare: whether a channel does not lower the loss or got
 * new weights a short time ago; ends: whether the stage must end at this validation. */
struct check {
    double accuracy, loss;
    bool spare, ends;
};

/* Each stage would end at its second validation. The loss before this stage was 1, and the stage may wait twice. */
static void follow_checks(double density, const struct check *checks, size_t count)
{
    struct annealer_rule rule = paper_rule;
    struct annealer a;
    struct error err = {0};
    bool ended;
    rule.plateau_validations = 1;
    rule.plateau_gain = 0.9;
    rule.plateau_density = 1e-9;
    rule.wait = 2;
    rule.density_final = 0.25;
    annealer_init(&a, density / rule.factor, 0.9, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(annealer_update(&a, &rule, i + 1, 0, 1, true, &ended, &err), STATUS_OK);
    assert_true(ended); /* the first stage never waits */
    annealer_advance(&a, &rule);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(annealer_update(&a, &rule, 10 + (int64_t)i, checks[i].accuracy, checks[i].loss,
                                         checks[i].spare, &ended, &err),
                         STATUS_OK);
        assert_int_equal(ended, checks[i].ends);
        assert_int_equal(a.pending, checks[i].ends);
    }
    annealer_advance(&a, &rule);
    assert_int_equal(a.waited, 0);
}

static void stage_with_a_higher_loss_waits_for_a_spare_channel_until_the_limit(void **state)
{
    static const struct check limit[] = {
        {0, 1.7, true, false}, {0, 1.7, true, false}, {0, 1.7, true, false}, {0, 1.7, true, true}};
    static const struct check learned[] = {
        {0, 1.7, true, false}, {0, 1.7, true, false}, {0, 1.5, true, false}, {0, 1.5, true, true}};
    static const struct check useful[] = {{0, 1.7, true, false}, {0, 1.7, true, false}, {0, 1.7, false, true}};
    follow_checks(0.5, limit, 4);
    follow_checks(0.5, learned, 4); /* a stage that waits goes on waiting after its loss has fallen */
    follow_checks(0.5, useful, 3);
}

static void stage_does_not_wait_without_a_reason(void **state)
{
    static const struct check no_spare[] = {{0, 1.7, false, false}, {0, 1.7, false, true}};
    static const struct check no_loss[] = {{0, 1.5, true, false}, {0, 1.5, true, true}};
    static const struct check target[] = {{0, 1.7, true, false}, {0.95, 1.7, true, true}};
    static const struct check last[] = {{0, 1.7, true, false}, {0, 1.7, true, true}};
    follow_checks(0.5, no_spare, 2);
    follow_checks(0.5, no_loss, 2);
    follow_checks(0.5, target, 2);
    follow_checks(0.3, last, 2); /* the density cannot fall any more */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validations_within_the_spacing_are_ignored),
        cmocka_unit_test(target_falls_within_its_limits),
        cmocka_unit_test(target_rises_to_the_accuracy_and_falls_again),
        cmocka_unit_test(accuracy_equal_to_the_target_does_not_end_a_stage),
        cmocka_unit_test(paper_schedule_ends_after_33_stages),
        cmocka_unit_test(fewer_samples_than_before_are_refused),
        cmocka_unit_test(plateau_ends_a_stage_only_above_its_density),
        cmocka_unit_test(stage_with_a_higher_loss_waits_for_a_spare_channel_until_the_limit),
        cmocka_unit_test(stage_does_not_wait_without_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
