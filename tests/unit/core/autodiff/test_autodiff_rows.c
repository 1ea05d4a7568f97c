/* Compares operations on rows with central differences, and fused operations with their parts. */
#include "tests/unit/core/gradient.h"

#include "tests/support/unit.h"

#define TOLERANCE 1e-6

struct row_case {
    int rows, in, out;
    bool relu, bias;
    double dropout;
    struct weight *w, *b, *gain;
    int divisor, period;
    const int32_t *ids;
};

/* --- linear ------------------------------------------------------------------------------------- */

static struct tensor *build_linear(struct probe *p, const void *context)
{
    const struct row_case *c = context;
    return op_linear(&p->exec, probe_input(p, 0), c->w, c->b, c->relu, c->dropout);
}

static void linear_gradients_match_differences(void **state)
{
    static const struct row_case cases[] = {
        {.rows = 7, .in = 5, .out = 3, .bias = true},
        {.rows = 1, .in = 1, .out = 1},
        {.rows = 33, .in = 17, .out = 130, .bias = true, .relu = true},
        {.rows = 9, .in = 16, .out = 18, .bias = true, .relu = true, .dropout = 0.4},
        {.rows = 200, .in = 150, .out = 170, .bias = true}, /* a product that is computed in several blocks */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct probe p;
        struct row_case c = cases[i];
        probe_open(&p, 2, "ref");
        probe_rows(&p, c.rows, c.in, 1.0);
        c.w = probe_matrix(&p, c.out, c.in, 0.5);
        c.b = c.bias ? probe_vector(&p, c.out, 0.5) : NULL;
        probe_check(&p, build_linear, &c, TOLERANCE);
        probe_close(&p);
    }
}

/* Builds a graph that uses a weight and a tensor twice, so their gradients must be added. */
static struct tensor *build_twice(struct probe *p, const void *context)
{
    const struct row_case *c = context;
    struct tensor *x = probe_input(p, 0);
    struct tensor *y = op_linear(&p->exec, x, c->w, c->b, false, 0.0);
    y = op_linear(&p->exec, op_add(&p->exec, y, x), c->w, c->b, true, 0.0);
    return op_add(&p->exec, op_residual(&p->exec, x, y, 0.25), op_scale(&p->exec, x, 0.5));
}

static void weight_used_twice_gets_both_gradients(void **state)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    struct row_case c = {0};
    probe_rows(&p, 6, 10, 1.0);
    c.w = probe_matrix(&p, 10, 10, 0.5);
    c.b = probe_vector(&p, 10, 0.5);
    probe_check(&p, build_twice, &c, TOLERANCE);
    probe_close(&p);
}

/* A frozen weight and an input without gradient get no gradient, and all other gradients stay the same. */
static void frozen_weight_gets_no_gradient(void **state)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    struct row_case c = {0};
    probe_rows(&p, 6, 10, 1.0);
    c.w = probe_matrix(&p, 10, 10, 0.5);
    c.b = probe_vector(&p, 10, 0.5);
    probe_run(&p, build_twice, &c);
    double kept[10], input[60];
    memcpy(kept, c.b->grad, sizeof(kept));
    memcpy(input, p.inputs[0].grad, sizeof(input));
    real *grad = c.w->grad;
    c.w->grad = NULL;
    c.w->grad_ready = false;
    p.checked[0] = c.b;
    p.checked_count = 1;
    probe_run(&p, build_twice, &c);
    c.w->grad = grad;
    assert_memory_equal(kept, c.b->grad, sizeof(kept));
    assert_memory_equal(input, p.inputs[0].grad, sizeof(input));
    assert_false(c.w->grad_ready);
    probe_close(&p);
}

/* --- layer norm --------------------------------------------------------------------------------- */

static struct tensor *build_norm(struct probe *p, const void *context)
{
    const struct row_case *c = context;
    struct tensor *x = probe_input(p, 0);
    return op_add(&p->exec, x, op_layer_norm(&p->exec, x, c->gain, c->b));
}

static struct tensor *build_fused(struct probe *p, const void *context)
{
    const struct row_case *c = context;
    return op_residual_norm(&p->exec, probe_input(p, 0), probe_input(p, 1), c->dropout, c->gain, c->b);
}

static struct tensor *build_unfused(struct probe *p, const void *context)
{
    const struct row_case *c = context;
    struct tensor *sum = op_residual(&p->exec, probe_input(p, 0), probe_input(p, 1), c->dropout);
    return op_layer_norm(&p->exec, sum, c->gain, c->b);
}

static void same_gradients(struct probe *p, probe_build *one, probe_build *other, const void *context)
{
    double first = probe_run(p, one, context);
    size_t count = p->inputs[0].count;
    real *grad = malloc(2 * count * sizeof(real));
    memcpy(grad, p->inputs[0].grad, count * sizeof(real));
    memcpy(grad + count, p->inputs[1].grad, count * sizeof(real));
    double second = probe_run(p, other, context);
    assert_true(fabs(first - second) < 1e-12);
    for (size_t i = 0; i < count; i++) {
        assert_true(fabs((double)(grad[i] - p->inputs[0].grad[i])) < 1e-12);
        assert_true(fabs((double)(grad[count + i] - p->inputs[1].grad[i])) < 1e-12);
    }
    free(grad);
}

