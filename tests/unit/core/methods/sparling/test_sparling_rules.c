/* Tests rules between motifs: trials recover a planted rule from the answers of a reader that follows this rule. */
#include <malloc.h>
#include <math.h>

#include "tests/support/unit.h"
#include "core/methods/sparling/queries/query.h"
#include "core/methods/sparling/queries/rules/rules_int.h"
#include "core/methods/sparling/run_state.h"
#include "tests/support/assert_ok.h"

enum { CHANNELS = 3, COLS = 300, NAMES = 2, SAMPLES = 40 };
enum { A = 0, B = 2, WIDE_A = 9, WIDE_B = 5, SHIFT_A = 3 };

/* A planted rule: returns whether the answer contains name 0. a, b: columns of the centres of the motifs A and B; -1:
 * there is no such motif. */
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

/* If A and B are near each other, all samples with A before B have the answer, and no sample with B before A has it, as
 * with proteins beside a splice site. Of the other samples, half have the answer. */
static bool helps_and_hinders(int a, int b)
{
    static int coin;
    bool near = a >= 0 && b >= 0 && gap(a, b) < 60;
    return near ? a < b : (coin++ / RULE_MAPS) % 2 == 0;
}

/* Returns the column of the first active position of a channel, plus `shift`; -1: the channel is not active. Asserts
 * that this position has the value `value`. */
static int place(const float *map, int channel, int shift, float value)
{
    for (int i = 0; i < COLS; i++)
        if (map[channel * COLS + i] > 0) {
            assert_float_equal(map[channel * COLS + i], value, 0);
            return i + shift;
        }
    return -1;
}

/* Column of the third motif, which replaces A or B in some trials. It has the value 7 and is in channel 1; -1: there is
 * none. (Every second sample also has a motif of value 1 in column 7 of channel 1, which no trial adds.) */
static int third_at;
static int place_of_third(const float *map)
{
    for (int i = 0; i < COLS; i++)
        if (map[COLS + i] == 7)
            return i;
    return -1;
}

/* Acts as the reader: answers name 0 by the planted rule, and name 1 if channel 1 is active in column 7. */
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
        third_at = place_of_third(map);
        has[i * NAMES] = rule(a, b);
        has[i * NAMES + 1] = map[COLS + 7] > 0;
    }
    return STATUS_OK;
}

/* Tries the pair in SAMPLES samples, and then its controls if `controls`. third: the motif that replaces one of the
 * pair. */
static void measure_pair(planted_rule rule, int length, struct rule_pair *pair, bool controls,
                         const struct rule_motif *third)
{
    static float map[CHANNELS * COLS], maps[RULE_MAPS * CHANNELS * COLS];
    static bool has[RULE_MAPS * NAMES];
    const struct rule_reader reader = {&rule, CHANNELS, COLS, NAMES, follow};
    for (int i = 0; i < COLS; i++)
        /* These motifs are in the sample already. rule_try() must remove them from every trial. */
        map[A * COLS + i] = map[B * COLS + i] = (float)(i % 11 == 0);
    for (int n = 0; n < SAMPLES; n++) {
        map[COLS + 7] = (float)(n % 2);
        const struct rule_sample sample = {map, 10, 10 + length, (uint64_t)n};
        static const bool every[RULE_BINS] = {true, true, true, true, true, true};
        if (controls)
            assert_ok(rule_try_controls(&reader, &sample, pair, third, every, maps, has, err));
        else
            assert_ok(rule_try(&reader, &sample, pair, maps, has, err));
    }
}

static void make_pair(struct rule_counts counts[NAMES], struct rule_pair *pair)
{
    memset(counts, 0, NAMES * sizeof *counts);
    *pair = (struct rule_pair){.first = {.channel = A, .value = 2, .shift = SHIFT_A, .width = WIDE_A},
                               .second = {.channel = B, .value = 4, .width = WIDE_B},
                               .number = 5,
                               .counts = counts};
    for (int o = 0; o < RULE_ORDERS; o++)
        for (int b = 0; b < RULE_BINS; b++)
            pair->evidence.seen[o][b] = true;
}

static void measure(planted_rule rule, int length, struct rule_counts counts[NAMES], struct rule_pair *pair)
{
    make_pair(counts, pair);
    measure_pair(rule, length, pair, false, NULL);
}

