/* Tests rules between motifs: trials recover a planted rule from the answers of a reader that follows this rule. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/methods/sparling/queries/rules/trial.h"
#include "tests/support/assert_ok.h"

enum { CHANNELS = 3, COLS = 300, NAMES = 2, SAMPLES = 40 };
enum { A = 0, B = 2, WIDE_A = 9, WIDE_B = 5, SHIFT_A = 3 };

/* Returns whether the planted rule answers name 0 if the centres of the motifs are at columns a and b; -1: the motif
 * is absent. */
typedef bool (*planted_rule)(int a, int b);

static int gap(int a, int b)
{
    return abs(a - b) - (WIDE_A + WIDE_B + 1) / 2;
}

static bool a_before_b_near(int a, int b)
{
    return a >= 0 && b >= 0 && a < b && gap(a, b) < 30;
}

static bool near_in_any_order(int a, int b)
{
    return a >= 0 && b >= 0 && gap(a, b) < 60;
}

static bool far_apart(int a, int b)
{
    return a >= 0 && b >= 0 && gap(a, b) >= 30;
}

static bool b_before_a(int a, int b)
{
    return a >= 0 && b >= 0 && b < a;
}

static bool a_unless_b_follows(int a, int b)
{
    return a >= 0 && !(b > a && gap(a, b) < 60);
}

static bool both(int a, int b)
{
    return a >= 0 && b >= 0;
}

static bool either(int a, int b)
{
    return a >= 0 || b >= 0;
}

/* One order of the two motifs makes the answer more likely, and the other order makes it less likely, as with proteins
 * beside a splice site. Without the motifs, half of the samples have the answer. */
static bool helps_and_hinders(int a, int b)
{
    static int coin;
    bool near = a >= 0 && b >= 0 && gap(a, b) < 60;
    return near ? a < b : (coin++ / RULE_MAPS) % 2 == 0;
}

/* Returns the first active column of a channel plus `shift`, and asserts that the channel has the value `value` there;
 * -1: the channel is not active. */
static int place(const float *map, int channel, int shift, float value)
{
    for (int i = 0; i < COLS; i++)
        if (map[channel * COLS + i] > 0) {
            assert_float_equal(map[channel * COLS + i], value, 0);
            return i + shift;
        }
    return -1;
}

/* The reader answers name 0 by the planted rule, and name 1 if the trial has not changed channel 1. */
static enum status follow(void *context, const float *maps, int count, const struct rule_places *places, bool *has,
                          struct error *err)
{
    planted_rule rule = *(planted_rule *)context;
    (void)err;
    for (int i = 0; i < count; i++) {
        const float *map = maps + (size_t)i * CHANNELS * COLS;
        int a = place(map, A, SHIFT_A, 2), b = place(map, B, 0, 4);
        assert_true(a < 0 || a == places[i].at[0] || a == places[i].at[1]);
        assert_true(b < 0 || b == places[i].at[0] || b == places[i].at[1]);
        has[i * NAMES] = rule(a, b);
        has[i * NAMES + 1] = map[COLS + 7] > 0;
    }
    return STATUS_OK;
}

static void measure(planted_rule rule, int length, struct rule_counts counts[NAMES], struct rule_pair *pair)
{
    static float map[CHANNELS * COLS], maps[RULE_MAPS * CHANNELS * COLS];
    static bool has[RULE_MAPS * NAMES];
    const struct rule_reader reader = {&rule, CHANNELS, COLS, NAMES, follow};
    memset(counts, 0, NAMES * sizeof *counts);
    *pair = (struct rule_pair){.first = {.channel = A, .value = 2, .shift = SHIFT_A, .width = WIDE_A},
                               .second = {.channel = B, .value = 4, .width = WIDE_B},
                               .number = 5,
                               .counts = counts};
    for (int i = 0; i < COLS; i++)
        /* These motifs are in the sample already. rule_try() must remove them from every trial. */
        map[A * COLS + i] = map[B * COLS + i] = (float)(i % 11 == 0);
    for (int n = 0; n < SAMPLES; n++) {
        map[COLS + 7] = (float)(n % 2);
        const struct rule_sample sample = {map, 10, 10 + length, (uint64_t)n};
        assert_ok(rule_try(&reader, &sample, pair, maps, has, err));
    }
}

