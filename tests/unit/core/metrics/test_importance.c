/* Tests the constants of SPARLING's theorem (core/metrics/importance.h): the authors' line, a line computed by hand,
 * and small lines by definition. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/metrics/importance.h"
#include "core/metrics/motif_errors.h"
#include "tests/support/paper_domains.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static struct importance measure(const struct importance_line *line)
{
    struct importance found;
    struct error err = {0};
    assert_int_equal(importance_of(line, &found, &err), STATUS_OK);
    return found;
}

/* In a line of eleven places, motifs are at least two places apart. There are 84 patterns of three motifs, 70 of four,
 * 21 of five and 1 of six. A deletion picks a given motif with probability 1 / picks. For the authors' picks = 5, the
 * constant of deletion is 0.465 = .198 + .196 + .071. If `picks` is the number of motifs in the picture, it is 0.494 =
 * .226 + .196 + .071. */
static void the_authors_line_gives_their_constants(void **state)
{
    const double share[] = {0, 0, 0, 0.25, 0.25, 0.25, 0.25};
    struct importance_line line = {
        .slots = 11, .spacing = 2, .most = 6, .share = share, .symbols = 10, .distinct = true, .picks = 5};
    assert_near(measure(&line).deletion, 0.465, 6e-4);
    line.picks = 0;
    struct importance own = measure(&line);
    assert_near(own.deletion, 0.494, 6e-4);
    /* A picture with n of ten digits contains one given digit, but not another given digit, with probability n (10 - n)
     * / 90. The expected value is the mean over n = 3 to 6. */
    assert_near(own.exchange, (21 + 24 + 25 + 24) / (4 * 90.0), 1e-12);
    assert_near(own.symbol, 0.246428571, 1e-9);
    assert_near(importance_constant(6, 4.5, 1089, 10, own.symbol), 2.0658e8, 1e4);
}

/* The line has three places, and motifs are at least two places apart. Half of the patterns have one motif, {0}, {1} or
 * {2}, and half have two, {0 2}. A change turns a pattern into another pattern m. For each m, alpha grows by the
 * smaller of two shares: that of the patterns that turn into m, and that of the patterns that are m already.
 *
 * - Deletion: {0 2} turns into {0} or {2}, with the share 1/4 each. Each of these has the share 1/6 already. Alpha is
 *   1/6 + 1/6.
 * - Deletion of a, distinct symbols: ab (1/4) turns into b at 2, which has the share 1/12 already. The same holds for
 *   ba and b at 0. Alpha is 1/12 + 1/12.
 * - Deletion of a, independent symbols: aa (1/8) turns into a at 0 or a at 2, with the share 1/16 each. ab (1/8) turns
 *   into b at 2, and ba (1/8) into b at 0; each of these has the share 1/12 already. Alpha is 1/16 + 1/16 + 1/12 +
 *   1/12.
 * - Exchange of a for b, distinct symbols: only a pattern of a alone (1/4) changes. Alpha is 1/4.
 * - Exchange of a for b, independent symbols: a alone has the share 1/4. aa turns into ab or ba, with the share 1/16
 *   each. ab and ba turn into bb, with the share 1/4, and bb has the share 1/8 already. Alpha is 1/4 + 1/8 + 1/8. */
static void three_places_equal_the_values_computed_by_hand(void **state)
{
    const double share[] = {0, 0.5, 0.5};
    struct importance_line line = {.slots = 3, .spacing = 2, .most = 2, .share = share, .symbols = 2, .distinct = true};
    struct importance found = measure(&line);
    assert_near(found.deletion, 1 / 3.0, 1e-12);
    assert_near(found.symbol, 1 / 6.0, 1e-12);
    assert_near(found.exchange, 1 / 4.0, 1e-12);
    line.distinct = false;
    found = measure(&line);
    assert_near(found.deletion, 1 / 3.0, 1e-12);
    assert_near(found.symbol, 7 / 24.0, 1e-12);
    assert_near(found.exchange, 1 / 2.0, 1e-12);
}

/* ---- from the definition: a pattern is a symbol (from 1) or nothing (0) at each place ------------------- */

enum { PLACES_MOST = 7, PATTERNS_MOST = 1 << 14 };

struct all {
    int slots, symbols, count;
    int pattern[PATTERNS_MOST][PLACES_MOST];
    double own[PATTERNS_MOST], met[PATTERNS_MOST];
};

static int motifs_in(const struct all *a, const int *pattern)
{
    int n = 0;
    for (int i = 0; i < a->slots; i++)
        n += pattern[i] > 0;
    return n;
}

static bool allowed(const struct all *a, const struct importance_line *line, const int *pattern)
{
    int seen[8] = {0}, last = -line->spacing;
    for (int i = 0; i < a->slots; i++) {
        if (pattern[i] == 0)
            continue;
        if (i - last < line->spacing || (line->distinct && seen[pattern[i]]))
            return false;
        seen[pattern[i]] = 1;
        last = i;
    }
    return motifs_in(a, pattern) <= line->most;
}