static void layer_norm_gradients_match_differences(void **state)
{
    /* the last size is computed in several chunks */
    static const int sizes[][2] = {{1, 3}, {5, 16}, {13, 33}, {600, 70}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct probe p;
        struct row_case c = {.rows = sizes[i][0], .in = sizes[i][1], .dropout = 0.3};
        probe_open(&p, 2, "ref");
        probe_rows(&p, c.rows, c.in, 1.0);
        c.gain = probe_vector(&p, c.in, 1.0);
        c.b = probe_vector(&p, c.in, 1.0);
        probe_check(&p, build_norm, &c, TOLERANCE);
        probe_rows(&p, c.rows, c.in, 1.0);
        probe_check(&p, build_fused, &c, TOLERANCE);
        same_gradients(&p, build_fused, build_unfused, &c);
        probe_close(&p);
    }
}

/* --- positions, embedding ----------------------------------------------------------------------- */

static struct tensor *build_positions(struct probe *p, const void *context)
{
    const struct row_case *c = context;
    return op_add_rows(&p->exec, probe_input(p, 0), c->w, c->divisor, c->period, c->dropout);
}

static struct tensor *build_embedding(struct probe *p, const void *context)
{
    const struct row_case *c = context;
    return op_add(&p->exec, probe_input(p, 0), op_embedding(&p->exec, c->ids, c->rows, c->w));
}

static void positional_encoding_gradients_match_differences(void **state)
{
    struct probe p;
    struct row_case c = {.divisor = 4, .period = 3, .dropout = 0.2};
    probe_open(&p, 2, "ref");
    probe_rows(&p, 24, 6, 1.0);
    c.w = probe_matrix(&p, 5, 6, 1.0);
    exec_begin(&p.exec, false, 0);
    struct tensor *y = build_positions(&p, &c);
    for (int r = 0; r < 24; r++) /* the rows are [2][3][4], and the second index selects the row of the table */
        assert_true(y->data[r * 6 + 1] == p.inputs[0].value[r * 6 + 1] + c.w->value[r / 4 % 3 * 6 + 1]);
    probe_check(&p, build_positions, &c, TOLERANCE);
    c.divisor = 1;
    c.period = 4;
    c.dropout = 0.0;
    probe_check(&p, build_positions, &c, TOLERANCE);
    probe_close(&p);
}

static void embedding_gradients_match_differences(void **state)
{
    struct probe p;
    static const int32_t ids[5] = {2, 0, 2, 2, 6};
    struct row_case c = {.rows = 5, .ids = ids};
    probe_open(&p, 2, "ref");
    probe_rows(&p, 5, 9, 1.0);
    c.w = probe_matrix(&p, 7, 9, 1.0);
    probe_check(&p, build_embedding, &c, TOLERANCE);
    for (int j = 0; j < 9; j++)
        assert_true(c.w->grad[9 + j] == R(0.0)); /* token 1 does not occur, so its row has no gradient */
    static const int32_t bad[1] = {7};
    exec_begin(&p.exec, false, 0);
    assert_null(op_embedding(&p.exec, bad, 1, c.w));
    assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
    probe_close(&p);
}

/* --- losses ------------------------------------------------------------------------------------- */

static struct tensor *build_loss(struct probe *p, const void *context)
{
    const struct row_case *c = context;
    struct tensor *x = probe_input(p, 0);
    struct tensor *loss = op_cross_entropy(&p->exec, x, c->ids);
    return op_add(&p->exec, op_scale(&p->exec, loss, 3.0), op_mean(&p->exec, op_sigmoid(&p->exec, x)));
}

static void cross_entropy_gradients_match_differences(void **state)
{
    struct probe p;
    static const int32_t targets[6] = {3, -1, 0, 4, -1, 3}, none[6] = {-1, -1, -1, -1, -1, -1};
    struct row_case c = {.ids = targets};
    probe_open(&p, 2, "ref");
    probe_rows(&p, 6, 5, 3.0);
    probe_check(&p, build_loss, &c, TOLERANCE);
    c.ids = none;
    probe_check(&p, build_loss, &c, TOLERANCE);
    exec_begin(&p.exec, true, 0);
    struct tensor *loss = op_cross_entropy(&p.exec, probe_input(&p, 0), none);
    assert_true(loss->data[0] == R(0.0));
    probe_close(&p);
}