/* Writes the rule about a name to `text`. Returns whether there is one. */
static bool find_rule(const struct rule_counts *counts, const struct rule_pair *pair, char text[RULE_TEXT])
{
    int marks[RULE_ORDERS][RULE_BINS];
    bool any = rule_mark(counts, &pair->evidence, rule_quantile(1), true, marks);
    rule_text(marks, pair->evidence.bins, "CTCF", "GATA", "bases", text);
    assert_int_equal(any, text[0] != '\0');
    return any;
}

static void check_text(planted_rule rule, const char *wanted)
{
    struct rule_counts counts[NAMES];
    struct rule_pair pair;
    char text[RULE_TEXT];
    measure(rule, 270, counts, &pair);
    (void)find_rule(&counts[0], &pair, text);
    assert_string_equal(text, wanted);
    assert_false(find_rule(&counts[1], &pair, text));
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
        assert_int_equal(pair.evidence.tried[b], b < 3 ? SAMPLES : 0); /* gaps up to 42 */
    assert_int_equal(pair.evidence.bins, 3);
    assert_true(find_rule(&counts[0], &pair, text));
    assert_string_equal(text, "CTCF before GATA within 30 bases");
    measure(both, 5, counts, &pair); /* no room for both motifs */
    assert_int_equal(pair.evidence.tried[0], 0);
    assert_int_equal(pair.evidence.bins, 0);
    assert_false(find_rule(&counts[0], &pair, text));
    assert_true(rule_difference_of(&counts[0].order).p == 1);
}

/* The sample begins at column 10, and the model overlooks A in the first 60 columns of the sample. If A comes before B
 * with a large gap, A usually lies in these columns. So this effect of the place looks like a rule of the pair. */
static bool a_unless_at_the_left(int a, int b)
{
    (void)b;
    return a >= 70;
}

/* An effect of crowding: the model overlooks A if any motif follows it. */
static bool a_unless_any_motif_follows(int a, int b)
{
    int next = b >= 0 ? b : third_at;
    return a >= 0 && !(next > a && gap(a, next) < 60);
}

static void effects_of_the_place_are_no_rule(void **state)
{
    struct rule_counts counts[NAMES];
    struct rule_pair pair;
    char text[RULE_TEXT];
    (void)state;
    measure(a_unless_at_the_left, 270, counts, &pair);
    assert_true(find_rule(&counts[0], &pair, text));
    assert_non_null(strstr(text, "not CTCF before GATA"));
    measure_pair(a_unless_at_the_left, 270, &pair, true, NULL);
    assert_int_equal(pair.evidence.controlled[4], SAMPLES);
    assert_false(find_rule(&counts[0], &pair, text));
    int marks[RULE_ORDERS][RULE_BINS];
    assert_true(rule_mark(&counts[0], &pair.evidence, rule_quantile(1), false, marks)); /* without the controls */
}

static void effects_of_any_motif_are_no_rule(void **state)
{
    const struct rule_motif third = {.channel = 1, .value = 7, .width = WIDE_B};
    struct rule_counts counts[NAMES];
    struct rule_pair pair;
    char text[RULE_TEXT];
    (void)state;
    measure(a_unless_any_motif_follows, 270, counts, &pair);
    measure_pair(a_unless_any_motif_follows, 270, &pair, true, NULL);
    assert_true(find_rule(&counts[0], &pair, text)); /* controls with one motif alone do not reveal crowding */
    assert_string_equal(text, "not CTCF before GATA within 60 bases");
    measure(a_unless_any_motif_follows, 270, counts, &pair);
    measure_pair(a_unless_any_motif_follows, 270, &pair, true, &third);
    assert_false(find_rule(&counts[0], &pair, text));
}

static void rules_of_the_pair_stay_with_controls(void **state)
{
    static const struct {
        planted_rule rule;
        const char *text;
    } cases[] = {
        {a_before_b_near, "CTCF before GATA within 30 bases"},
        {a_unless_b_follows, "not CTCF before GATA within 60 bases"},
        {both, "CTCF and GATA at any distance"},
    };
    const struct rule_motif third = {.channel = 1, .value = 7, .width = WIDE_B};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rule_counts counts[NAMES];
        struct rule_pair pair;
        char text[RULE_TEXT];
        measure(cases[i].rule, 270, counts, &pair);
        measure_pair(cases[i].rule, 270, &pair, true, &third);
        assert_true(find_rule(&counts[0], &pair, text));
        assert_string_equal(text, cases[i].text);
    }
}

