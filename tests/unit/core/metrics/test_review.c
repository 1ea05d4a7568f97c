/* Tests the estimate of the false share from a review: the exact interval against every distribution of unequal trials
 * that could hurt it, and simulated reviews of marks whose truth is known. */
#include <math.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/metrics/review.h"
#include "tests/support/unit.h"

enum { MARKS = 500, RUNS = 400 };

/* A list of marks with their truth: names take turns, and each name has its own false share, which grows with q. */
struct list {
    bool wrong[MARKS];
    int name[MARKS];
    double q[MARKS];
    int64_t marks;
};

static struct list make_list(int64_t marks, int names, double share, uint64_t seed)
{
    const struct philox random = philox_stream(seed, 1, 0);
    struct list list = {.marks = marks};
    for (int64_t i = 0; i < marks; i++) {
        list.name[i] = (int)(i * names / marks);
        double first = ceil((double)list.name[i] * (double)marks / names), place = (double)i - first;
        list.q[i] = place / ((double)marks / names);
        list.wrong[i] = (double)philox_uniform(&random, (uint64_t)i) < 2 * share * list.q[i];
    }
    return list;
}

static double share_of(const struct list *list, int name)
{
    double wrong = 0, all = 0;
    for (int64_t i = 0; i < list->marks; i++) {
        all += name < 0 || list->name[i] == name;
        wrong += (name < 0 || list->name[i] == name) && list->wrong[i];
    }
    return wrong / all;
}

/* Answers the first `count` draws truthfully; each `unsure`-th one with unsure. */
static void answer(const struct list *list, uint64_t seed, int64_t count, int unsure, unsigned char *answers)
{
    memset(answers, REVIEW_NONE, MARKS);
    for (int64_t k = 0; k < count; k++) {
        int64_t mark = review_draw(list->marks, seed, k);
        answers[mark] = list->wrong[mark] ? REVIEW_NO : REVIEW_YES;
        if (unsure > 0 && k % unsure == 0)
            answers[mark] = REVIEW_UNSURE;
    }
}

static void interval_of_equal_trials_is_that_of_clopper_and_pearson(void **state)
{
    (void)state;
    struct interval none = review_interval(0, 20, 0.05), two = review_interval(2, 20, 0.05),
                    all = review_interval(20, 20, 0.05);
    assert_true(none.low == 0 && fabs(none.high - 0.168433) < 1e-6);
    assert_true(fabs(two.low - 0.012349) < 1e-6 && fabs(two.high - 0.316983) < 1e-6);
    assert_true(fabs(all.low - 0.831567) < 1e-6 && all.high == 1);
    assert_true(review_interval(0, 0, 0.05).low == 0 && review_interval(0, 0, 0.05).high == 1);
}

/* The probability that the interval covers the mean of the shares: by the exact distribution of the sum. */
static double coverage(const double *share, int count, const struct interval *intervals)
{
    double distribution[64] = {1}, mean = 0, covered = 0;
    for (int i = 0; i < count; i++) {
        mean += share[i];
        for (int k = i + 1; k >= 0; k--)
            distribution[k] = distribution[k] * (1 - share[i]) + (k > 0 ? distribution[k - 1] * share[i] : 0);
    }
    mean /= count;
    for (int k = 0; k <= count; k++) {
        struct interval interval = intervals[k];
        if (interval.low <= mean && mean <= interval.high)
            covered += distribution[k];
    }
    return covered;
}

static void interval_covers_the_mean_of_unequal_trials(void **state)
{
    (void)state;
    double least = 1;
    for (int count = 1; count <= 40; count += 3) {
        struct interval intervals[41];
        for (int k = 0; k <= count; k++)
            intervals[k] = review_interval(k, count, 0.05);
        for (int equal = 0; equal <= 400; equal++) {
            double share[40];
            for (int i = 0; i < count; i++)
                share[i] = equal / 400.0;
            least = fmin(least, coverage(share, count, intervals));
        }
        for (uint64_t seed = 0; seed < 400; seed++) {
            const struct philox random = philox_stream(seed, 2, 0);
            double share[40], power = exp(4 * (double)philox_uniform(&random, 99) - 2);
            for (int i = 0; i < count; i++)
                share[i] = pow((double)philox_uniform(&random, (uint64_t)i), power);
            least = fmin(least, coverage(share, count, intervals));
        }
        for (int step = 1; step <= 500; step++) { /* one doubtful trial among certain ones: the extreme of Hoeffding */
            double share[40] = {step / 10000.0};
            least = fmin(least, coverage(share, count, intervals));
            for (int i = 0; i < count; i++)
                share[i] = 1 - share[i];
            least = fmin(least, coverage(share, count, intervals));
        }
    }
    assert_true(least >= 0.95);
}

