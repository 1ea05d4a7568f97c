/* Tests the search for the smallest rule over facts (presence_rule.h): the rule that made the labels is found, no
 * smaller rule is, and a rule that is worse than the model is reported as worse. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/metrics/presence_rule.h"

enum { SAMPLES = 500, WORDS = (SAMPLES + 63) / 64, FACTS = 24 };

struct world {
    uint64_t fact[FACTS][WORDS], name[WORDS], read[WORDS];
    bool facts[SAMPLES][FACTS];
    struct presence_table table;
};

/* Whether a rule says that the name holds in a sample. */
static bool says(const struct presence_rule *rule, const bool *facts)
{
    int holds = 0;
    for (int i = 0; i < rule->some; i++)
        holds += facts[rule->fact[i]];
    for (int i = rule->some; i < rule->some + rule->none; i++)
        if (facts[rule->fact[i]])
            return false;
    return holds >= rule->least;
}

static void set(uint64_t *row, int sample, bool value)
{
    row[sample / 64] |= (uint64_t)value << (sample % 64);
}

/* Draws facts that hold in 40 % of the samples, and labels by a rule. A share `noise` of the labels is reversed, and
 * the model reads a share `wrong` of the labels wrongly. */
static void make(struct world *w, const struct presence_rule *rule, double noise, double wrong)
{
    const struct philox from = philox_stream(11, 5, 0);
    *w = (struct world){.table = {FACTS, SAMPLES, WORDS, w->fact[0], w->name, w->read}};
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t at = (uint64_t)i * (FACTS + 2);
        for (int f = 0; f < FACTS; f++) {
            w->facts[i][f] = (double)philox_uniform(&from, at + (uint64_t)f) < 0.4;
            set(w->fact[f], i, w->facts[i][f]);
        }
        bool has = says(rule, w->facts[i]) != ((double)philox_uniform(&from, at + FACTS) < noise);
        set(w->name, i, has);
        set(w->read, i, has != ((double)philox_uniform(&from, at + FACTS + 1) < wrong));
    }
}

static bool same(const struct presence_rule *a, const struct presence_rule *b)
{
    bool equal = a->some == b->some && a->none == b->none && a->least == b->least;
    for (int i = 0; equal && i < a->some + a->none; i++)
        equal = a->fact[i] == b->fact[i];
    return equal;
}

static const struct presence_rule rules[] = {
    {1, 1, 0, {7}},           {2, 1, 0, {3, 20}},      {2, 2, 0, {3, 20}},      {3, 2, 0, {1, 9, 23}},
    {3, 1, 0, {1, 9, 23}},    {4, 4, 0, {0, 5, 6, 8}}, {4, 2, 0, {0, 5, 6, 8}}, {0, 0, 1, {12}},
    {0, 0, 2, {12, 13}},      {1, 1, 1, {15, 2}},      {2, 1, 1, {4, 14, 10}},  {2, 2, 1, {4, 14, 10}},
    {2, 1, 2, {4, 14, 2, 3}},
};

static void the_rule_that_made_the_labels_is_found(void **state)
{
    (void)state;
    static struct world w;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        for (int noisy = 0; noisy < 2; noisy++) {
            struct presence_rule found;
            make(&w, &rules[i], noisy ? 0.03 : 0, 0);
            for (int k = 0; noisy && k < WORDS; k++) /* the model knows the rule, but not the noise */
                w.read[k] = 0;
            for (int k = 0; noisy && k < SAMPLES; k++)
                set(w.read, k, says(&rules[i], w.facts[k]));
            assert_true(presence_rule_find(&w.table, &found));
            assert_true(same(&found, &rules[i]));
            struct presence_score score = presence_rule_score(&w.table, &found);
            assert_true(score.rule == score.model && score.fidelity == 1);
            assert_true(noisy ? score.rule > 0.7 && score.rule < 1 : score.rule == 1);
        }
}

static void scores_equal_counts_of_samples(void **state)
{
    (void)state;
    static struct world w;
    make(&w, &rules[10], 0.1, 0.2);
    double right[2] = {0}, read[2] = {0}, of[2] = {0}, same_answers = 0;
    for (int i = 0; i < SAMPLES; i++) {
        bool has = w.name[i / 64] >> (i % 64) & 1, model = w.read[i / 64] >> (i % 64) & 1,
             answer = says(&rules[3], w.facts[i]);
        of[has]++;
        right[has] += answer == has;
        read[has] += model == has;
        same_answers += answer == model;
    }
    struct presence_score score = presence_rule_score(&w.table, &rules[3]);
    assert_int_equal(score.with, (int64_t)of[1]);
    assert_true(fabs(score.rule - (right[0] / of[0] + right[1] / of[1]) / 2) < 1e-12);
    assert_true(fabs(score.model - (read[0] / of[0] + read[1] / of[1]) / 2) < 1e-12);
    assert_true(fabs(score.fidelity - same_answers / SAMPLES) < 1e-12);
    assert_true(score.error > 0.005 && score.error < 0.05);
    w.table.samples = 200; /* rows may have more words than samples need */
    for (int k = 0; k < WORDS; k++)
        w.read[k] = w.name[k] &= k < 3 ? ~(uint64_t)0 : k == 3 ? 0xff : 0;
    assert_true(presence_rule_score(&w.table, &rules[3]).model == 1);
    assert_true(presence_rule_score(&w.table, &rules[3]).fidelity <= 1);
}

/* With a model that is hardly better than a smaller rule, the smaller rule is enough. */
static void a_poor_model_needs_only_a_small_rule(void **state)
{
    (void)state;
    static struct world w;
    struct presence_rule found;
    make(&w, &rules[12], 0, 0.25);
    assert_true(presence_rule_find(&w.table, &found));
    assert_true(found.some + found.none < 4);
}

static void a_rule_that_is_worse_than_the_model_says_so(void **state)
{
    (void)state;
    static struct world w;
    struct presence_rule found;
    make(&w, &rules[0], 0, 0);
    for (int i = 0; i < SAMPLES; i++) { /* exclusive or, of which no rule is right in all samples */
        bool has = w.facts[i][2] != w.facts[i][3];
        w.name[i / 64] = (w.name[i / 64] & ~((uint64_t)1 << (i % 64))) | (uint64_t)has << (i % 64);
        w.read[i / 64] = w.name[i / 64];
    }
    assert_false(presence_rule_find(&w.table, &found));
    struct presence_score score = presence_rule_score(&w.table, &found);
    assert_true(score.model == 1 && score.rule > 0.6 && score.rule < 0.95);
    assert_true(score.model - score.rule > score.error);
}

static void without_both_kinds_of_samples_there_is_no_rule(void **state)
{
    (void)state;
    static struct world w;
    struct presence_rule found;
    make(&w, &rules[0], 0, 0);
    for (int k = 0; k < WORDS; k++)
        w.name[k] = 0;
    assert_true(presence_rule_find(&w.table, &found));
    assert_int_equal(found.some + found.none, 0);
    assert_true(isnan(presence_rule_score(&w.table, &found).rule));
    w.table.samples = 0;
    w.table.words = 0;
    (void)presence_rule_find(&w.table, &found);
    assert_int_equal(found.some + found.none, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_that_made_the_labels_is_found),
        cmocka_unit_test(scores_equal_counts_of_samples),
        cmocka_unit_test(a_poor_model_needs_only_a_small_rule),
        cmocka_unit_test(a_rule_that_is_worse_than_the_model_says_so),
        cmocka_unit_test(without_both_kinds_of_samples_there_is_no_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
