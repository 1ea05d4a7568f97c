/* Tests boosted trees, disentanglement, supports, rankings and regressions with reference values and with cases whose
 * answer is known. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/metrics/dci.h"
#include "core/metrics/logistic.h"
#include "core/metrics/ranking.h"
#include "core/metrics/identify.h"
#include "tests/support/fault.h"

#define assert_near(x, y, tolerance) assert_true(fabs((x) - (y)) < (tolerance))

static void disentanglement_equals_reference_values(void **state)
{
    static const double same[] = {1, 0, 0, 1}, mixed[] = {.9, .1, .1, .9}, three[] = {.8, .1, .2, .1, 0, .8};
    static const double nothing[] = {0, 0, 0, 0};
    assert_near(dci_disentanglement(same, 2, 2), 1, 1e-9);
    assert_near(dci_disentanglement(mixed, 2, 2), 0.531004, 1e-6);
    assert_near(dci_disentanglement(three, 3, 2), 0.635789, 1e-6);
    assert_near(dci_disentanglement(nothing, 2, 2), 0, 1e-12);
    assert_true(isnan(dci_disentanglement(same, 2, 1)));
}

/* A single tree of depth 1 with learning rate 1 equals the best of all splits, which the test finds by trying each. */
static void a_stump_is_the_best_split(void **state)
{
    enum { N = 40, COLUMNS = 3 };
    struct philox from = philox_stream(5, 1, 0);
    for (int trial = 0; trial < 20; trial++) {
        float x[N * COLUMNS];
        double y[N], importance[COLUMNS], error, best = HUGE_VAL;
        struct error err = {0};
        int column = -1;
        /* integers below 9, so that many ties occur */
        for (int i = 0; i < N * COLUMNS; i++)
            x[i] = (float)(int)(philox_uniform(&from, (uint64_t)(trial * 1000 + i)) * 9);
        for (int i = 0; i < N; i++)
            y[i] = (double)philox_uniform(&from, (uint64_t)(trial * 1000 + 500 + i)) + 0.2 * (double)x[i * COLUMNS + 1];
        for (int c = 0; c < COLUMNS; c++)
            for (float cut = 0.5f; cut < 9; cut++) {
                double sum[2] = {0}, squares = 0;
                int count[2] = {0};
                for (int i = 0; i < N; i++) {
                    int side = x[i * COLUMNS + c] > cut;
                    sum[side] += y[i];
                    squares += y[i] * y[i];
                    count[side]++;
                }
                for (int side = 0; side < 2; side++)
                    squares -= count[side] ? sum[side] * sum[side] / count[side] : 0;
                if (count[0] && count[1] && squares / N < best - 1e-12) {
                    best = squares / N;
                    column = c;
                }
            }
        struct boosting how = {1, 1, 1};
        assert_int_equal(boosting_importance(&how, N, COLUMNS, x, y, NULL, importance, &error, &err), STATUS_OK);
        assert_near(error, best, 1e-9);
        assert_near(importance[column], 1, 1e-12);
    }
}

static void trees_find_the_columns_that_matter(void **state)
{
    enum { N = 300, COLUMNS = 4 };
    static float x[N * COLUMNS];
    static double y[N];
    double importance[COLUMNS], error, mean = 0, variance = 0;
    struct philox from = philox_stream(6, 1, 0);
    struct error err = {0};
    for (int i = 0; i < N * COLUMNS; i++)
        x[i] = (float)philox_normal(&from, (uint64_t)i);
    for (int i = 0; i < N; i++) {
        y[i] = 3 * (double)x[i * COLUMNS] + sin(2 * (double)x[i * COLUMNS + 2]);
        mean += y[i] / N;
    }
    for (int i = 0; i < N; i++)
        variance += (y[i] - mean) * (y[i] - mean) / N;
    assert_int_equal(boosting_importance(&BOOSTING_DEFAULT, N, COLUMNS, x, y, NULL, importance, &error, &err),
                     STATUS_OK);
    assert_true(importance[0] > 0.8 && importance[2] > importance[1] && importance[2] > importance[3]);
    assert_true(error < 0.02 * variance);
    for (int i = 0; i < N; i++)
        y[i] = 4;
    assert_int_equal(boosting_importance(&BOOSTING_DEFAULT, N, COLUMNS, x, y, NULL, importance, &error, &err),
                     STATUS_OK);
    assert_near(importance[0] + importance[1] + importance[2] + importance[3] + error, 0, 1e-15);
    assert_int_equal(boosting_importance(&(struct boosting){1, 99, 1}, N, COLUMNS, x, y, NULL, importance, NULL, &err),
                     STATUS_INVALID);
}

