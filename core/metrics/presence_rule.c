/* Searches for the smallest rule over facts (presence_rule.h).
 *
 * A rule is evaluated for 64 samples at a time. With 16 facts there are about 60,000 rules of up to four facts, which
 * take some hundredths of a second for 1,000 samples. */
#include "core/metrics/presence_rule.h"

#include <math.h>

/* Returns for 64 samples in which of them the rule says that the name holds. valid: the bits that belong to samples. */
static uint64_t says_word(const struct presence_table *t, const struct presence_rule *rule, size_t word, uint64_t valid)
{
    uint64_t at_least[PRESENCE_PARTS + 1] = {~(uint64_t)0}; /* [n]: at least n of the facts so far hold */
    uint64_t none = 0;
    for (int i = 0; i < rule->some; i++)
        for (int n = rule->least; n > 0; n--)
            at_least[n] |= at_least[n - 1] & t->fact[(size_t)rule->fact[i] * t->words + word];
    for (int i = rule->some; i < rule->some + rule->none; i++)
        none |= t->fact[(size_t)rule->fact[i] * t->words + word];
    return rule->some + rule->none > 0 ? at_least[rule->least] & ~none & valid : 0;
}

/* Counts of the samples of one class, with the name or without it. */
struct class_count {
    int64_t of, rule, model;       /* of: all samples; rule, model: those that the rule and the model predict rightly */
    int64_t only_rule, only_model; /* those that only one of them predicts rightly */
};

static void count_word(struct class_count *c, uint64_t of, uint64_t rule, uint64_t model)
{
    c->of += __builtin_popcountll(of);
    c->rule += __builtin_popcountll(of & rule);
    c->model += __builtin_popcountll(of & model);
    c->only_rule += __builtin_popcountll(of & rule & ~model);
    c->only_model += __builtin_popcountll(of & model & ~rule);
}

/* Variance of the mean difference of two shares of right predictions in the same samples. */
static double variance_of(const struct class_count *c)
{
    double n = (double)c->of, sum = (double)(c->only_model - c->only_rule),
           squares = (double)(c->only_model + c->only_rule);
    return n > 1 ? (squares - sum * sum / n) / (n * (n - 1)) : 0;
}

struct presence_score presence_rule_score(const struct presence_table *t, const struct presence_rule *rule)
{
    struct class_count with = {0}, without = {0};
    int64_t same = 0;
    for (size_t w = 0; w < t->words; w++) {
        int64_t left = t->samples - (int64_t)w * 64;
        uint64_t valid = left >= 64 ? ~(uint64_t)0 : left > 0 ? ((uint64_t)1 << left) - 1 : 0;
        uint64_t says = says_word(t, rule, w, valid), read = t->read[w];
        count_word(&with, t->name[w], says, read);
        count_word(&without, valid & ~t->name[w], ~says, ~read);
        same += __builtin_popcountll(valid & ~(says ^ read));
    }
    struct presence_score score = {.with = with.of, .rule = NAN, .model = NAN, .error = NAN};
    score.fidelity = t->samples > 0 ? (double)same / (double)t->samples : NAN;
    if (with.of == 0 || without.of == 0)
        return score;
    double a = (double)with.of, b = (double)without.of;
    score.rule = ((double)with.rule / a + (double)without.rule / b) / 2;
    score.model = ((double)with.model / a + (double)without.model / b) / 2;
    score.error = sqrt(variance_of(&with) + variance_of(&without)) / 2;
    return score;
}

/* ---- the search ----------------------------------------------------------------------------------------------- */

struct rule_search {
    const struct presence_table *table;
    int fact[PRESENCE_FACTS], facts; /* the facts among which the search looks, in ascending order */
    struct presence_rule best;       /* the best rule so far */
    struct presence_score score;     /* its score */
};

/* Absolute correlation of a fact with the name; 0 if the fact always or never holds. */
static double correlation_of(const struct presence_table *t, int fact)
{
    int64_t first = 0, second = 0, both = 0;
    for (size_t w = 0; w < t->words; w++) {
        uint64_t x = t->fact[(size_t)fact * t->words + w];
        first += __builtin_popcountll(x);
        second += __builtin_popcountll(t->name[w]);
        both += __builtin_popcountll(x & t->name[w]);
    }
    double n = (double)t->samples, a = (double)first, b = (double)second, square = a * (n - a) * b * (n - b);
    return square > 0 ? fabs(n * (double)both - a * b) / sqrt(square) : 0;
}

/* Chooses the facts with the largest correlations; facts that never vary are left out. */
static void choose_facts(struct rule_search *s)
{
    double strength[PRESENCE_FACTS];
    for (int f = 0; f < s->table->facts; f++) {
        double r = correlation_of(s->table, f);
        int weakest = 0;
        for (int i = 1; i < s->facts; i++)
            weakest = strength[i] < strength[weakest] ? i : weakest;
        if (s->facts == PRESENCE_FACTS && r > strength[weakest]) {
            for (int i = weakest; i + 1 < s->facts; i++) { /* keeps the order */
                s->fact[i] = s->fact[i + 1];
                strength[i] = strength[i + 1];
            }
            s->facts--;
        }
        if (s->facts < PRESENCE_FACTS && r > 0) {
            strength[s->facts] = r;
            s->fact[s->facts++] = f;
        }
    }
}

static bool is_good(const struct presence_score *score)
{
    return score->model - score->rule <= score->error * (1 + 1e-9);
}

static void try_rule(struct rule_search *s, const struct presence_rule *rule)
{
    struct presence_score score = presence_rule_score(s->table, rule);
    if (score.rule > s->score.rule + 1e-12) {
        s->best = *rule;
        s->score = score;
    }
}

/* Adds the facts from index `from` on to a rule that lacks `left` of them, and tries each complete rule. Facts of
 * `some` and of `none` are chosen in ascending order each. */
static void complete_rule(struct rule_search *s, struct presence_rule *rule, int at, int from)
{
    int size = rule->some + rule->none;
    if (at == size || at == PRESENCE_PARTS) {
        for (rule->least = rule->some > 0 ? 1 : 0; rule->least <= rule->some; rule->least++)
            try_rule(s, rule);
        return;
    }
    for (int i = at == rule->some ? 0 : from; i < s->facts; i++) {
        bool used = false;
        for (int k = 0; k < at; k++)
            used = used || rule->fact[k] == s->fact[i];
        if (used)
            continue;
        rule->fact[at] = s->fact[i];
        complete_rule(s, rule, at + 1, i + 1);
    }
}

bool presence_rule_find(const struct presence_table *table, struct presence_rule *rule)
{
    struct rule_search s = {.table = table};
    s.score = presence_rule_score(table, &s.best);
    choose_facts(&s);
    bool good = isnan(s.score.rule) || is_good(&s.score);
    for (int size = 1; !good && size <= PRESENCE_PARTS && size <= s.facts; size++) {
        for (int none = 0; none <= size; none++) { /* of equally good rules, the one with fewer "not" */
            struct presence_rule one = {.some = size - none, .none = none};
            complete_rule(&s, &one, 0, 0);
        }
        good = is_good(&s.score);
    }
    *rule = s.best;
    return good;
}
