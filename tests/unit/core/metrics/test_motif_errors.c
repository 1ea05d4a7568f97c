/* Tests motif errors by boxes and by windows: pictures counted by hand, the definitions on random maps, and the error
 * of the proof. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/metrics/motif_errors.h"
#include "tests/support/fault.h"

#define SYMBOLS 3
#define CHANNELS 4
#define ROWS 24
#define COLS 30
#define REACH 5
#define NONE_SYMBOL SYMBOLS
#define NONE_CHANNEL CHANNELS

static int64_t at(const struct motif_errors *errors, enum motif_form form, int symbol, int channel)
{
    const int64_t *matrix = form == MOTIF_BOXES ? errors->boxes : errors->windows;
    return matrix[symbol * (CHANNELS + 1) + channel];
}

static struct box box_of(int symbol, int row, int col)
{
    return (struct box){symbol, row - 2, row + 3, col - 2, col + 3, row, col};
}

/* One picture whose errors are counted by hand. Boxes are 5 x 5 and windows 11 x 11.
 *
 * - A is symbol 0 at (6, 6). Its box contains a motif of channel 2 with value 1.0 and one of channel 0 with 0.5.
 * - B is symbol 1 at (6, 9). Its box overlaps A's. The motif at (6, 8) is in both boxes; by boxes it belongs to A.
 * - C is symbol 2 at (18, 20). Its box contains no motif. Its window contains one of channel 1 at (18, 24).
 *
 * One more motif, of channel 3 at (0, 29), is in no box and no window. */
static const struct box by_hand_boxes[] = {{0, 4, 9, 4, 9, 6, 6}, {1, 4, 9, 7, 12, 6, 9}, {2, 16, 21, 18, 23, 18, 20}};
static const struct motif by_hand[] = {
    {6, 6, 0, 0.5F}, {18, 24, 1, 0.7F}, {6, 8, 2, 1.0F}, {0, 29, 3, 0.1F}, {5, 5, 3, 0.0F},
};

static void counts_equal_those_made_by_hand(void **state)
{
    struct motif_errors errors;
    struct motif_report report;
    assert_int_equal(motif_errors_init(&errors, SYMBOLS, CHANNELS, REACH, NULL), STATUS_OK);
    assert_int_equal(motif_errors_add(&errors, by_hand, 5, by_hand_boxes, 3, NULL), STATUS_OK);
    assert_int_equal(errors.samples, 1);
    assert_int_equal(errors.motifs, 4);

    /* in box A, the value 1.0 of channel 2 is larger than the 0.5 of channel 0 */
    assert_int_equal(at(&errors, MOTIF_BOXES, 0, 2), 1);
    /* box B has no prediction, because the motif in both boxes belongs to A */
    assert_int_equal(at(&errors, MOTIF_BOXES, 1, NONE_CHANNEL), 1);
    assert_int_equal(at(&errors, MOTIF_BOXES, 2, NONE_CHANNEL), 1);
    assert_int_equal(at(&errors, MOTIF_BOXES, NONE_SYMBOL, 1), 1);
    assert_int_equal(at(&errors, MOTIF_BOXES, NONE_SYMBOL, 3), 1);
    assert_int_equal(at(&errors, MOTIF_BOXES, NONE_SYMBOL, 0), 0);
    assert_int_equal(motif_errors_report(&errors, MOTIF_BOXES, &report, NULL), STATUS_OK);
    assert_true(report.fne == 2.0 / 3 && report.fpe == 2.0 / 3);
    assert_true(report.ce_assignment == 0.0 && report.ce_majority == 0.0);
    assert_int_equal(report.predictions, 3); /* the weaker motif in box A is not counted */

    assert_int_equal(at(&errors, MOTIF_WINDOWS, 0, 0), 1); /* the motif at (6, 8) is nearer to B */
    assert_int_equal(at(&errors, MOTIF_WINDOWS, 1, 2), 1);
    assert_int_equal(at(&errors, MOTIF_WINDOWS, 2, 1), 1);
    assert_int_equal(at(&errors, MOTIF_WINDOWS, NONE_SYMBOL, 3), 1);
    assert_int_equal(motif_errors_report(&errors, MOTIF_WINDOWS, &report, NULL), STATUS_OK);
    assert_true(report.fne == 0.0 && report.fpe == 0.25);
    assert_int_equal(report.predictions, 4);
    motif_errors_close(&errors);
}

