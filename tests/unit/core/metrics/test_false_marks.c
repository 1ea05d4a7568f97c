/* Tests the figures about false marks: against direct computation on small lists, and on simulated queries whose false
 * marks are known. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/metrics/false_marks.h"

enum { RUNS = 2000, MOST = 4096 };

/* The marks of simulated inputs. */
struct marks {
    struct false_mark mark[MOST];
    bool truth[MOST];
    int64_t count;
};

static double uniform(const struct philox *from, int64_t index)
{
    return (double)philox_uniform(from, (uint64_t)index);
}

/* Adds the false marks of an input: with the probability `share` one, and each further one with the same probability.
 * Their scores are `shift` larger than normal numbers. */
static void add_false(struct marks *marks, int64_t input, const struct philox *from, double share, double shift)
{
    for (int64_t k = 0; k < 5 && uniform(from, 100 + input * 20 + k) < share; k++) {
        marks->truth[marks->count] = false;
        marks->mark[marks->count++] =
            (struct false_mark){shift + philox_normal(from, (uint64_t)(100000 + input * 20 + k)), input, false};
    }
}

/* The negatives as struct false_marks, in the given arrays of MOST elements. */
static struct false_marks known_of(const struct marks *marks, int64_t inputs, float *score, unsigned char *rank)
{
    struct false_marks known = {.inputs = inputs, .effective = (double)inputs, .score = score, .rank = rank};
    for (int64_t i = 0; i < marks->count; i++) {
        int64_t at = known.count++;
        for (; at > 0 && (double)score[at - 1] < marks->mark[i].score; at--) {
            score[at] = score[at - 1];
            rank[at] = rank[at - 1];
        }
        score[at] = (float)marks->mark[i].score;
        rank[at] = 1;
        for (int64_t k = 0; k < marks->count; k++)
            rank[at] = (unsigned char)(rank[at] + (marks->mark[k].input == marks->mark[i].input &&
                                                   marks->mark[k].score > marks->mark[i].score));
    }
    return known;
}

static void p_counts_the_negatives_with_a_mark_as_strong(void **state)
{
    (void)state;
    const float score[] = {5, 4, 3, 2};
    const unsigned char rank[] = {1, 2, 1, 1};
    struct false_marks known = {9, 9, 4, false, score, rank};
    assert_true(false_marks_p(&known, 6) == 0.1 && false_marks_p(&known, 5) == 0.2);
    assert_true(false_marks_p(&known, 4) == 0.2 && false_marks_p(&known, 2.5) == 0.3);
    known.cut = true; /* more marks, all below 2 */
    assert_true(false_marks_p(&known, 2.5) == 0.3 && false_marks_p(&known, 2) == 1);
    known.effective = 4.5;
    assert_true(fabs(false_marks_p(&known, 3) - 2 / 5.5) < 1e-12);
    known.inputs = 0;
    assert_true(isnan(false_marks_p(&known, 3)));
}

/* The quantile agrees with the probabilities that enumerate all orders of 4 negatives and 5 inputs. */
static void quantile_agrees_with_all_orders(void **state)
{
    (void)state;
    enum { NEGATIVES = 4, INPUTS = 5, ALL = NEGATIVES + INPUTS };
    for (int g = 0; g < NEGATIVES; g++) {
        int more[INPUTS + 2] = {0}, orders = 0;
        for (unsigned order = 0; order < 1u << ALL; order++) {
            int before = 0, negatives = 0;
            if (__builtin_popcount(order) != NEGATIVES)
                continue;
            for (int i = 0; i < ALL && negatives <= g; i++) {
                negatives += (int)(order >> i & 1);
                before += (order >> i & 1) == 0;
            }
            orders++;
            for (int v = 0; v < before; v++)
                more[v]++; /* orders with more than v inputs before the negative */
        }
        for (double error = 0.01; error < 1; error += 0.0173) {
            int v = 0;
            while ((double)more[v] / orders > error)
                v++;
            assert_int_equal(false_marks_quantile(NEGATIVES, INPUTS, g, error), v);
        }
    }
}

