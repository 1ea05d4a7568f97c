/* The smallest readable rule over facts that predicts whether a name holds, found by exact search.
 *
 * A fact is a property of a sample, such as "channel 3 has a motif". A rule has up to PRESENCE_PARTS facts: at least
 * `least` of the first `some` facts must hold, and none of the others. So it can state any of, all of, k of, and not.
 * The search tries all rules of one size before those of the next, and ends at the first size of which a rule predicts
 * the name as well as a model within one standard error. Quality is the balanced accuracy: the mean of the shares of
 * right predictions among the samples with the name and among those without it. A rare name therefore counts as much as
 * a frequent one, and a rule that always says the same has 1/2. Pure functions; any thread. */
#ifndef MOTIF_CORE_METRICS_PRESENCE_RULE_H
#define MOTIF_CORE_METRICS_PRESENCE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PRESENCE_PARTS: largest number of facts of a rule. PRESENCE_FACTS: number of facts among which the search looks; of
 * more facts, it takes those with the largest correlations with the name. */
enum { PRESENCE_PARTS = 4, PRESENCE_FACTS = 16 };

/* Bits of samples: bit i % 64 of word i / 64 belongs to sample i; bits after the last sample are 0. */
struct presence_table {
    int facts;
    int64_t samples;
    size_t words;         /* of a row: at least (samples + 63) / 64 */
    const uint64_t *fact; /* [facts][words] */
    const uint64_t *name; /* [words] whether the name holds */
    const uint64_t *read; /* [words] whether the model says that the name holds */
};

struct presence_rule {
    int some, least, none;    /* without facts (some and none are 0), the rule always says no */
    int fact[PRESENCE_PARTS]; /* indices of the first `some` facts, and then of the `none` facts */
};

/* How well a rule predicts the name in a table, compared with the model. */
struct presence_score {
    int64_t with;       /* number of samples with the name */
    double rule, model; /* balanced accuracies; NaN: the table has only samples with the name, or only without it */
    double error;       /* standard error of model - rule, over the samples */
    double fidelity;    /* share of the samples in which rule and model say the same */
};

struct presence_score presence_rule_score(const struct presence_table *table, const struct presence_rule *rule);
/* Finds the rule. Returns whether it is as good as the model within one standard error; if not, it is the best rule of
 * all sizes. Without samples that have the name, or without samples that lack it, the rule has no facts, and the result
 * is true. */
bool presence_rule_find(const struct presence_table *table, struct presence_rule *rule);

#endif