static void draws_take_one_mark_of_each_stratum(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++)
        for (int64_t block = 0; block < 3; block++) {
            int seen[REVIEW_BLOCK] = {0};
            for (int64_t k = 0; k < REVIEW_BLOCK; k++)
                seen[review_draw(400, seed, block * REVIEW_BLOCK + k) / 20]++;
            for (int s = 0; s < REVIEW_BLOCK; s++)
                assert_int_equal(seen[s], 1);
        }
    assert_int_equal(review_draw(7, 3, 11), review_draw(7, 3, 11));
    assert_true(review_draw(1, 5, 0) == 0 && review_draw(3, 5, 19) < 3);
}

static void every_mark_is_drawn_equally_often(void **state)
{
    (void)state;
    enum { N = 33, SEEDS = 4000 };
    int drawn[N] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int64_t k = 0; k < 7; k++) /* a part of a block */
            drawn[review_draw(N, seed, k)]++;
    for (int i = 0; i < N; i++)
        assert_true(fabs(drawn[i] - 7.0 * SEEDS / N) < 5 * sqrt(7.0 * SEEDS / N));
}

/* Share of simulated reviews whose interval covers the truth, of all marks and of the first name; *bias: mean of the
 * estimate minus the truth. */
static void simulate(const struct list *list, int64_t count, int unsure, double covered[2], double *bias)
{
    unsigned char answers[MARKS];
    bool inside[MARKS];
    double truth = share_of(list, -1), first = share_of(list, 0);
    covered[0] = covered[1] = *bias = 0;
    for (int64_t i = 0; i < list->marks; i++)
        inside[i] = list->name[i] == 0;
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        const struct review review = {list->marks, answers, seed, count};
        struct review_estimate all, part;
        answer(list, seed, count, unsure, answers);
        review_estimate(&review, NULL, 0.05, &all);
        review_estimate(&review, inside, 0.05, &part);
        covered[0] += (all.interval.low <= truth && truth <= all.interval.high) / (double)RUNS;
        covered[1] += (part.interval.low <= first && first <= part.interval.high) / (double)RUNS;
        *bias += (all.share - truth) / RUNS;
        assert_int_equal(all.answers, count);
    }
}

static void interval_covers_the_truth_in_19_of_20_reviews(void **state)
{
    (void)state;
    /* 0.945: less than 400 reviews can tell from 0.95 */
    static const int64_t marks[] = {31, 437}, counts[] = {7, 20, 33};
    static const double shares[] = {0.02, 0.1, 0.4};
    for (size_t m = 0; m < 2; m++)
        for (size_t c = 0; c < 3; c++)
            for (size_t s = 0; s < 3; s++) {
                struct list list = make_list(marks[m], 3, shares[s], m * 100 + s);
                double covered[2], bias;
                simulate(&list, counts[c], 0, covered, &bias);
                assert_true(covered[0] >= 0.945 && covered[1] >= 0.945);
                assert_true(fabs(bias) < 4 * 0.5 / sqrt((double)counts[c] * RUNS));
            }
}