/* The codes are the factors in another order. One more code is noise. */
static void codes_that_are_factors_score_highest(void **state)
{
    enum { N = 400 };
    static float codes[N * 3], truth[N * 2];
    static const unsigned char support[] = {1, 0, 1, 0, 0, 1, 1, 1};
    const float mask[] = {0, 0, 2, 0, 0, -1, 0.5f, 0, 0, 1, 0, 1};
    const float wrong[] = {0, 0, 2, 0, 0, 0, 0.5f, 3, 0, 1, 0, 1};
    struct philox from = philox_stream(7, 1, 0);
    struct error err = {0};
    struct support_score score;
    double dci, table[6];
    for (int i = 0; i < N; i++) {
        for (int f = 0; f < 2; f++)
            truth[i * 2 + f] = (float)philox_normal(&from, (uint64_t)(i * 2 + f));
        codes[i * 3] = -2 * truth[i * 2 + 1];
        codes[i * 3 + 1] = (float)philox_normal(&from, (uint64_t)(4000 + i));
        codes[i * 3 + 2] = 0.3f * truth[i * 2];
    }
    assert_int_equal(dci_score(codes, truth, N, 3, 2, NULL, table, &dci, &err), STATUS_OK);
    assert_true(dci > 0.95 && table[2 * 2] > 0.98 && table[1] > 0.98);
    assert_int_equal(support_compare(mask, support, 4, 3, 2, codes, truth, N, NULL, &score, &err), STATUS_OK);
    assert_near(score.f1, 1, 1e-12);
    assert_near(score.hamming, 0, 1e-12);
    assert_int_equal(score.used, 2);
    assert_int_equal(support_compare(wrong, support, 4, 3, 2, codes, truth, N, NULL, &score, &err), STATUS_OK);
    assert_near(score.f1, 2 * 4 / (2 * 4 + 2.0), 1e-12);
    assert_near(score.hamming, 2 / 12.0, 1e-12);
    assert_int_equal(score.used, 3);
}

static void rankings_equal_reference_values(void **state)
{
    static const float likes[] = {0, 1, 0, 1, 0, 0, 1, 0}, perfect[] = {0, 3, 0, 2, 0, 0, 1, 0};
    static const float one[] = {0, 0, 0, 0, 0, 1, 0, 0}, falling[] = {8, 7, 6, 5, 4, 3, 2, 1}, none[8] = {0};
    struct ranking r;
    struct error err = {0};
    assert_int_equal(ranking_row(perfect, likes, 8, 5, 10, &r, &err), STATUS_OK);
    assert_near(r.recall, 1, 1e-12);
    assert_near(r.ndcg, 1, 1e-12);
    assert_int_equal(ranking_row(falling, one, 8, 5, 10, &r, &err), STATUS_OK); /* the user likes only the sixth item */
    assert_near(r.recall, 0, 1e-12);
    assert_near(r.ndcg, 1 / log2(7), 1e-12);
    /* the user likes the second, fourth and seventh item */
    assert_int_equal(ranking_row(falling, likes, 8, 2, 4, &r, &err), STATUS_OK);
    assert_near(r.recall, 0.5, 1e-12);
    assert_near(r.ndcg, (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3) + 0.5), 1e-12);
    assert_int_equal(ranking_row(falling, none, 8, 5, 10, &r, &err), STATUS_OK);
    assert_true(isnan(r.recall) && isnan(r.ndcg));
    assert_int_equal(ranking_row(falling, likes, 8, 0, 10, &r, &err), STATUS_INVALID);
}

