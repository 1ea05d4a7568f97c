/* Tests the metrics of the splicing domain: top-k accuracy, motifs that do not count, and errors of chance. */
#include "core/metrics/shuffled.h"
#include "core/metrics/ranking.h"

#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/mt19937.h"
#include "tests/support/fault.h"
#include "tests/support/topk_accuracy.h"

static double share_of(const double *scores, const uint8_t *truth, int n)
{
    static struct topk topk;
    topk_clear(&topk);
    for (int i = 0; i < n; i++)
        topk_add(&topk, scores[i], truth[i]);
    return topk_share(&topk);
}

static void topk_equals_the_value_by_hand(void **state)
{
    const double scores[10] = {.9, .8, .7, .6, .5, .4, .3, .2, .1, .05};
    uint8_t truth[10] = {1, 0, 1, 0, 0, 1, 0, 0, 0, 0};
    /* Three of the ten values are true, so the threshold is the quantile at 1 - 3/10 of the scores, a number between .6
     * and .7. Two of the three true values have a score above it. */
    assert_true(fabs(share_of(scores, truth, 10) - 2.0 / 3) < 1e-15);
    assert_true(fabs(topk_accuracy(scores, truth, 10) - 2.0 / 3) < 1e-15);
    memset(truth, 0, sizeof truth);
    assert_true(isnan(share_of(scores, truth, 10)) && isnan(topk_accuracy(scores, truth, 10)));
    truth[9] = 1;
    assert_true(share_of(scores, truth, 10) == 0 && topk_accuracy(scores, truth, 10) == 0);
}

static void topk_from_counts_is_near_the_exact_value(void **state)
{
    enum { N = 50000 };
    static double scores[N];
    static uint8_t truth[N];
    struct topk *topk = malloc(sizeof *topk);
    struct mt19937 rng;
    assert_non_null(topk);
    mt19937_init(&rng, 1);
    topk_clear(topk);
    for (int i = 0; i < N; i++) {
        truth[i] = mt19937_uniform(&rng) < 0.004;
        double logit = -8 + 5 * mt19937_uniform(&rng) + (truth[i] ? 4 * mt19937_uniform(&rng) : 0);
        scores[i] = 1 / (1 + exp(-logit));
        topk_add(topk, scores[i], truth[i]);
    }
    double exact = topk_accuracy(scores, truth, N);
    assert_true(exact > 0.2 && exact < 0.8);
    assert_true(fabs(topk_share(topk) - exact) < 0.02);
    topk_clear(topk);
    assert_true(isnan(topk_share(topk)));
    topk_add(topk, 1, 1);
    topk_add(topk, 0, 0);
    topk_add(topk, NAN, 0);
    assert_true(topk_share(topk) == 1);
    topk_add(topk, 0, 1);
    assert_true(topk_share(topk) == 0.5);
    free(topk);
}

static void folded_symbols_do_not_count(void **state)
{
    struct motif_errors errors;
    struct motif_report report;
    struct box boxes[3] = {{0, 0, 1, 0, 5, 0, 2}, {1, 0, 1, 5, 10, 0, 7}, {1, 0, 1, 10, 15, 0, 12}};
    struct motif motifs[3] = {{0, 2, 0, 1}, {0, 7, 1, 1}, {0, 20, 1, 1}};
    assert_int_equal(motif_errors_init(&errors, 2, 2, 0, NULL), STATUS_OK);
    assert_int_equal(motif_errors_add(&errors, motifs, 3, boxes, 3, NULL), STATUS_OK);
    assert_int_equal(motif_errors_report(&errors, MOTIF_BOXES, &report, NULL), STATUS_OK);
    assert_true(fabs(report.fne - 1.0 / 3) < 1e-15 && fabs(report.fpe - 1.0 / 3) < 1e-15);
    motif_errors_fold(&errors, 1);
    assert_int_equal(motif_errors_report(&errors, MOTIF_BOXES, &report, NULL), STATUS_OK);
    /* symbol 1 no longer counts, so the motif in its box becomes a false positive */
    assert_true(report.fne == 0 && fabs(report.fpe - 2.0 / 3) < 1e-15);
    assert_int_equal(report.truths, 1);
    motif_errors_close(&errors);
}