/* The windows of two symbols overlap. All motifs are at one place and belong to the nearer symbol. The other symbol is
 * neither hit nor missed, because its cell contains motifs. */
static void overlapping_windows_share_motifs_by_distance(void **state)
{
    const struct box boxes[] = {box_of(0, 10, 10), box_of(1, 10, 14)};
    const struct motif near_first[] = {{10, 11, 0, 1.0F}, {10, 11, 1, 2.0F}, {10, 11, 2, 2.0F}};
    struct motif_errors errors;
    struct motif_report report;
    assert_int_equal(motif_errors_init(&errors, SYMBOLS, CHANNELS, REACH, NULL), STATUS_OK);
    assert_int_equal(motif_errors_add(&errors, near_first, 3, boxes, 2, NULL), STATUS_OK);
    /* of two motifs with equal values, the one in the lower channel counts as the stronger one */
    assert_int_equal(at(&errors, MOTIF_WINDOWS, 0, 1), 1);
    assert_int_equal(errors.taken, 1);
    assert_int_equal(errors.weaker, 2);
    assert_int_equal(motif_errors_report(&errors, MOTIF_WINDOWS, &report, NULL), STATUS_OK);
    assert_true(report.fne == 0.0 && report.fpe == 0.0);
    assert_int_equal(report.truths, 2);
    assert_int_equal(report.predictions, 3);

    /* this motif is equally near to both points, so it belongs to the first */
    const struct motif between = {10, 12, 3, 1.0F};
    motif_errors_clear(&errors);
    assert_int_equal(motif_errors_add(&errors, &between, 1, boxes, 2, NULL), STATUS_OK);
    assert_int_equal(at(&errors, MOTIF_WINDOWS, 0, 3), 1);
    motif_errors_close(&errors);
}

/* One-to-one matching gives each symbol at most one channel. Assignment by majority gives each channel the symbol that
 * it marks most often, so several channels can have the same symbol. Here channel 0 marks symbols 0 and 1 equally
 * often, and channel 3 is not active at first. */
static void confusion_is_counted_by_matching_and_by_majority(void **state)
{
    /* symbol, channel, number of times */
    static const int pairs[][3] = {{0, 0, 6}, {1, 0, 6}, {1, 1, 2}, {2, 2, 5}, {2, 1, 1}};
    struct motif_errors errors;
    struct motif_report report;
    int symbol_of[CHANNELS];
    assert_int_equal(motif_errors_init(&errors, SYMBOLS, CHANNELS, REACH, NULL), STATUS_OK);
    for (int p = 0; p < 5; p++) {
        for (int i = 0; i < pairs[p][2]; i++) {
            const struct box box = box_of(pairs[p][0], 8, 8);
            const struct motif motif = {8, 8, pairs[p][1], 1.0F};
            assert_int_equal(motif_errors_add(&errors, &motif, 1, &box, 1, NULL), STATUS_OK);
        }
    }
    assert_int_equal(motif_errors_report(&errors, MOTIF_BOXES, &report, NULL), STATUS_OK);
    /* the matching 0->0, 1->1, 2->2 (channel->symbol) is right 6 + 2 + 5 times of 20 */
    assert_true(report.ce_assignment == 7.0 / 20);
    /* by majority, channel 0 is right 6 of 12 times, channel 1 2 of 3, channel 2 5 of 5 */
    assert_true(report.ce_majority == 7.0 / 20);
    motif_errors_majority(&errors, MOTIF_BOXES, symbol_of);
    assert_memory_equal(symbol_of, ((int[]){0, 1, 2, -1}), sizeof symbol_of);

    /* Channel 3 now marks symbol 0 too. Majority counts channels 0 and 3 as right for symbol 0, matching only one of
     * them. */
    for (int i = 0; i < 4; i++) {
        const struct box box = box_of(0, 8, 8);
        const struct motif motif = {8, 8, 3, 1.0F};
        assert_int_equal(motif_errors_add(&errors, &motif, 1, &box, 1, NULL), STATUS_OK);
    }
    assert_int_equal(motif_errors_report(&errors, MOTIF_BOXES, &report, NULL), STATUS_OK);
    assert_true(report.ce_majority == 7.0 / 24);
    /* the matching 3->0, 0->1, 2->2 (channel->symbol) is right 4 + 6 + 5 times of 24 */
    assert_true(report.ce_assignment == 9.0 / 24);
    motif_errors_close(&errors);
}