static void q_agrees_with_its_definition(void **state)
{
    (void)state;
    static struct marks negatives, marks;
    static float score[MOST];
    static unsigned char rank[MOST];
    static double q[MOST];
    for (int run = 0; run < 20; run++) {
        struct philox from = philox_stream(3, 0, (uint64_t)run), other = philox_stream(3, 1, (uint64_t)run);
        negatives.count = marks.count = 0;
        for (int64_t i = 0; i < 30; i++) {
            add_false(&negatives, i, &from, 0.5, 0);
            add_false(&marks, i, &other, 0.6, 0.5);
        }
        struct false_marks known = known_of(&negatives, 30, score, rank);
        assert_int_equal(false_marks_q(&known, marks.mark, marks.count, 30, q, NULL), STATUS_OK);
        for (int64_t i = 0; i < marks.count; i++) {
            double least = 1;
            for (int64_t k = 0; k < marks.count; k++) {
                double t = marks.mark[k].score, strong = 0, most = 1, all = 0;
                for (int64_t j = 0; j < known.count && (double)score[j] >= t; j++, strong++)
                    most = rank[j] > most ? rank[j] : most;
                for (int64_t j = 0; j < marks.count; j++)
                    all += marks.mark[j].score >= t;
                if (t <= marks.mark[i].score)
                    least = fmin(least, 30 * (most + strong) / 31 / all);
            }
            assert_true(fabs(q[i] - least) < 1e-12);
        }
    }
}

struct trial {
    double mean;      /* mean of the realised false shares at q <= level */
    double found;     /* mean share of the true marks that are kept */
    double broken;    /* share of the runs in which the bound fails for some threshold */
    double tightness; /* mean bound of the false marks at q <= level, divided by the marks that are kept */
};

/* Simulates queries of `inputs` inputs, of which every fourth has a true mark. */
static struct trial simulate(int64_t negatives, int64_t inputs, double share, double level, int runs)
{
    static struct marks calibration, query;
    static float score[MOST];
    static unsigned char rank[MOST];
    static double q[MOST];
    struct trial trial = {0};
    for (int run = 0; run < runs; run++) {
        struct philox from = philox_stream(11, (uint32_t)negatives, (uint64_t)run),
                      other = philox_stream(12, (uint32_t)inputs, (uint64_t)run);
        calibration.count = query.count = 0;
        for (int64_t i = 0; i < negatives; i++)
            add_false(&calibration, i, &from, share, 0);
        for (int64_t i = 0; i < inputs; i++) {
            add_false(&query, i, &other, share, 0);
            if (i % 4 == 0) {
                query.truth[query.count] = true;
                query.mark[query.count++] = (struct false_mark){3 + philox_normal(&other, (uint64_t)i), i, false};
            }
        }
        struct false_marks known = known_of(&calibration, negatives, score, rank);
        assert_int_equal(false_marks_q(&known, query.mark, query.count, inputs, q, NULL), STATUS_OK);
        double kept = 0, wrong = 0, least = INFINITY;
        for (int64_t i = 0; i < query.count; i++)
            if (q[i] <= level) {
                kept++;
                wrong += !query.truth[i];
                least = fmin(least, query.mark[i].score);
            }
        trial.mean += (kept > 0 ? wrong / kept : 0) / runs;
        trial.found += (kept - wrong) / (double)((inputs + 3) / 4) / runs;
        bool broken = false;
        for (double t = 4; t >= -1; t -= 0.25) {
            int64_t bound, false_ones = 0;
            for (int64_t i = 0; i < query.count; i++)
                false_ones += query.mark[i].score >= t && !query.truth[i];
            assert_int_equal(false_marks_bound(&known, query.mark, query.count, inputs, t, 0.05, &bound, NULL),
                             STATUS_OK);
            broken |= false_ones > bound;
        }
        trial.broken += (double)broken / runs;
        int64_t bound;
        assert_int_equal(false_marks_bound(&known, query.mark, query.count, inputs, least, 0.05, &bound, NULL),
                         STATUS_OK);
        trial.tightness += (kept > 0 ? (double)bound / kept : 0) / runs;
    }
    return trial;
}

static void expected_false_share_is_below_the_nominal_one(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{20, 40}, {100, 100}, {400, 60}};
    for (int i = 0; i < 3; i++)
        for (double level = 0.05; level < 0.3; level *= 2) {
            struct trial trial = simulate(sizes[i][0], sizes[i][1], 0.3, level, RUNS / 8);
            if (trial.mean > level + 3 * sqrt(level / (RUNS / 8.0)) / 3)
                fail_msg("%d: false share %.3f at %.2f", i, trial.mean, level);
        }
}