/* Fits a logistic regression. At its solution, the gradient of the objective is zero. Its cross-validated accuracy is
 * high for classes that differ, and low for random labels. */
static void logistic_regressions_reach_their_minimum(void **state)
{
    enum { N = 300, COLUMNS = 3, CLASSES = 3 };
    static float x[N * COLUMNS];
    static int label[N];
    struct philox from = philox_stream(8, 1, 0);
    struct error err = {0};
    struct logistic fit;
    double accuracy, slopes[CLASSES * (COLUMNS + 1)] = {0};
    for (int i = 0; i < N; i++) {
        label[i] = i % CLASSES;
        for (int j = 0; j < COLUMNS; j++)
            x[i * COLUMNS + j] = (float)(philox_normal(&from, (uint64_t)(i * COLUMNS + j)) + 3 * (label[i] == j));
    }
    assert_int_equal(logistic_fit(x, label, NULL, N, COLUMNS, CLASSES, 1, NULL, &fit, &err), STATUS_OK);
    for (int i = 0; i < N; i++) {
        double p[CLASSES], sum = 0;
        for (int k = 0; k < CLASSES; k++) {
            const double *b = fit.weights + k * (COLUMNS + 1);
            p[k] = b[COLUMNS];
            for (int j = 0; j < COLUMNS; j++)
                p[k] += b[j] * (double)x[i * COLUMNS + j];
            sum += p[k] = exp(p[k]);
        }
        for (int k = 0; k < CLASSES; k++)
            for (int j = 0; j <= COLUMNS; j++)
                slopes[k * (COLUMNS + 1) + j] +=
                    (p[k] / sum - (label[i] == k)) * (j < COLUMNS ? (double)x[i * COLUMNS + j] : 1);
    }
    for (int k = 0; k < CLASSES; k++)
        for (int j = 0; j <= COLUMNS; j++)
            assert_near(slopes[k * (COLUMNS + 1) + j] + (j < COLUMNS ? fit.weights[k * (COLUMNS + 1) + j] : 0), 0,
                        0.01);
    logistic_close(&fit);
    assert_int_equal(logistic_accuracy(x, label, N, COLUMNS, CLASSES, 5, NULL, &accuracy, &err), STATUS_OK);
    assert_true(accuracy > 0.9 && accuracy < 1);
    for (int i = 0; i < N; i++)
        label[i] = (int)(philox_u32(&from, (uint64_t)(100000 + i)) % CLASSES);
    assert_int_equal(logistic_accuracy(x, label, N, COLUMNS, CLASSES, 5, NULL, &accuracy, &err), STATUS_OK);
    assert_true(accuracy < 0.5);
}

/* Every failed allocation is reported, and nothing leaks. */
static void failed_allocations_are_reported(void **state)
{
    static float codes[50 * 2], truth[50 * 2];
    static const unsigned char support[] = {1, 0, 0, 1};
    const float mask[] = {1, 0, 0, 1};
    static int label[50];
    struct support_score score;
    double dci;
    for (int i = 0; i < 50; i++)
        label[i] = i % 2;
    for (int i = 0; i < 100; i++)
        codes[i] = truth[i] = (float)((i * 37) % 17);
    for (int n = 0;; n++) {
        struct error err = {0};
        fault_after(n);
        enum status status = dci_score(codes, truth, 50, 2, 2, NULL, NULL, &dci, &err);
        if (!status)
            status = support_compare(mask, support, 2, 2, 2, codes, truth, 50, NULL, &score, &err);
        if (!status)
            status = logistic_accuracy(codes, label, 50, 2, 2, 2, NULL, &dci, &err);
        if (!fault_happened()) {
            assert_int_equal(status, STATUS_OK);
            break;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disentanglement_equals_reference_values),
        cmocka_unit_test(a_stump_is_the_best_split),
        cmocka_unit_test(trees_find_the_columns_that_matter),
        cmocka_unit_test(codes_that_are_factors_score_highest),
        cmocka_unit_test(rankings_equal_reference_values),
        cmocka_unit_test(logistic_regressions_reach_their_minimum),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