static void list(struct all *a, const struct importance_line *line)
{
    int numbers = 1, of_size[PLACES_MOST + 1] = {0};
    a->slots = line->slots;
    a->symbols = line->symbols;
    a->count = 0;
    for (int i = 0; i < line->slots; i++)
        numbers *= line->symbols + 1;
    for (int k = 0; k < numbers; k++) {
        int *pattern = a->pattern[a->count];
        for (int i = 0, rest = k; i < line->slots; i++, rest /= line->symbols + 1)
            pattern[i] = rest % (line->symbols + 1);
        if (allowed(a, line, pattern)) {
            of_size[motifs_in(a, pattern)]++;
            assert_true(++a->count < PATTERNS_MOST);
        }
    }
    for (int k = 0; k < a->count; k++) {
        int n = motifs_in(a, a->pattern[k]);
        a->own[k] = line->share[n] / of_size[n];
    }
}

/* Returns whether m1 becomes m2 if one motif of symbol `from` (0: any symbol) is exchanged for `to` (0: is deleted). */
static bool partner(const struct all *a, const int *m1, const int *m2, int from, int to)
{
    int changed = 0;
    for (int i = 0; i < a->slots; i++) {
        if (m1[i] == m2[i])
            continue;
        if (m1[i] == 0 || (from && m1[i] != from) || m2[i] != to)
            return false;
        changed++;
    }
    return changed == 1;
}

static double alpha(struct all *a, int from, int to)
{
    double sum = 0;
    memset(a->met, 0, sizeof a->met);
    for (int k = 0; k < a->count; k++) {
        int choices = 0;
        for (int i = 0; i < a->slots; i++)
            choices += a->pattern[k][i] > 0 && (!from || a->pattern[k][i] == from);
        for (int l = 0; l < a->count && choices > 0; l++)
            if (partner(a, a->pattern[k], a->pattern[l], from, to))
                a->met[l] += a->own[k] / choices;
    }
    for (int k = 0; k < a->count; k++)
        sum += fmin(a->met[k], a->own[k]);
    return sum;
}

static void small_lines_equal_the_definition(void **state)
{
    static struct all all;
    const double share[][4] = {{0.1, 0.2, 0.3, 0.4}, {0, 0.5, 0.2, 0.3}, {0.25, 0, 0.75, 0}};
    for (int i = 0; i < 12; i++) {
        struct importance_line line = {.slots = 5 + i % 3,
                                       .spacing = 1 + i % 2,
                                       .most = 3,
                                       .share = share[i % 3],
                                       .symbols = 3,
                                       .distinct = i % 4 < 2};
        struct importance found = measure(&line);
        list(&all, &line);
        assert_near(found.deletion, alpha(&all, 0, 0), 1e-12);
        assert_near(found.symbol, alpha(&all, 2, 0), 1e-12);
        assert_near(found.exchange, alpha(&all, 2, 1), 1e-12);
    }
}

static void the_constant_follows_its_formula(void **state)
{
    /* The case has ten digits, windows of 17 pixels (which give cells of 33 x 33), and 3 to 6 digits in a picture. */
    assert_near(importance_constant(6, 4.5, 1089, 10, 0.5), 16 * 36 * 1089.0 * 90 / (4.5 * 0.25), 1e-3);
    assert_near(importance_constant(6, 4.5, 1089, 1, 0.5), 16 * 36 * 1089.0 / (4.5 * 0.25), 1e-6);
    assert_true(isinf(importance_constant(6, 4.5, 1089, 10, 0)));
}

/* A cell is 33 pixels wide for windows of 17. In 87.1 % of the published pictures, the cells of two digits overlap. */
static void published_pictures_are_crowded(void **state)
{
    enum { PICTURES = 1000 };
    static float image[100 * 100];
    struct digitcircle paper = digitcircle_paper();
    struct motif_errors errors;
    assert_int_equal(motif_errors_init(&errors, 10, 10, 16, NULL), STATUS_OK);
    for (uint32_t seed = 0; seed < PICTURES; seed++) {
        struct digitcircle_truth truth;
        digitcircle_draw(&paper, seed, image, &truth);
        assert_int_equal(motif_errors_add(&errors, NULL, 0, truth.boxes, truth.count, NULL), STATUS_OK);
    }
    assert_near((double)errors.crowded / PICTURES, 0.871, 0.03);
    assert_int_equal(errors.most, 6);
    assert_int_equal(errors.counts[3] + errors.counts[4] + errors.counts[5] + errors.counts[6], PICTURES);
    for (int n = 3; n <= 6; n++)
        assert_near((double)errors.counts[n] / PICTURES, 0.25, 0.05);
    motif_errors_close(&errors);
}

static void impossible_lines_are_refused(void **state)
{
    const double share[] = {0, 0, 0, 1};
    const struct importance_line wrong[] = {
        {.slots = 0, .spacing = 1, .most = 1, .share = share, .symbols = 4},
        {.slots = 4, .spacing = 2, .most = 3, .share = share, .symbols = 4},
        {.slots = 5, .spacing = 2, .most = 3, .share = share, .symbols = 2, .distinct = true},
        {.slots = 5, .spacing = 6, .most = 1, .share = share, .symbols = 4},
        {.slots = 300, .spacing = 1, .most = 3, .share = share, .symbols = 4}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct importance found;
        struct error err = {0};
        assert_int_equal(importance_of(&wrong[i], &found, &err), STATUS_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_authors_line_gives_their_constants),
        cmocka_unit_test(three_places_equal_the_values_computed_by_hand),
        cmocka_unit_test(small_lines_equal_the_definition),
        cmocka_unit_test(the_constant_follows_its_formula),
        cmocka_unit_test(published_pictures_are_crowded),
        cmocka_unit_test(impossible_lines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