static void arrangements_that_the_data_lack_have_no_rule(void **state)
{
    struct rule_counts counts[NAMES];
    struct rule_pair pair;
    char text[RULE_TEXT];
    (void)state;
    make_pair(counts, &pair);
    for (int b = 0; b < RULE_BINS; b++)
        pair.evidence.seen[FIRST_BEFORE_SECOND][b] = b >= 1 && b < 5;
    memset(pair.evidence.seen[SECOND_BEFORE_FIRST], 0, sizeof pair.evidence.seen[SECOND_BEFORE_FIRST]);
    measure_pair(both, 270, &pair, false, NULL);
    for (int b = 0; b < RULE_BINS; b++)
        assert_int_equal(pair.evidence.tried[b], b >= 1 && b < 5 ? SAMPLES : 0); /* others are not tried */
    assert_true(find_rule(&counts[0], &pair, text));
    assert_string_equal(text, "CTCF before GATA 10 to 240 bases apart");
    assert_int_equal(counts[0].order.samples, 0); /* no comparison of orders: only one is in the data */
    struct rule_pair every = pair;
    every.all = true;
    make_pair(counts, &pair);
    every.counts = counts;
    memset(every.evidence.tried, 0, sizeof every.evidence.tried);
    measure_pair(both, 270, &every, false, NULL);
    assert_int_equal(every.evidence.tried[0], SAMPLES); /* the question names the pair */
    assert_int_equal(counts[0].order.samples, SAMPLES);
    assert_true(find_rule(&counts[0], &every, text));
    assert_string_equal(text, "CTCF before GATA 10 to 240 bases apart"); /* the rule is the same as before */
}

/* The model reads 40 samples with and without the two motifs. Without them it answers the name in 20 samples, and with
 * them in 30 (later in 10). The difference is a rule if this is the only test. It is none if this is one of a thousand
 * tests. */
static void simultaneous_intervals_are_wider(void **state)
{
    struct rule_counts counts = {.samples = 40, .neither = 20};
    struct rule_evidence evidence = {.bins = 1, .tried = {40}};
    int marks[RULE_ORDERS][RULE_BINS];
    (void)state;
    evidence.seen[0][0] = true;
    counts.with[0][0] = 30;
    assert_true(rule_mark(&counts, &evidence, rule_quantile(1), true, marks));
    assert_int_equal(marks[0][0], 1);
    assert_false(rule_mark(&counts, &evidence, rule_quantile(1000), true, marks));
    assert_true(fabs(rule_quantile(1) - 1.9599640) < 1e-6);
    assert_true(fabs(rule_quantile(0) - rule_quantile(1)) < 1e-12);
    assert_true(fabs(rule_quantile(50) - 3.2905267) < 1e-6); /* of 0.9995 */
    counts.with[0][0] = 10;
    assert_true(rule_mark(&counts, &evidence, rule_quantile(1), true, marks));
    assert_int_equal(marks[0][0], -1);
    evidence.seen[0][0] = false;
    assert_false(rule_mark(&counts, &evidence, rule_quantile(1), true, marks));
}

/* Adds `of` samples with the same arrangements and motifs, of which `with` have the name in their label. */
static void add_samples(struct rule_labels *labels, const struct rule_sets *sets, unsigned found, bool first,
                        bool second, int of, int with)
{
    for (int i = 0; i < of; i++)
        rule_labels_add(labels, sets, found, first, second, i < with);
}

/* The trials say that the first motif before the second, with a gap of the first bin, makes the name more frequent, and
 * the second before the first rarer. A rule stays only where the labels of the data set say so, too. */
