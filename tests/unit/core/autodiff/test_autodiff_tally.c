/* Tests the likelihood of counts (op_tally). */
#include "tests/unit/core/gradient.h"

#include <math.h>

#include "tests/support/unit.h"

#define TOLERANCE 1e-6

enum { NAMES = 3, IMAGES = 4 };

struct tally_case {
    struct map_shape shape;
    struct tally tally;
};

/* Builds the tally and a second operation that reads the same map, so the tally must add its gradient to one that
 * exists already. */
static struct tensor *build_both(struct probe *p, const void *context)
{
    const struct tally_case *c = context;
    struct exec *e = &p->exec;
    struct tensor *x = probe_input(p, 0);
    return op_add(e, op_scale(e, op_tally(e, x, &c->tally), 0.7), op_scale(e, op_mean(e, op_relu(e, x)), 10.0));
}

static struct tensor *build_tally(struct probe *p, const void *context)
{
    return op_tally(&p->exec, probe_input(p, 0), &((const struct tally_case *)context)->tally);
}

static const int32_t counts[IMAGES * NAMES] = {0, 1, 3, 2, TALLY_SOME, 9, 1, 0, 2, TALLY_SOME, 4, 1};
static const real offset[NAMES] = {R(-1.0), R(0.5), R(0.0)}, scale[NAMES] = {R(0.3), R(2.5), R(1.0)};

static void tally_gradients_match_differences(void **state)
{
    const struct map_shape shapes[] = {{IMAGES, 18, 5, 3, 1, 1}, {2, 3, 1, 37, 0, 1}, {3, NAMES, 4, 6, 1, 1}};
    for (int i = 0; i < 6; i++) {
        struct probe p;
        struct tally_case c = {shapes[i % 3], {NAMES, 9, counts, offset, i > 2 ? scale : NULL}};
        probe_open(&p, 2, "ref");
        probe_map(&p, &c.shape, 2.0);
        probe_check(&p, i % 2 ? build_tally : build_both, &c, TOLERANCE);
        probe_close(&p);
    }
}

/* Computes the probability that `count` of the positions have a motif, as a sum over all subsets of positions. */
static double by_subsets(const double *logit, int positions, int count)
{
    double sum = 0;
    for (int subset = 0; subset < 1 << positions; subset++) {
        double chance = 1;
        int size = 0;
        for (int i = 0; i < positions; i++) {
            bool in = subset >> i & 1;
            chance /= 1 + exp(in ? -logit[i] : logit[i]);
            size += in;
        }
        sum += size == count || (count == TALLY_SOME && size > 0) ? chance : 0;
    }
    return sum;
}

static void tally_equals_the_sum_over_all_subsets_of_positions(void **state)
{
    enum { POSITIONS = 8 };
    struct probe p;
    struct tally_case c = {{IMAGES, NAMES, 2, 4, 1, 1}, {NAMES, 9, counts, offset, scale}};
    double wanted = 0, logit[POSITIONS];
    probe_open(&p, 2, "ref");
    probe_map(&p, &c.shape, 3.0);
    for (int i = 0; i < IMAGES * NAMES; i++) {
        for (int j = 0; j < POSITIONS; j++)
            logit[j] = (double)p.inputs[0].value[i * POSITIONS + j] + (double)offset[i % NAMES];
        int count = counts[i] > POSITIONS ? POSITIONS : counts[i];
        wanted -= (double)scale[i % NAMES] * log(by_subsets(logit, POSITIONS, count)) / IMAGES;
    }
    exec_begin(&p.exec, true, 0);
    double value = (double)op_tally(&p.exec, probe_input(&p, 0), &c.tally)->data[0];
    assert_true(fabs(value - wanted) < 1e-6 * (1 + wanted));
    probe_close(&p);
}

/* If each of N positions has a motif with probability p, exactly n of them have one with probability binomial(N, n)
 * p^n (1 - p)^(N - n). The probability in this test is below the smallest double. */
static void tally_of_a_very_improbable_number_is_precise(void **state)
{
    enum { POSITIONS = 400, COUNT = 40 };
    static const int32_t many[1] = {COUNT};
    static const real none[1] = {R(0.0)};
    const double values[] = {-30, 30};
    for (int i = 0; i < 2; i++) {
        struct probe p;
        struct tally_case c = {{1, 1, 1, POSITIONS, 0, 1}, {1, COUNT, many, none, NULL}};
        probe_open(&p, 1, "ref");
        probe_map(&p, &c.shape, 1.0);
        for (int j = 0; j < POSITIONS; j++)
            p.inputs[0].value[j] = (real)values[i];
        double wanted = -(lgamma(POSITIONS + 1.0) - lgamma(COUNT + 1.0) - lgamma(POSITIONS - COUNT + 1.0)) +
                        COUNT * log1p(exp(-values[i])) + (POSITIONS - COUNT) * log1p(exp(values[i]));
        exec_begin(&p.exec, true, 0);
        double value = (double)op_tally(&p.exec, probe_input(&p, 0), &c.tally)->data[0];
        assert_true(fabs(value - wanted) < 1e-5 * wanted);
        probe_close(&p);
    }
}

static void tally_does_not_depend_on_the_number_of_threads(void **state)
{
    real value[2];
    for (int i = 0; i < 2; i++) {
        struct probe p;
        struct tally_case c = {{IMAGES, NAMES, 1, 61, 0, 1}, {NAMES, 9, counts, offset, scale}};
        probe_open(&p, 1 + 2 * i, "ref");
        probe_map(&p, &c.shape, 2.0);
        exec_begin(&p.exec, true, 0);
        value[i] = op_tally(&p.exec, probe_input(&p, 0), &c.tally)->data[0];
        probe_close(&p);
    }
    assert_memory_equal(&value[0], &value[1], sizeof value[0]);
}

static void tally_refuses_names_without_a_channel(void **state)
{
    struct probe p;
    struct tally_case c = {{2, 2, 3, 3, 1, 1}, {NAMES, 9, counts, offset, NULL}};
    probe_open(&p, 1, "ref");
    probe_map(&p, &c.shape, 1.0);
    exec_begin(&p.exec, true, 0);
    assert_null(op_tally(&p.exec, probe_input(&p, 0), &c.tally));
    assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
    probe_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tally_gradients_match_differences),
        cmocka_unit_test(tally_equals_the_sum_over_all_subsets_of_positions),
        cmocka_unit_test(tally_of_a_very_improbable_number_is_precise),
        cmocka_unit_test(tally_does_not_depend_on_the_number_of_threads),
        cmocka_unit_test(tally_refuses_names_without_a_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
