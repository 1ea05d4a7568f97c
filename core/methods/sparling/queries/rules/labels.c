/* Compares rules with the labels of the data set, for the query "rules".
 *
 * Trials show what the head does with an arrangement, and not why. A head that is unsure about a weak motif can change
 * its answer when any other motif stands at some distance, although the labels do not depend on it. The query therefore
 * compares the labels of samples that have the arrangements of a rule with the labels of other samples. A rule stays
 * only if the labels differ in the direction of the rule, or if the data set has no samples for this comparison. Models
 * with labels at positions are left out, because a name of such a label says nothing about the whole sample. */
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/queries/rules/rules_int.h"
#include "core/methods/sparling/run_state.h"

static enum status list_rules(struct rules *r, struct error *err)
{
    int marks[RULE_ORDERS][RULE_BINS];
    for (int pass = 0; pass < 2; pass++) {
        r->checks = 0;
        for (int i = 0; i < r->pairs; i++)
            for (int k = r->first_name; k < r->names; k++) {
                const struct rule_pair *pair = &r->pair[i];
                if (!rule_mark(&pair->counts[k], &pair->evidence, r->quantile, true, marks))
                    continue;
                if (pass == 1)
                    r->checked[r->checks] =
                        (struct rule_checked){.pair = i, .name = k, .sets = rule_sets_of(&pair->evidence, marks)};
                r->checks++;
            }
        if (pass == 0)
            r->checked = calloc((size_t)r->checks + 1, sizeof *r->checked);
        if (!r->checked)
            return error_memory(err, "rules");
    }
    return STATUS_OK;
}

void rules_add_labels(struct rules *r, const struct rule_found *found, const struct domain_truth *truth)
{
    unsigned set = 0;
    memset(r->has, 0, (size_t)r->names * sizeof *r->has);
    for (int i = 0; i < truth->length; i++)
        if (truth->label[i] >= 0 && truth->label[i] < r->names)
            r->has[truth->label[i]] = true;
    for (int i = 0; i < r->checks; i++) {
        struct rule_checked *checked = &r->checked[i];
        const struct rule_pair *pair = &r->pair[checked->pair];
        if (i == 0 || checked->pair != r->checked[i - 1].pair)
            set = rules_found(r, checked->pair, found);
        rule_labels_add(&checked->labels, &checked->sets, set, found->count[pair->first.channel] > 0,
                        found->count[pair->second.channel] > 0, r->has[checked->name]);
    }
}

enum status rules_check_labels(struct rules *r, struct error *err)
{
    if (r->question->model->network->shape.positions)
        return STATUS_OK;
    enum status status = list_rules(r, err);
    return status || r->checks == 0 ? status : rules_search(r, true, rules_add_labels, err);
}

static int by_pair(const void *a, const void *b)
{
    const struct rule_checked *x = a, *y = b;
    return x->pair != y->pair ? x->pair - y->pair : x->name - y->name;
}

const struct rule_checked *rules_checked(const struct rules *r, int pair, int name)
{
    const struct rule_checked wanted = {.pair = pair, .name = name};
    return r->checks > 0 ? bsearch(&wanted, r->checked, (size_t)r->checks, sizeof wanted, by_pair) : NULL;
}

bool rules_marks(const struct rules *r, int pair, int name, int marks[RULE_ORDERS][RULE_BINS])
{
    const struct rule_pair *p = &r->pair[pair];
    bool any = rule_mark(&p->counts[name], &p->evidence, r->quantile, true, marks);
    const struct rule_checked *checked = any ? rules_checked(r, pair, name) : NULL;
    if (!checked)
        return any;
    any = false;
    for (int o = 0; o < RULE_ORDERS; o++)
        for (int b = 0; b < RULE_BINS; b++) {
            if (marks[o][b] != 0 && !rule_labels_agree(&checked->labels, marks[o][b], (int)r->asked->support))
                marks[o][b] = 0;
            any = any || marks[o][b] != 0;
        }
    return any;
}