static void rules_that_the_labels_contradict_are_dropped(void **state)
{
    struct rule_evidence evidence = {.bins = 2, .tried = {40, 40}, .seen = {{true, true}, {true, true}}};
    int marks[RULE_ORDERS][RULE_BINS] = {{1, 0}, {-1, 0}};
    struct rule_sets sets = rule_sets_of(&evidence, marks);
    unsigned more = rule_bit(0, 0), less = rule_bit(1, 0), other = rule_bit(0, 1) | rule_bit(1, 1);
    struct rule_labels labels = {0}, few = {0};
    (void)state;
    assert_int_equal(sets.more, more);
    assert_int_equal(sets.less, less);
    assert_int_equal(sets.other, other);
    add_samples(&labels, &sets, more, true, true, 50, 40);             /* 80 % */
    add_samples(&labels, &sets, less | other, true, true, 50, 24);     /* 48 % */
    add_samples(&labels, &sets, rule_bit(1, 1), true, true, 200, 100); /* 50 % */
    add_samples(&labels, &sets, 0, true, true, 30, 30); /* the motifs overlap: the samples belong to no group */
    add_samples(&labels, &sets, 0, true, false, 60, 59);
    add_samples(&labels, &sets, 0, false, true, 60, 0);
    assert_int_equal(labels.of[GROUP_MORE], 50);
    assert_int_equal(labels.of[GROUP_LESS], 50);
    assert_int_equal(labels.of[GROUP_OTHER], 200);
    assert_int_equal(labels.with[GROUP_OTHER], 100);
    assert_int_equal(labels.of[GROUP_FIRST], 60);
    assert_int_equal(labels.with[GROUP_FIRST], 59);
    assert_int_equal(rule_labels_reference(&labels, 1, 22), GROUP_OTHER);
    assert_true(rule_labels_agree(&labels, 1, 22));
    assert_false(rule_labels_agree(&labels, -1, 22)); /* 48 and 50 %: no difference */
    labels.with[GROUP_LESS] = 10;
    assert_true(rule_labels_agree(&labels, -1, 22));
    labels.with[GROUP_LESS] = 40;
    assert_false(rule_labels_agree(&labels, -1, 22)); /* the labels differ in the other direction */

    /* With too few other arrangements, one motif alone is the reference: of those with enough samples the one that has
     * the name more often. */
    add_samples(&few, &sets, more, true, true, 50, 40);
    add_samples(&few, &sets, other, true, true, 21, 0);
    add_samples(&few, &sets, 0, true, false, 60, 50);
    add_samples(&few, &sets, 0, false, true, 60, 0);
    assert_int_equal(rule_labels_reference(&few, 1, 22), GROUP_FIRST);
    assert_false(rule_labels_agree(&few, 1, 22));
    few.of[GROUP_FIRST] = few.with[GROUP_FIRST] = 1;
    assert_int_equal(rule_labels_reference(&few, 1, 22), GROUP_SECOND);
    assert_true(rule_labels_agree(&few, 1, 22));
    assert_int_equal(rule_labels_reference(&few, 1, 21), GROUP_OTHER);
    assert_true(rule_labels_agree(&few, 1, 21));
    assert_false(rule_labels_agree(&few, -1, 21)); /* no sample has these arrangements */

    /* All samples contain both motifs in marked arrangements: the marks are compared with each other. */
    struct rule_labels marked = {.of = {[GROUP_MORE] = 50, [GROUP_LESS] = 50}, .with = {[GROUP_MORE] = 45}};
    assert_int_equal(rule_labels_reference(&marked, 1, 22), GROUP_LESS);
    assert_int_equal(rule_labels_reference(&marked, -1, 22), GROUP_MORE);
    assert_true(rule_labels_agree(&marked, 1, 22));
    assert_true(rule_labels_agree(&marked, -1, 22));

    /* All samples contain the same arrangement: there is nothing to compare with. */
    struct rule_labels same = {.of = {[GROUP_MORE] = 50}, .with = {[GROUP_MORE] = 25}};
    assert_int_equal(rule_labels_reference(&same, 1, 22), RULE_GROUPS);
    assert_true(rule_labels_agree(&same, 1, 22));
}

