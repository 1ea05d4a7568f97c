/* Tests the operations for numbers as targets: the squared error, and sums of groups of rows. */
#include "tests/unit/core/gradient.h"

#include <math.h>

#include "tests/support/unit.h"

#define TOLERANCE 1e-6

enum { ROWS = 12, COLS = 5 };

static const real target[ROWS * COLS] = {R(0.5), R(-1.0), R(2.0), R(0.25), R(-0.75), R(1.5)};

/* Builds the loss and a second operation that reads the same numbers, so the loss must add its gradient to one that
 * exists already. */
static struct tensor *build_error(struct probe *p, const void *context)
{
    struct exec *e = &p->exec;
    struct tensor *y = probe_input(p, 0);
    return op_add(e, op_scale(e, op_squared_error(e, y, target), 0.7), op_mean(e, y));
}

static struct tensor *build_groups(struct probe *p, const void *context)
{
    struct exec *e = &p->exec;
    struct tensor *x = probe_input(p, 0);
    return op_add(e, op_squared_error(e, op_sum_groups(e, x, *(const int *)context), target), op_mean(e, x));
}

struct odds_case {
    struct weight *gain, *bias;
};

static struct tensor *build_odds(struct probe *p, const void *context)
{
    const struct odds_case *c = context;
    struct exec *e = &p->exec;
    struct tensor *x = probe_input(p, 0);
    return op_add(e, op_squared_error(e, op_odds(e, x, c->gain, c->bias), target), op_mean(e, x));
}

static void gradients_match_differences(void **state)
{
    static const int groups[] = {1, 3, 4, ROWS};
    struct probe p;
    probe_open(&p, 2, "ref");
    probe_rows(&p, ROWS, COLS, 1);
    probe_check(&p, build_error, NULL, TOLERANCE);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        probe_check(&p, build_groups, &groups[i], TOLERANCE);
    const struct odds_case odds = {probe_vector(&p, COLS, 1), probe_vector(&p, COLS, 1)};
    probe_check(&p, build_odds, &odds, TOLERANCE);
    probe_close(&p);
}

static void values_equal_their_formulas(void **state)
{
    struct probe p;
    probe_open(&p, 1, "ref");
    int x = probe_rows(&p, ROWS, COLS, 1);
    (void)probe_run(&p, build_error, NULL);
    exec_begin(&p.exec, false, 0);
    struct tensor *rows = tensor_wrap_rows(&p.exec, p.inputs[x].value, ROWS, COLS, false);
    double mean = 0;
    for (int i = 0; i < ROWS * COLS; i++)
        mean += pow((double)(p.inputs[x].value[i] - target[i]), 2) / (ROWS * COLS);
    assert_true(fabs((double)op_squared_error(&p.exec, rows, target)->data[0] - mean) < 1e-12);
    const struct tensor *sums = op_sum_groups(&p.exec, rows, 4);
    assert_true(sums->rows == 3 && sums->cols == COLS);
    for (int group = 0; group < 3; group++)
        for (int c = 0; c < COLS; c++) {
            double sum = 0;
            for (int row = 4 * group; row < 4 * group + 4; row++)
                sum += (double)p.inputs[x].value[row * COLS + c];
            assert_true(fabs((double)sums->data[group * COLS + c] - sum) < 1e-12);
        }
    probe_close(&p);
}

static void odds_are_a_sigmoid_for_each_column(void **state)
{
    struct probe p;
    probe_open(&p, 1, "ref");
    int x = probe_rows(&p, ROWS, COLS, 3);
    const struct odds_case odds = {probe_vector(&p, COLS, 1), probe_vector(&p, COLS, 1)};
    exec_begin(&p.exec, false, 0);
    struct tensor *rows = tensor_wrap_rows(&p.exec, p.inputs[x].value, ROWS, COLS, false);
    const struct tensor *out = op_odds(&p.exec, rows, odds.gain, odds.bias);
    for (int i = 0; i < ROWS * COLS; i++) {
        double z = (double)(odds.gain->value[i % COLS] * p.inputs[x].value[i] + odds.bias->value[i % COLS]);
        assert_true(fabs((double)out->data[i] - 1 / (1 + exp(-z))) < 1e-12);
    }
    assert_null(op_odds(&p.exec, rows, probe_vector(&p, COLS + 1, 1), odds.bias));
    assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
    probe_close(&p);
}

static void groups_that_do_not_divide_the_rows_are_refused(void **state)
{
    struct probe p;
    probe_open(&p, 1, "ref");
    int x = probe_rows(&p, ROWS, COLS, 1);
    for (int each = 0; each <= 5; each += 5) {
        exec_begin(&p.exec, false, 0);
        assert_null(op_sum_groups(&p.exec, tensor_wrap_rows(&p.exec, p.inputs[x].value, ROWS, COLS, false), each));
        assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
    }
    probe_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(values_equal_their_formulas),
        cmocka_unit_test(odds_are_a_sigmoid_for_each_column),
        cmocka_unit_test(groups_that_do_not_divide_the_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