/* Huge logits do not overflow. Their loss is the largest logit minus the target's logit. */
static void cross_entropy_of_huge_logits_is_finite(void **state)
{
    struct probe p;
    static const int32_t targets[1] = {1};
    probe_open(&p, 1, "ref");
    probe_rows(&p, 1, 3, 1.0);
    p.inputs[0].value[0] = R(1e4);
    p.inputs[0].value[1] = R(-1e4);
    p.inputs[0].value[2] = R(0.0);
    exec_begin(&p.exec, true, 0);
    struct tensor *loss = op_cross_entropy(&p.exec, probe_input(&p, 0), targets);
    assert_float_equal((float)loss->data[0], 2e4f, 1e-2f);
    probe_close(&p);
}

/* --- dropout ------------------------------------------------------------------------------------ */

static void dropout_keeps_its_share_with_independent_masks(void **state)
{
    enum { ROWS = 400, COLS = 250 };
    struct probe p;
    probe_open(&p, 2, "ref");
    probe_rows(&p, ROWS, COLS, 1.0);
    probe_rows(&p, ROWS, COLS, 0.0);
    for (int i = 0; i < ROWS * COLS; i++) {
        p.inputs[0].value[i] = R(1.0);
        p.inputs[1].value[i] = R(0.0);
    }
    real *first = malloc(sizeof(real) * ROWS * COLS);
    size_t kept[2] = {0, 0}, equal = 0;
    for (uint64_t step = 0; step < 2; step++) {
        exec_begin(&p.exec, true, step);
        struct tensor *y = op_residual(&p.exec, probe_input(&p, 1), probe_input(&p, 0), 0.1);
        for (int i = 0; i < ROWS * COLS; i++) {
            bool zero = y->data[i] == R(0.0);
            assert_true(zero || fabs((double)y->data[i] - 1.0 / 0.9) < 1e-12);
            kept[step] += !zero;
            equal += step == 1 && (first[i] == R(0.0)) == zero;
        }
        memcpy(first, y->data, sizeof(real) * ROWS * COLS);
    }
    /* Each of 100,000 elements is kept with probability 0.9. Two independent masks agree at an element with probability
     * 0.9^2 + 0.1^2 = 0.82. The tolerance is six standard deviations. */
    assert_in_range(kept[0], 90000 - 570, 90000 + 570);
    assert_in_range(kept[1], 90000 - 570, 90000 + 570);
    assert_in_range(equal, 82000 - 730, 82000 + 730);
    exec_begin(&p.exec, true, 1);
    struct tensor *again = op_residual(&p.exec, probe_input(&p, 1), probe_input(&p, 0), 0.1);
    assert_memory_equal(again->data, first, sizeof(real) * ROWS * COLS);
    struct tensor *other =
        op_residual(&p.exec, probe_input(&p, 1), probe_input(&p, 0), 0.1); /* each dropout has a stream of its own */
    assert_memory_not_equal(other->data, first, sizeof(real) * ROWS * COLS);
    exec_begin(&p.exec, false, 1);
    struct tensor *x = probe_input(&p, 0), *all = op_residual(&p.exec, probe_input(&p, 1), x, 0.1);
    assert_memory_equal(all->data, x->data, sizeof(real) * ROWS * COLS);
    free(first);
    probe_close(&p);
}

static struct tensor *build_raise(struct probe *p, const void *context)
{
    return op_sigmoid(&p->exec, op_raise(&p->exec, probe_input(p, 0), 0.75));
}

static void raising_adds_a_number_to_positive_values_alone(void **state)
{
    static const real values[5] = {R(2.0), R(0.001), R(0.0), R(-0.001), R(-3.0)},
                      raised[5] = {R(2.75), R(0.751), R(0.0), R(-0.001), R(-3.0)};
    struct probe p;
    probe_open(&p, 2, "ref");
    probe_rows(&p, 1, 5, 1.0);
    memcpy(p.inputs[0].value, values, sizeof(values));
    exec_begin(&p.exec, true, 0);
    const struct tensor *y = op_raise(&p.exec, probe_input(&p, 0), 0.75);
    assert_non_null(y);
    for (int i = 0; i < 5; i++)
        assert_true(fabs((double)(y->data[i] - raised[i])) < 1e-6);
    probe_close(&p);
}

static void gradients_of_raised_values_match_differences(void **state)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    probe_rows(&p, 6, 10, 1.0);
    probe_check(&p, build_raise, &p, TOLERANCE);
    probe_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_gradients_match_differences),
        cmocka_unit_test(weight_used_twice_gets_both_gradients),
        cmocka_unit_test(frozen_weight_gets_no_gradient),
        cmocka_unit_test(layer_norm_gradients_match_differences),
        cmocka_unit_test(positional_encoding_gradients_match_differences),
        cmocka_unit_test(embedding_gradients_match_differences),
        cmocka_unit_test(raising_adds_a_number_to_positive_values_alone),
        cmocka_unit_test(gradients_of_raised_values_match_differences),
        cmocka_unit_test(cross_entropy_gradients_match_differences),
        cmocka_unit_test(cross_entropy_of_huge_logits_is_finite),
        cmocka_unit_test(dropout_keeps_its_share_with_independent_masks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