static void bound_holds_for_all_thresholds_in_95_of_100_runs(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{20, 40}, {100, 100}, {300, 80}};
    for (int i = 0; i < 3; i++)
        for (double share = 0.1; share < 1; share += 0.4) {
            struct trial trial = simulate(sizes[i][0], sizes[i][1], share, 0.1, RUNS / 8);
            if (trial.broken > 0.05)
                fail_msg("%d: the bound fails in %.3f of the runs", i, trial.broken);
        }
}

/* With many inputs, the bound is near the share that it bounds, and most true marks are kept. */
static void bound_is_useful_with_many_negatives(void **state)
{
    (void)state;
    struct trial trial = simulate(1000, 400, 0.05, 0.1, 20);
    if (trial.found < 0.8 || trial.tightness > 0.3)
        fail_msg("found %.2f, bound %.2f of the marks", trial.found, trial.tightness);
}

/* False marks that are drawn from another distribution than the negatives break the bound: it is no constant. */
static void bound_fails_if_the_negatives_are_others(void **state)
{
    (void)state;
    static struct marks negatives, query;
    static float score[MOST];
    static unsigned char rank[MOST];
    struct philox from = philox_stream(5, 0, 0), other = philox_stream(5, 1, 0);
    int64_t bound;
    negatives.count = query.count = 0;
    for (int64_t i = 0; i < 200; i++) {
        add_false(&negatives, i, &from, 0.1, 0);
        add_false(&query, i, &other, 0.5, 2);
    }
    struct false_marks known = known_of(&negatives, 200, score, rank);
    assert_int_equal(false_marks_bound(&known, query.mark, query.count, 200, 2, 0.05, &bound, NULL), STATUS_OK);
    int64_t above = 0;
    for (int64_t i = 0; i < query.count; i++)
        above += query.mark[i].score >= 2;
    assert_true(bound < above);
}

static void without_negatives_all_marks_may_be_false(void **state)
{
    (void)state;
    const struct false_mark marks[] = {{3, 0, false}, {2, 0, false}, {1, 1, false}};
    struct false_marks none = {.inputs = 0};
    double q[3];
    int64_t bound;
    assert_int_equal(false_marks_q(&none, marks, 3, 2, q, NULL), STATUS_OK);
    assert_true(isnan(q[0]) && isnan(q[2]));
    assert_int_equal(false_marks_bound(&none, marks, 3, 2, 2, 0.05, &bound, NULL), STATUS_OK);
    assert_int_equal(bound, 2);
}

/* Weak marks near a stronger one have a q, and change no other figure. */
static void parts_of_marks_do_not_count(void **state)
{
    (void)state;
    const float score[] = {1, 0.5F};
    const unsigned char rank[] = {1, 1};
    const struct false_marks known = {99, 99, 2, false, score, rank};
    const struct false_mark marks[] = {{3, 0, false}, {2.5, 0, true}, {2, 1, false}, {0.7, 1, true}};
    const struct false_mark whole[] = {{3, 0, false}, {2, 1, false}};
    double q[4], r[2];
    int64_t bound, other;
    assert_int_equal(false_marks_q(&known, marks, 4, 2, q, NULL), STATUS_OK);
    assert_int_equal(false_marks_q(&known, whole, 2, 2, r, NULL), STATUS_OK);
    assert_true(q[0] == r[0] && q[2] == r[1] && q[1] == 0.01 && q[3] == 0.02);
    assert_int_equal(false_marks_bound(&known, marks, 4, 2, 0, 0.05, &bound, NULL), STATUS_OK);
    assert_int_equal(false_marks_bound(&known, whole, 2, 2, 0, 0.05, &other, NULL), STATUS_OK);
    assert_int_equal(bound, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p_counts_the_negatives_with_a_mark_as_strong),
        cmocka_unit_test(quantile_agrees_with_all_orders),
        cmocka_unit_test(q_agrees_with_its_definition),
        cmocka_unit_test(expected_false_share_is_below_the_nominal_one),
        cmocka_unit_test(bound_holds_for_all_thresholds_in_95_of_100_runs),
        cmocka_unit_test(bound_is_useful_with_many_negatives),
        cmocka_unit_test(bound_fails_if_the_negatives_are_others),
        cmocka_unit_test(parts_of_marks_do_not_count),
        cmocka_unit_test(without_negatives_all_marks_may_be_false),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