static void check_text(planted_rule rule, const char *wanted)
{
    struct rule_counts counts[NAMES];
    struct rule_pair pair;
    char text[RULE_TEXT];
    measure(rule, 270, counts, &pair);
    assert_int_equal(rule_text(&counts[0], pair.tried, "CTCF", "GATA", "bases", text), wanted[0] != '\0');
    assert_string_equal(text, wanted);
    assert_false(rule_text(&counts[1], pair.tried, "CTCF", "GATA", "bases", text));
    assert_true(rule_difference_of(&counts[1].order).mean == 0);
    assert_true(rule_difference_of(&counts[1].order).p > 1 - 1e-12);
    assert_int_equal(counts[1].neither, SAMPLES / 2);
}

static void planted_rules_are_recovered(void **state)
{
    (void)state;
    check_text(a_before_b_near, "CTCF before GATA within 30 bases");
    check_text(near_in_any_order, "CTCF and GATA within 60 bases");
    check_text(far_apart, "CTCF and GATA at least 30 bases apart");
    check_text(b_before_a, "GATA before CTCF at any distance");
    check_text(a_unless_b_follows, "not CTCF before GATA within 60 bases");
    check_text(both, "CTCF and GATA at any distance");
    check_text(either, "");
    check_text(helps_and_hinders, "CTCF before GATA within 60 bases; not GATA before CTCF within 60 bases");
}

static void order_and_distance_have_the_right_sign(void **state)
{
    struct rule_counts counts[NAMES];
    struct rule_pair pair;
    (void)state;
    measure(b_before_a, 270, counts, &pair);
    struct rule_difference order = rule_difference_of(&counts[0].order);
    assert_true(order.mean == -1 && order.low <= order.mean && order.high < -0.8 && order.p < 1e-9);
    assert_true(rule_difference_of(&counts[0].distance).p > 0.9);
    measure(near_in_any_order, 270, counts, &pair);
    struct rule_difference distance = rule_difference_of(&counts[0].distance);
    assert_true(distance.mean > 0.5 && distance.low > 0.5 && distance.p < 1e-9);
    assert_true(rule_difference_of(&counts[0].order).p > 0.9);
    assert_int_equal(counts[0].first, 0);
    measure(a_unless_b_follows, 270, counts, &pair);
    assert_int_equal(counts[0].first, SAMPLES);
    assert_int_equal(counts[0].second, 0);
}

static void distances_that_do_not_fit_are_not_tried(void **state)
{
    struct rule_counts counts[NAMES];
    struct rule_pair pair;
    char text[RULE_TEXT];
    (void)state;
    measure(a_before_b_near, 50, counts, &pair);
    for (int b = 0; b < RULE_BINS; b++)
        assert_int_equal(pair.tried[b], b < 3 ? SAMPLES : 0); /* gaps up to 42 */
    assert_true(rule_text(&counts[0], pair.tried, "a", "b", "positions", text));
    assert_string_equal(text, "a before b within 30 positions");
    measure(both, 5, counts, &pair); /* no room for both motifs */
    assert_int_equal(pair.tried[0], 0);
    assert_false(rule_text(&counts[0], pair.tried, "a", "b", "positions", text));
    assert_true(rule_difference_of(&counts[0].order).p == 1);
}

/* Of 20 pairs, 8 differ in one direction and 2 in the other. The exact test of McNemar then gives p = 2 x 56 / 1024.
 * The interval is that of Agresti and Min. */
static void differences_have_known_intervals_and_p(void **state)
{
    struct rule_counts counts = {.samples = 0};
    (void)state;
    for (int i = 0; i < 20; i++)
        rule_counts_strand(&counts, i < 8, i >= 18);
    struct rule_difference d = rule_difference_of(&counts.strand);
    assert_true(fabs(d.mean - 0.3) < 1e-12);
    assert_true(fabs(d.p - 2 * 56 / 1024.0) < 1e-12);
    double centre = 6 / 22.0, half = 1.959963985 * sqrt(11 + 0.0 - 36 / 22.0) / 22;
    assert_true(fabs(d.low - centre + half) < 1e-9);
    assert_true(fabs(d.high - centre - half) < 1e-9);
    assert_int_equal(counts.same, 8);
    assert_int_equal(counts.opposite, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_rules_are_recovered),
        cmocka_unit_test(order_and_distance_have_the_right_sign),
        cmocka_unit_test(distances_that_do_not_fit_are_not_tried),
        cmocka_unit_test(differences_have_known_intervals_and_p),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
