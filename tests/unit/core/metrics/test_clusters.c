/* Tests intervals and comparisons of grouped samples on simulated groups: the intervals have the stated coverage, which
 * intervals for independent samples miss, and the sign test finds a difference by chance as rarely as stated. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/metrics/clusters.h"
#include "core/metrics/interval.h"
#include "core/metrics/regression.h"

enum { RUNS = 1000, SAMPLES = 40 };
static const double Z = 1.96, SHARE = 0.8;

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* Simulates groups whose share of right answers is logistic(mean + deviation * normal number). Returns the share of
 * runs whose interval of the share contains SHARE. */
static double coverage(int groups, double mean, double deviation, bool grouped)
{
    int hits = 0;
    for (int run = 0; run < RUNS; run++) {
        struct philox from = philox_stream(7, (uint32_t)groups, (uint64_t)run);
        int64_t with[CLUSTERS] = {0}, of[CLUSTERS] = {0}, right = 0, all = 0;
        for (int g = 0; g < groups; g++) {
            double share = logistic(mean + deviation * philox_normal(&from, (uint64_t)g));
            for (int i = 0; i < SAMPLES; i++, all++) {
                bool hit = (double)philox_uniform(&from, (uint64_t)(1000 + all)) < share;
                with[g % CLUSTERS] += hit;
                of[g % CLUSTERS]++;
                right += hit;
            }
        }
        struct interval at =
            interval_share((double)right / (double)all, grouped ? clusters_of_share(with, of) : (double)all, Z);
        hits += at.low <= SHARE && SHARE <= at.high;
    }
    return (double)hits / RUNS;
}

/* logistic(1.83 + 1.5 z) has the mean 0.8 over normal numbers z. */
static void intervals_of_groups_have_the_stated_coverage(void **state)
{
    for (int groups = 5; groups <= 80; groups *= 2) {
        double own = coverage(groups, 1.83, 1.5, true), sample = coverage(groups, 1.83, 1.5, false);
        if (own < 0.92 || sample > 0.75)
            fail_msg("%d groups: coverage %.3f, by sample %.3f", groups, own, sample);
    }
}

static void groups_without_differences_cost_little(void **state)
{
    double own = coverage(20, log(4), 0, true), sample = coverage(20, log(4), 0, false);
    assert_true(own >= 0.93 && sample >= 0.93);
}

static void equal_groups_count_as_their_samples_and_opposite_ones_as_groups(void **state)
{
    const int64_t of[CLUSTERS] = {10, 10, 10, 10, 10, 10, 10, 10}, same[CLUSTERS] = {5, 5, 5, 5, 5, 5, 5, 5},
                  apart[CLUSTERS] = {10, 0, 10, 0, 10, 0, 10, 0}, one[CLUSTERS] = {[3] = 10},
                  right[CLUSTERS] = {[3] = 4};
    double t = interval_student(7) / Z;
    assert_true(fabs(clusters_of_share(same, of) - 80) < 1e-9);
    assert_true(fabs(clusters_of_share(apart, of) - 7 / (t * t)) <
                1e-9); /* 8 groups, of which one is lost to the mean */
    assert_true(clusters_of_share(of, of) == 8 && clusters_of_share((const int64_t[CLUSTERS]){0}, of) == 8);
    assert_true(clusters_of_share(right, one) == 10); /* a single group tells nothing about others */
    assert_true(clusters_of_share(one, (const int64_t[CLUSTERS]){0}) == 0);
}

/* Facts x and y of a sample are signs of a normal number of the group plus one of the sample. x and y are independent,
 * so the interval of their correlation must contain 0. */
static void correlations_of_groups_have_the_stated_coverage(void **state)
{
    enum { GROUPS = 20 };
    int own = 0, sample = 0, numbers = 0;
    for (int run = 0; run < RUNS; run++) {
        struct philox from = philox_stream(11, 0, (uint64_t)run);
        int64_t n[CLUSTERS] = {0}, first[CLUSTERS] = {0}, second[CLUSTERS] = {0}, both[CLUSTERS] = {0};
        struct regression sums = {0}, cluster[CLUSTERS] = {{0}};
        double a = 0, b = 0, ab = 0, all = GROUPS * SAMPLES;
        uint64_t at = 100;
        for (int g = 0; g < GROUPS; g++)
            for (int i = 0; i < SAMPLES; i++, at += 2) {
                double u = philox_normal(&from, (uint64_t)(2 * g)) + philox_normal(&from, at),
                       v = philox_normal(&from, (uint64_t)(2 * g + 1)) + philox_normal(&from, at + 1);
                n[g]++;
                first[g] += u > 0;
                second[g] += v > 0;
                both[g] += u > 0 && v > 0;
                regression_add(&sums, u, v);
                regression_add(&cluster[g], u, v);
            }
        for (int g = 0; g < GROUPS; g++) {
            a += (double)first[g];
            b += (double)second[g];
            ab += (double)both[g];
        }
        double phi = (all * ab - a * b) / sqrt(a * (all - a) * b * (all - b));
        struct interval r = interval_correlation(phi, clusters_of_phi(n, first, second, both), Z),
                        plain = interval_correlation(phi, all, Z),
                        pearson = interval_correlation(regression_pearson(&sums),
                                                       regression_pearson_samples(&sums, cluster), Z);
        own += r.low <= 0 && r.high >= 0;
        sample += plain.low <= 0 && plain.high >= 0;
        numbers += pearson.low <= 0 && pearson.high >= 0;
    }
    if (own < 0.92 * RUNS || numbers < 0.92 * RUNS || sample > 0.8 * RUNS)
        fail_msg("coverage %d of %d, of numbers %d, by sample %d", own, RUNS, numbers, sample);
}