static void unsure_answers_widen_the_interval(void **state)
{
    (void)state;
    struct list list = make_list(400, 4, 0.2, 1);
    double covered[2], bias;
    simulate(&list, 20, 5, covered, &bias);
    assert_true(covered[0] >= 0.95);
    unsigned char answers[MARKS];
    struct review_estimate sure, unsure;
    const struct review review = {list.marks, answers, 3, 20};
    answer(&list, 3, 20, 0, answers);
    review_estimate(&review, NULL, 0.05, &sure);
    answer(&list, 3, 20, 4, answers);
    review_estimate(&review, NULL, 0.05, &unsure);
    assert_int_equal(unsure.unsure, 5);
    assert_true(unsure.interval.low <= sure.interval.low && unsure.interval.high > sure.interval.high);
    assert_true(unsure.interval.low <= unsure.share && unsure.share <= unsure.interval.high);
}

static void skipped_draws_count_as_unsure(void **state)
{
    (void)state;
    struct list list = make_list(400, 4, 0.2, 1);
    unsigned char answers[MARKS] = {0};
    struct review_estimate out;
    const struct review review = {list.marks, answers, 3, 20};
    review_estimate(&review, NULL, 0.05, &out);
    assert_true(out.answers == 0 && isnan(out.share) && out.interval.low == 0 && out.interval.high == 1);
    answers[review_draw(400, 3, 9)] = REVIEW_YES;
    review_estimate(&review, NULL, 0.05, &out);
    assert_true(out.answers == 10 && out.yes == 1 && out.unsure == 9 && out.share == 0);
    assert_true(out.interval.low == 0 && fabs(out.interval.high - review_interval(9, 10, 0.05).high) < 1e-12);
}

static void share_is_known_when_all_marks_have_answers(void **state)
{
    (void)state;
    struct list list = make_list(10, 2, 0.4, 5);
    unsigned char answers[MARKS];
    struct review_estimate out;
    const struct review review = {list.marks, answers, 0, 20};
    for (int64_t i = 0; i < list.marks; i++)
        answers[i] = list.wrong[i] ? REVIEW_NO : REVIEW_YES;
    review_estimate(&review, NULL, 0.05, &out);
    assert_true(out.exact && out.share == share_of(&list, -1));
    assert_true(out.interval.low == out.share && out.interval.high == out.share);
    answers[4] = REVIEW_UNSURE;
    review_estimate(&review, NULL, 0.05, &out);
    assert_true(!out.exact && out.interval.high > out.interval.low);
}

static void threshold_keeps_most_marks_with_the_wanted_share(void **state)
{
    (void)state;
    static const double limits[] = {0.2, 0.5, 0.8, 1};
    struct list list = make_list(400, 4, 0.5, 2);
    unsigned char answers[MARKS];
    bool room[MARKS];
    int found = 0, held = 0;
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        const struct review review = {list.marks, answers, seed, 40};
        struct review_threshold out;
        double wrong = 0, kept = 0;
        answer(&list, seed, 40, 0, answers);
        if (!review_threshold(&review, list.q, limits, 4, 0.25, 0.05, room, &out))
            continue;
        for (int64_t i = 0; i < list.marks; i++) {
            kept += list.q[i] <= out.limit;
            wrong += list.q[i] <= out.limit && list.wrong[i];
        }
        found++;
        assert_true(out.estimate.share <= 0.25 && out.estimate.marks == (int64_t)kept);
        held += out.estimate.interval.low <= wrong / kept && wrong / kept <= out.estimate.interval.high;
    }
    assert_true(found > RUNS / 2 && held >= 0.95 * found);
    memset(answers, REVIEW_NONE, sizeof answers);
    const struct review unanswered = {list.marks, answers, 0, 40};
    struct review_threshold out;
    assert_false(review_threshold(&unanswered, list.q, limits, 4, 0.25, 0.05, room, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_of_equal_trials_is_that_of_clopper_and_pearson),
        cmocka_unit_test(interval_covers_the_mean_of_unequal_trials),
        cmocka_unit_test(draws_take_one_mark_of_each_stratum),
        cmocka_unit_test(every_mark_is_drawn_equally_often),
        cmocka_unit_test(interval_covers_the_truth_in_19_of_20_reviews),
        cmocka_unit_test(unsure_answers_widen_the_interval),
        cmocka_unit_test(skipped_draws_count_as_unsure),
        cmocka_unit_test(share_is_known_when_all_marks_have_answers),
        cmocka_unit_test(threshold_keeps_most_marks_with_the_wanted_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