/* Computes the errors by boxes from their definition on a dense map: visits the boxes, takes the strongest motif of
 * each, clears the box, and counts the remaining motifs. */
static void naive_boxes(float *map, const struct box *boxes, int count, int64_t *matrix)
{
    for (int b = 0; b < count; b++) {
        int best = NONE_CHANNEL;
        float most = 0.0F;
        for (int c = 0; c < CHANNELS; c++) {
            for (int i = 0; i < ROWS * COLS; i++) {
                int row = i / COLS, col = i % COLS;
                if (row >= boxes[b].row0 && row < boxes[b].row1 && col >= boxes[b].col0 && col < boxes[b].col1) {
                    float *value = &map[c * ROWS * COLS + i];
                    if (*value > most) {
                        most = *value;
                        best = c;
                    }
                    *value = 0.0F;
                }
            }
        }
        matrix[boxes[b].symbol * (CHANNELS + 1) + best]++;
    }
    for (int i = 0; i < CHANNELS * ROWS * COLS; i++)
        matrix[NONE_SYMBOL * (CHANNELS + 1) + i / (ROWS * COLS)] += map[i] > 0.0F;
}

/* Counts false positives and misses as the paper's text defines them in Appendix C. */
static void naive_windows(const float *map, const struct box *boxes, int count, int64_t *strays, int64_t *missed)
{
    bool covered[8] = {false};
    for (int i = 0; i < CHANNELS * ROWS * COLS; i++) {
        int row = i / COLS % ROWS, col = i % COLS;
        bool anywhere = false;
        for (int b = 0; b < count && map[i] > 0.0F; b++)
            if (abs(row - boxes[b].row) <= REACH && abs(col - boxes[b].col) <= REACH)
                covered[b] = anywhere = true;
        *strays += map[i] > 0.0F && !anywhere;
    }
    for (int b = 0; b < count; b++)
        *missed += !covered[b];
}

static int random_picture(float *map, struct box *boxes)
{
    static const float values[] = {0.25F, 0.5F, 1.0F}; /* few different values, so that ties occur */
    memset(map, 0, sizeof(float) * CHANNELS * ROWS * COLS);
    for (int i = rand() % 25; i > 0; i--)
        map[rand() % (CHANNELS * ROWS * COLS)] = values[rand() % 3];
    int count = rand() % 6;
    for (int b = 0; b < count; b++)
        boxes[b] = box_of(rand() % SYMBOLS, 2 + rand() % (ROWS - 4), 2 + rand() % (COLS - 4));
    return count;
}

static void random_maps_equal_the_definitions(void **state)
{
    static float map[CHANNELS * ROWS * COLS];
    struct motif_errors errors;
    int64_t matrix[(SYMBOLS + 1) * (CHANNELS + 1)] = {0}, strays = 0, missed = 0, truths = 0;
    assert_int_equal(motif_errors_init(&errors, SYMBOLS, CHANNELS, REACH, NULL), STATUS_OK);
    srand(11);
    for (int trial = 0; trial < 2000; trial++) {
        struct box boxes[6];
        int count = random_picture(map, boxes);
        assert_int_equal(motif_errors_add_map(&errors, map, ROWS, COLS, boxes, count, NULL), STATUS_OK);
        naive_windows(map, boxes, count, &strays, &missed);
        naive_boxes(map, boxes, count, matrix);
        truths += count;
        assert_memory_equal(errors.boxes, matrix, sizeof matrix);
    }
    struct motif_report report;
    assert_int_equal(motif_errors_report(&errors, MOTIF_WINDOWS, &report, NULL), STATUS_OK);
    assert_int_equal(report.false_positives, strays);
    assert_int_equal(report.misses, missed);
    assert_int_equal(report.truths, truths);
    assert_int_equal(report.predictions, errors.motifs);
    assert_int_equal(report.hits + errors.weaker + strays, errors.motifs);
    assert_true(errors.taken > 0 && errors.weaker > 0);
    motif_errors_close(&errors);
}