/* Samples contain motif 0 before motif 1 with a gap of 5, or motif 0 alone. Label 1 stands for the second name. */
static void labels_of_the_data_set_count_by_name(void **state)
{
    int32_t label[] = {0, 1};
    int centre[2 * RULE_PLACES] = {[0] = 10, [RULE_PLACES] = 20}, one[] = {1, 1}, alone[] = {1, 0};
    const struct rule_found both = {centre, one}, first = {centre, alone};
    const struct domain_truth truth = {.length = 2, .label = label}, other = {.length = 1, .label = label};
    struct rule_pair pair = {.first = {.channel = 0, .width = 5}, .second = {.channel = 1, .width = 5}};
    struct rule_checked checked[] = {{.pair = 0, .name = 0, .sets.more = rule_bit(0, 0)},
                                     {.pair = 0, .name = 1, .sets.more = rule_bit(0, 0)}};
    bool has[2];
    struct rules r = {
        .pair = &pair, .pairs = 1, .channels = 2, .names = 2, .checked = checked, .checks = 2, .has = has};
    (void)state;
    rules_add_labels(&r, &both, &truth);
    rules_add_labels(&r, &both, &other);
    rules_add_labels(&r, &first, &truth);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(checked[k].labels.of[GROUP_MORE], 2);
        assert_int_equal(checked[k].labels.with[GROUP_MORE], k == 0 ? 2 : 1);
        assert_int_equal(checked[k].labels.of[GROUP_FIRST], 1);
        assert_int_equal(checked[k].labels.with[GROUP_FIRST], 1);
    }
    assert_ptr_equal(rules_checked(&r, 0, 1), &checked[1]);
    assert_null(rules_checked(&r, 1, 0));
}

/* In all trials with both motifs the model answers the name, and in no other trial. */
static void a_rule_needs_labels_that_agree(void **state)
{
    const struct rules_parameters asked = {.support = 22};
    struct rule_counts counts = {.samples = 40, .with = {{40}}};
    struct rule_pair pair = {.evidence = {.bins = 1, .tried = {40}, .seen = {{true}}}, .counts = &counts};
    struct rule_checked checked = {.sets.more = rule_bit(0, 0), .labels = {.of = {[GROUP_MORE] = 50}}};
    struct rules r = {.pair = &pair, .pairs = 1, .names = 1, .asked = &asked, .quantile = rule_quantile(1)};
    int marks[RULE_ORDERS][RULE_BINS];
    (void)state;
    assert_true(rules_marks(&r, 0, 0, marks)); /* labels at positions are not compared */
    r.checked = &checked;
    r.checks = 1;
    checked.labels.of[GROUP_FIRST] = 50;
    checked.labels.with[GROUP_MORE] = checked.labels.with[GROUP_FIRST] = 25;
    assert_false(rules_marks(&r, 0, 0, marks));
    assert_int_equal(marks[0][0], 0);
    checked.labels.with[GROUP_MORE] = 50;
    assert_true(rules_marks(&r, 0, 0, marks));
    assert_int_equal(marks[0][0], 1);
}

/* The longest text: both names are as long as names can be, and the marks of neighbouring ranges differ. */
static void the_longest_rule_is_not_cut(void **state)
{
    char first[RULE_NAME], second[RULE_NAME], text[RULE_TEXT];
    int marks[RULE_ORDERS][RULE_BINS];
    (void)state;
    memset(first, 'A', RULE_NAME - 1);
    memset(second, 'B', RULE_NAME - 1);
    first[RULE_NAME - 1] = second[RULE_NAME - 1] = '\0';
    for (int o = 0; o < RULE_ORDERS; o++)
        for (int b = 0; b < RULE_BINS; b++)
            marks[o][b] = (o + b) % 2 ? 1 : -1;
    rule_text(marks, RULE_BINS, first, second, "positions", text);
    assert_int_equal(strlen(text),
                     4 * (2 * (RULE_NAME - 1) + strlen(" before ")) + 3 * strlen("; ") + 2 * strlen("not ") +
                         8 * strlen(" or") + 2 * strlen(" within 10 positions") +
                         2 * strlen(" 10 to 30 positions apart") + 2 * strlen(" 30 to 60 positions apart") +
                         2 * strlen(" 60 to 120 positions apart") + 2 * strlen(" 120 to 240 positions apart") +
                         2 * strlen(" at least 240 positions apart"));
}

/* The table of counts has a limit of its own, besides the limit of trials. With 4096 names, it has room for 16 pairs.
 * The most frequent pairs stay, and the others are left out. Two pairs have no frequent arrangement and are not tried
 * either. */