/* The prediction is y plus noise of the group and of the sample: R squared is 1 - 0.25 in further groups. */
static void intervals_of_r_squared_have_the_stated_coverage(void **state)
{
    enum { GROUPS = 30 };
    int own = 0, sample = 0;
    for (int run = 0; run < RUNS; run++) {
        struct philox from = philox_stream(13, 0, (uint64_t)run);
        struct regression sums = {0}, cluster[CLUSTERS] = {{0}};
        uint64_t at = 100;
        for (int g = 0; g < GROUPS; g++)
            for (int i = 0; i < SAMPLES; i++, at += 2) {
                double y = philox_normal(&from, at), noise = sqrt(0.2) * philox_normal(&from, (uint64_t)g);
                noise += sqrt(0.05) * philox_normal(&from, at + 1);
                regression_add(&sums, y, y + noise);
                regression_add(&cluster[g], y, y + noise);
            }
        struct interval r2 = regression_r2_interval(&sums, cluster, Z), plain = regression_r2_interval(&sums, NULL, Z);
        own += r2.low <= 0.75 && 0.75 <= r2.high;
        sample += plain.low <= 0.75 && 0.75 <= plain.high;
    }
    if (own < 0.9 * RUNS || sample > 0.6 * RUNS)
        fail_msg("coverage %d of %d, by sample %d", own, RUNS, sample);
}

static double p_of(const int64_t *net, int count)
{
    double p;
    assert_int_equal(clusters_sign_test(net, count, &p, NULL), STATUS_OK);
    return p;
}

static void sign_test_counts_all_signs(void **state)
{
    assert_true(p_of((const int64_t[]){0, 0}, 2) == 1);
    assert_true(p_of((const int64_t[]){3, 1, 2}, 3) == 0.125);
    assert_true(p_of((const int64_t[]){-3, -1, -2}, 3) == 1);
    assert_true(p_of((const int64_t[]){3, -1, 2, 0}, 4) == 0.25); /* at least 4: +3+1+2 and +3-1+2 */
    assert_true(p_of((const int64_t[]){1, 1, 1, 1, 1, 1}, 6) == 1.0 / 64);
}

/* Each group prefers one of two models by chance, and none of the models is better. */
static void sign_test_finds_no_difference_that_single_groups_make(void **state)
{
    enum { GROUPS = 12 };
    int found = 0, mcnemar = 0;
    for (int run = 0; run < RUNS; run++) {
        struct philox from = philox_stream(17, 0, (uint64_t)run);
        int64_t net[GROUPS] = {0}, sum = 0;
        for (int g = 0; g < GROUPS; g++) {
            double share = logistic(1.5 * philox_normal(&from, (uint64_t)g));
            for (int i = 0; i < SAMPLES; i++)
                net[g] += (double)philox_uniform(&from, (uint64_t)(100 + g * SAMPLES + i)) < share ? 1 : -1;
            sum += net[g];
        }
        found += p_of(net, GROUPS) < 0.025;
        mcnemar += (double)sum > Z * sqrt(GROUPS * SAMPLES);
    }
    if (found > 0.04 * RUNS || mcnemar < 0.2 * RUNS)
        fail_msg("found %d of %d, by sample %d", found, RUNS, mcnemar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_of_groups_have_the_stated_coverage),
        cmocka_unit_test(groups_without_differences_cost_little),
        cmocka_unit_test(equal_groups_count_as_their_samples_and_opposite_ones_as_groups),
        cmocka_unit_test(correlations_of_groups_have_the_stated_coverage),
        cmocka_unit_test(intervals_of_r_squared_have_the_stated_coverage),
        cmocka_unit_test(sign_test_counts_all_signs),
        cmocka_unit_test(sign_test_finds_no_difference_that_single_groups_make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