static void order_of_motifs_does_not_matter(void **state)
{
    static float map[CHANNELS * ROWS * COLS];
    struct motif_errors whole, mixed;
    assert_int_equal(motif_errors_init(&whole, SYMBOLS, CHANNELS, REACH, NULL), STATUS_OK);
    assert_int_equal(motif_errors_init(&mixed, SYMBOLS, CHANNELS, REACH, NULL), STATUS_OK);
    srand(12);
    for (int trial = 0; trial < 300; trial++) {
        struct box boxes[6];
        struct motif motifs[64];
        int count = random_picture(map, boxes);
        int found = motif_scan(map, CHANNELS, ROWS, COLS, motifs, 64);
        assert_in_range(found, 0, 64);
        assert_int_equal(motif_errors_add(&whole, motifs, found, boxes, count, NULL), STATUS_OK);
        for (int i = found - 1; i > 0; i--) {
            int j = rand() % (i + 1);
            struct motif kept = motifs[i];
            motifs[i] = motifs[j];
            motifs[j] = kept;
        }
        assert_int_equal(motif_errors_add(&mixed, motifs, found, boxes, count, NULL), STATUS_OK);
    }
    size_t bytes = 2 * (SYMBOLS + 1) * (CHANNELS + 1) * sizeof(int64_t);
    assert_memory_equal(mixed.boxes, whole.boxes, bytes);
    assert_true(mixed.samples == 300 && mixed.motifs == whole.motifs && mixed.taken == whole.taken &&
                mixed.weaker == whole.weaker);
    motif_errors_clear(&whole);
    assert_true(whole.samples == 0 && whole.motifs == 0 && at(&whole, MOTIF_BOXES, 0, 0) == 0);
    motif_errors_close(&mixed);
    motif_errors_close(&whole);
}

static void rates_without_counts_are_nan(void **state)
{
    struct motif_errors errors;
    struct motif_report report;
    assert_int_equal(motif_errors_init(&errors, SYMBOLS, CHANNELS, REACH, NULL), STATUS_OK);
    for (int form = 0; form < 2; form++) {
        assert_int_equal(motif_errors_report(&errors, form ? MOTIF_WINDOWS : MOTIF_BOXES, &report, NULL), STATUS_OK);
        assert_true(isnan(report.fne) && isnan(report.fpe) && isnan(report.ce_assignment) && isnan(report.ce_majority));
    }
    const struct box box = box_of(1, 8, 8);
    assert_int_equal(motif_errors_add(&errors, NULL, 0, &box, 1, NULL), STATUS_OK);
    assert_int_equal(motif_errors_report(&errors, MOTIF_BOXES, &report, NULL), STATUS_OK);
    assert_true(report.fne == 1.0 && isnan(report.fpe) && isnan(report.ce_majority));
    motif_errors_close(&errors);
}