static void pairs_that_need_too_much_memory_are_left_out(void **state)
{
    enum { PAIRS = 60, MANY = 4096, STAY = 16 };
    static struct rule_pair pair[PAIRS];
    static struct rule_left left[PAIRS];
    static uint16_t sets[PAIRS * RULE_SETS];
    const struct rules_parameters asked = {.trials = 1000000, .support = 1};
    struct rules r = {
        .asked = &asked, .names = MANY, .samples = 10, .pairs = PAIRS, .pair = pair, .left = left, .sets = sets};
    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        pair[i] = (struct rule_pair){.first.channel = i, .second.channel = PAIRS};
        pair[i].evidence.seen[0][0] = i >= 2;
        sets[i * RULE_SETS + 1] = (uint16_t)(i + 1);
    }
    assert_ok(rules_keep_pairs(&r, err));
    assert_int_equal(r.pairs, STAY);
    assert_int_equal(r.lefts, PAIRS - 2 - STAY);
    assert_int_equal(r.unseen, 2);
    for (int i = 0; i < STAY; i++) {
        assert_int_equal(r.pair[i].first.channel, PAIRS - STAY + i);
        assert_int_equal(r.sets[i * RULE_SETS + 1], PAIRS - STAY + i + 1);
        assert_ptr_equal(r.pair[i].counts, r.counts + (ptrdiff_t)i * MANY);
    }
    free(r.counts);
}

static size_t bytes_at_first_sample;

/* Stands for the domain of a model: notes how much memory is in use, and ends the query. */
static enum status note_memory(const struct domain_state *state, const struct domain_request *request, float *planes,
                               struct domain_truth *truth, struct error *err)
{
    const struct mallinfo2 now = mallinfo2();
    (void)state, (void)request, (void)planes, (void)truth;
    bytes_at_first_sample = now.uordblks + now.hblkhd;
    return error_set(err, STATUS_CANCELLED, NULL, "stopped");
}

/* Prepares PAIRS_IN_DOUBT pairs of motifs and measures their controls, up to the first sample that the controls read.
 * The model has MANY_CHANNELS motifs and `names` names. Pair i is in i + 1 samples, and seems to have a rule about one
 * name in two ranges of gaps. Returns how many bytes the controls use. */
enum { PAIRS_IN_DOUBT = 4, MANY_CHANNELS = 1024 };
static size_t begin_controls(struct rules *r, int names, int64_t trials)
{
    static struct rule_pair pair[PAIRS_IN_DOUBT];
    static struct rule_left left[PAIRS_IN_DOUBT];
    static uint16_t sets[PAIRS_IN_DOUBT * RULE_SETS];
    static int with[MANY_CHANNELS];
    static struct rules_parameters asked;
    static const struct domain domain = {.sample = note_memory};
    static struct method_model model;
    static struct method_question question;
    struct rule_counts *counts = calloc((size_t)PAIRS_IN_DOUBT * (size_t)names, sizeof *counts);
    struct error err = {0};
    asked = (struct rules_parameters){.trials = trials, .support = 1};
    model = (struct method_model){.domain = {.domain = &domain}};
    question = (struct method_question){.model = &model};
    *r = (struct rules){.question = &question,
                        .asked = &asked,
                        .channels = MANY_CHANNELS,
                        .names = names,
                        .samples = 60,
                        .with = with,
                        .pair = pair,
                        .pairs = PAIRS_IN_DOUBT,
                        .left = left,
                        .sets = sets};
    assert_non_null(counts);
    for (int c = 0; c < MANY_CHANNELS; c++)
        with[c] = c % 4 ? 60 : RULE_LEAST - 1;
    for (int i = 0; i < PAIRS_IN_DOUBT; i++) {
        pair[i] = (struct rule_pair){
            .first.channel = i, .second.channel = PAIRS_IN_DOUBT, .counts = counts + (ptrdiff_t)i * names};
        sets[i * RULE_SETS + 1] = (uint16_t)(i + 1);
        for (int b = 0; b < 2; b++) {
            pair[i].evidence.seen[0][b] = true;
            pair[i].evidence.tried[b] = 60;
            pair[i].counts[1].with[0][b] = 60;
        }
        for (int k = 0; k < names; k++)
            pair[i].counts[k].samples = 60;
    }
    const struct mallinfo2 before = mallinfo2();
    enum status status = rules_measure_controls(r, &err);
    assert_int_equal(status, r->pairs > 0 ? STATUS_CANCELLED : STATUS_OK);
    free(counts);
    return bytes_at_first_sample - before.uordblks - before.hblkhd;
}