static enum status shuffled_motif_errors(const struct shuffled_sequence *sequences, int count, int first, int length,
                                         int symbols, int folded, int channels, int shuffles,
                                         struct shuffled_errors *out)
{
    struct shuffling *s;
    bool done = false;
    enum status status =
        shuffling_create(sequences, count, first, length, symbols, folded, channels, shuffles, &s, NULL);
    while (!status && !done)
        status = shuffling_next(s, &done, NULL);
    if (!status)
        status = shuffling_finish(s, out, NULL);
    shuffling_destroy(s);
    return status;
}

/* Boxes cover a share s of all positions, so a motif at a random position is in a box with probability about s. */
static void errors_of_chance_equal_their_expectation(void **state)
{
    enum { SEQUENCES = 40, LENGTH = 1000, BOXES = 10 };
    static struct box boxes[SEQUENCES][BOXES];
    static struct motif motifs[SEQUENCES][BOXES];
    struct shuffled_sequence sequence[SEQUENCES];
    struct shuffled_errors out, again, folded;
    for (int i = 0; i < SEQUENCES; i++) {
        /* the predictions are perfect; the symbols alternate between 0 and 1; boxes cover 21 of 100 positions */
        for (int j = 0; j < BOXES; j++) {
            int at = 100 + 100 * j + 50;
            boxes[i][j] = (struct box){j % 2, 0, 1, at - 10, at + 11, 0, at};
            motifs[i][j] = (struct motif){0, at, j % 2, 1.0F + (float)j};
        }
        sequence[i] = (struct shuffled_sequence){motifs[i], BOXES, boxes[i], BOXES};
    }
    assert_int_equal(shuffled_motif_errors(sequence, SEQUENCES, 100, LENGTH, 2, 2, 2, 10, &out), STATUS_OK);
    assert_true(fabs(out.fne.mean - exp(-0.21)) < 0.02); /* the probability that none of the 21 positions has a motif */
    /* a share of 0.79 of the motifs lies outside of all boxes; the error is a little larger, because in a box with
     * several motifs only one of them is right */
    assert_true(out.fpe.mean > 0.79 && out.fpe.mean < 0.83);
    /* the channels are random, so of two one-to-one matchings the better one has an error a little below one half */
    assert_true(out.ce.mean > 0.4 && out.ce.mean < 0.5);
    assert_true(out.ce.low <= out.ce.mean && out.ce.mean <= out.ce.high && out.ce.low < out.ce.high);
    assert_int_equal(out.ce.count, 10);
    assert_int_equal(shuffled_motif_errors(sequence, SEQUENCES, 100, LENGTH, 2, 2, 2, 10, &again), STATUS_OK);
    assert_true(out.fpe.mean == again.fpe.mean && out.fne.low == again.fne.low && out.ce.high == again.ce.high);
    assert_int_equal(shuffled_motif_errors(sequence, SEQUENCES, 100, LENGTH, 2, 1, 2, 10, &folded), STATUS_OK);
    assert_true(folded.fpe.mean > 0.88 && folded.fpe.mean < 0.93);
    assert_true(fabs(folded.fne.mean - out.fne.mean) < 0.03);
    motifs[3][4].col = 99;
    assert_int_equal(shuffled_motif_errors(sequence, SEQUENCES, 100, LENGTH, 2, 2, 2, 10, &out), STATUS_INVALID);
    assert_int_equal(shuffled_motif_errors(sequence, SEQUENCES, 0, LENGTH, 2, 2, 2, 0, &out), STATUS_INVALID);
}

static void failed_allocations_are_reported(void **state)
{
    struct box box = {0, 0, 1, 0, 5, 0, 2};
    struct motif motif = {0, 2, 0, 1};
    struct shuffled_sequence sequence = {&motif, 1, &box, 1};
    struct shuffled_errors out;
    for (int n = 0;; n++) {
        fault_after(n);
        enum status status = shuffled_motif_errors(&sequence, 1, 0, 10, 1, 1, 1, 2, &out);
        if (!fault_happened())
            break;
        assert_int_equal(status, STATUS_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topk_equals_the_value_by_hand),   cmocka_unit_test(topk_from_counts_is_near_the_exact_value),
        cmocka_unit_test(folded_symbols_do_not_count),     cmocka_unit_test(errors_of_chance_equal_their_expectation),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