static void faulty_calls_are_refused(void **state)
{
    struct motif_errors errors;
    struct motif_report report;
    assert_int_equal(motif_errors_init(&errors, 0, CHANNELS, REACH, NULL), STATUS_INVALID);
    assert_int_equal(motif_errors_init(&errors, SYMBOLS, 5000, REACH, NULL), STATUS_INVALID);
    assert_int_equal(motif_errors_init(&errors, SYMBOLS, CHANNELS, REACH, NULL), STATUS_OK);
    struct motif motif = {8, 8, CHANNELS, 1.0F};
    struct box box = box_of(SYMBOLS, 8, 8);
    assert_int_equal(motif_errors_add(&errors, &motif, 1, NULL, 0, NULL), STATUS_INVALID);
    assert_int_equal(motif_errors_add(&errors, NULL, 0, &box, 1, NULL), STATUS_INVALID);
    assert_int_equal(errors.samples, 0);
    motif_errors_close(&errors);
    for (int n = 0;; n++) {
        fault_after(n);
        enum status status = motif_errors_init(&errors, SYMBOLS, CHANNELS, REACH, NULL);
        if (status == STATUS_OK)
            status = motif_errors_add(&errors, by_hand, 5, by_hand_boxes, 3, NULL);
        if (status == STATUS_OK)
            status = motif_errors_report(&errors, MOTIF_BOXES, &report, NULL);
        bool happened = fault_happened();
        motif_errors_close(&errors);
        if (!happened) {
            assert_int_equal(status, STATUS_OK);
            assert_true(n >= 5);
            break;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
    }
}

/* Five boxes, and a motif outside of all boxes. Three boxes contain one motif of the right channel, one box contains
 * one motif of a wrong channel, and one box contains two motifs. */
static void the_error_of_the_proof_equals_its_value_by_hand(void **state)
{
    static const struct box boxes[] = {{0, 0, 4, 0, 4, 2, 2},
                                       {1, 0, 4, 10, 14, 2, 12},
                                       {0, 10, 14, 0, 4, 12, 2},
                                       {2, 10, 14, 10, 14, 12, 12},
                                       {2, 18, 22, 0, 4, 20, 2}};
    static const struct motif motifs[] = {{1, 1, 0, 1.0F},  {1, 11, 2, 1.0F}, {11, 1, 0, 1.0F}, {11, 11, 0, 1.0F},
                                          {18, 1, 3, 1.0F}, {19, 1, 3, 2.0F}, {1, 20, 1, 1.0F}};
    struct motif_errors errors;
    assert_int_equal(motif_errors_init(&errors, SYMBOLS, CHANNELS, REACH, NULL), STATUS_OK);
    assert_true(isnan(motif_errors_proof(&errors)));
    assert_int_equal(motif_errors_add(&errors, motifs, 7, boxes, 5, NULL), STATUS_OK);
    /* Channel 0 represents symbol 0: it is right twice, and once it marks symbol 2. Channel 2 represents symbol 1.
     * There are seven motifs. */
    assert_true(fabs(motif_errors_proof(&errors) - (1 - 3.0 / 7)) < 1e-15);
    motif_errors_close(&errors);
}

/* The proof in Appendix E of the paper assumes as many predicted motifs as true boxes. So each picture here has four
 * boxes and four motifs. Some motifs are outside of all boxes or of a wrong channel. */
static void the_error_of_the_proof_bounds_the_others(void **state)
{
    uint32_t draw = 7;
    for (int round = 0; round < 300; round++) {
        struct motif_errors errors;
        struct motif_report report;
        assert_int_equal(motif_errors_init(&errors, SYMBOLS, CHANNELS, REACH, NULL), STATUS_OK);
        for (int picture = 0; picture < 10; picture++) {
            struct box boxes[4];
            struct motif motifs[4];
            for (int i = 0; i < 4; i++) {
                draw = draw * 1664525u + 1013904223u;
                int symbol = (int)(draw >> 8) % SYMBOLS;
                bool stray = (draw >> 16) % 100 < (uint32_t)(round % 50), wrong = (draw >> 24) % 10 == 0;
                boxes[i] = box_of(symbol, 3, 3 + 7 * i);
                motifs[i] = (struct motif){stray ? 20 : 3, 3 + 7 * i, wrong ? 3 : symbol, 1.0F};
            }
            assert_int_equal(motif_errors_add(&errors, motifs, 4, boxes, 4, NULL), STATUS_OK);
        }
        assert_int_equal(motif_errors_report(&errors, MOTIF_BOXES, &report, NULL), STATUS_OK);
        double proof = motif_errors_proof(&errors);
        assert_true(report.fne <= proof + 1e-12 && report.fpe <= proof + 1e-12);
        assert_true(isnan(report.ce_majority) || report.ce_majority <= 2 * proof + 1e-12);
        motif_errors_close(&errors);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_equal_those_made_by_hand),
        cmocka_unit_test(overlapping_windows_share_motifs_by_distance),
        cmocka_unit_test(confusion_is_counted_by_matching_and_by_majority),
        cmocka_unit_test(random_maps_equal_the_definitions),
        cmocka_unit_test(order_of_motifs_does_not_matter),
        cmocka_unit_test(rates_without_counts_are_nan),
        cmocka_unit_test(the_error_of_the_proof_equals_its_value_by_hand),
        cmocka_unit_test(the_error_of_the_proof_bounds_the_others),
        cmocka_unit_test(faulty_calls_are_refused),
    };
    return cmocka_run_group_tests_name("motif_errors", tests, NULL, NULL);
}