static void controls_of_many_motifs_and_names_need_little_memory(void **state)
{
    struct rules r;
    (void)state;
    bytes_at_first_sample = 0;
    assert_true(begin_controls(&r, 1024, 1000000) < 20U << 20);
    assert_true(begin_controls(&r, 4096, 1000000) < 20U << 20);
    assert_int_equal(r.pairs, PAIRS_IN_DOUBT);
}

/* The controls of a pair are one trial for each of 60 samples. Half of the limit is for motifs alone. */
static void controls_of_frequent_pairs_come_first(void **state)
{
    static const struct {
        int64_t trials;
        int pairs;
    } cases[] = {{8 * 60, 4}, {8 * 60 - 1, 4}, {6 * 60, 3}, {4 * 60, 2}, {2 * 60, 1}, {1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rules r;
        (void)begin_controls(&r, 2, cases[i].trials);
        assert_int_equal(r.pairs, cases[i].pairs);
        assert_int_equal(r.lefts, PAIRS_IN_DOUBT - cases[i].pairs);
        for (int k = 0; k < r.pairs; k++)
            assert_int_equal(r.pair[k].first.channel, PAIRS_IN_DOUBT - r.pairs + k);
        for (int k = 0; k < r.lefts; k++)
            assert_int_equal(r.left[k].first, r.lefts - 1 - k);
    }
}

static void arrangements_follow_from_the_places(void **state)
{
    const struct rule_motif first = {.channel = A, .width = WIDE_A}, second = {.channel = B, .width = WIDE_B};
    const int one[] = {20, 200}, other[] = {37, 100};
    (void)state;
    /* `first` is at 20 and 200, `second` at 37 and 100. The `first` at 20 comes before both, with gaps of 10 and 73.
     * The `first` at 200 comes after both, with gaps of 156 and 93. */
    assert_int_equal(rule_arrangements(&first, one, 2, &second, other, 2),
                     rule_bit(FIRST_BEFORE_SECOND, 1) | rule_bit(FIRST_BEFORE_SECOND, 3) |
                         rule_bit(SECOND_BEFORE_FIRST, 4) | rule_bit(SECOND_BEFORE_FIRST, 3));
    const int close[] = {26, 27, 28};
    assert_int_equal(rule_arrangements(&first, one, 1, &second, close, 1), 0); /* they overlap */
    assert_int_equal(rule_arrangements(&first, one, 1, &second, close + 1, 1), rule_bit(FIRST_BEFORE_SECOND, 0));
    assert_int_equal(rule_arrangements(&second, close, 3, &first, one, 1), rule_bit(SECOND_BEFORE_FIRST, 0));
    assert_int_equal(rule_arrangements(&first, one, 0, &second, close, 3), 0);
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
        cmocka_unit_test(effects_of_the_place_are_no_rule),
        cmocka_unit_test(effects_of_any_motif_are_no_rule),
        cmocka_unit_test(rules_of_the_pair_stay_with_controls),
        cmocka_unit_test(arrangements_that_the_data_lack_have_no_rule),
        cmocka_unit_test(simultaneous_intervals_are_wider),
        cmocka_unit_test(rules_that_the_labels_contradict_are_dropped),
        cmocka_unit_test(labels_of_the_data_set_count_by_name),
        cmocka_unit_test(a_rule_needs_labels_that_agree),
        cmocka_unit_test(the_longest_rule_is_not_cut),
        cmocka_unit_test(pairs_that_need_too_much_memory_are_left_out),
        cmocka_unit_test(controls_of_many_motifs_and_names_need_little_memory),
        cmocka_unit_test(controls_of_frequent_pairs_come_first),
        cmocka_unit_test(arrangements_follow_from_the_places),
        cmocka_unit_test(differences_have_known_intervals_and_p),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
