/* Writes the answer of the query "rules". */
#include <stdio.h>
#include <stdlib.h>

#include "core/methods/sparling/queries/rules/rules_int.h"
#include "core/metrics/interval.h"

static const double SURE = 0.05;

static const char *unit_of(const struct rules *r)
{
    return r->strands ? "bases" : "positions";
}

static void motif_name(const struct rules *r, int channel, char out[RULE_NAME])
{
    const struct method_model *model = r->question->model;
    channel_name_text(model->names ? &model->names[channel] : NULL, &model->domain, out, RULE_NAME);
    if (out[0] == '\0')
        snprintf(out, RULE_NAME, "channel %d", channel);
}

static void write_motif(const struct rules *r, const char *key, int channel, const struct sink *out)
{
    char name[RULE_NAME];
    motif_name(r, channel, name);
    sink_begin_object(out, key);
    sink_integer(out, "channel", channel);
    sink_text(out, "name", name);
    sink_end_object(out);
}

static void write_share(const char *key, int with, int of, const struct sink *out)
{
    double share = of > 0 ? (double)with / of : 0;
    struct interval interval = interval_share(share, of, 1.96);
    sink_begin_object(out, key);
    sink_integer(out, "trials", of);
    sink_number(out, "share", share);
    sink_number(out, "low", interval.low);
    sink_number(out, "high", interval.high);
    sink_end_object(out);
}

static void write_number(const char *key, bool known, double value, const struct sink *out)
{
    if (known)
        sink_number(out, key, value);
    else
        sink_null(out, key);
}

/* Compares two controls, `one` and `other`, of an arrangement. Returns the larger of their shares of trials in which
 * the model answers the name. */
static double control_of(const struct rule_counts *c, int one, int other, int order, int bin, int of)
{
    int with = c->control[one][order][bin], more = c->control[other][order][bin];
    return of > 0 ? (double)(with > more ? with : more) / of : 0;
}

static void write_arrangement(const struct rule_counts *c, const struct rule_evidence *e, int order, int bin,
                              const struct sink *out)
{
    int tried = e->tried[bin], controlled = e->controlled[bin];
    double share = tried > 0 ? (double)c->with[order][bin] / tried : 0;
    struct interval interval = interval_share(share, tried, 1.96);
    sink_begin_object(out, NULL);
    sink_integer(out, "trials", tried);
    write_number("share", tried > 0, share, out);
    write_number("low", tried > 0, interval.low, out);
    write_number("high", tried > 0, interval.high, out);
    sink_integer(out, "samples", e->samples[order][bin]);
    sink_boolean(out, "seen", e->seen[order][bin]);
    write_number("alone", controlled > 0, control_of(c, CONTROL_FIRST, CONTROL_SECOND, order, bin, controlled), out);
    write_number("replaced", controlled > 0 && e->third,
                 control_of(c, CONTROL_FIRST_THIRD, CONTROL_THIRD_SECOND, order, bin, controlled), out);
    sink_end_object(out);
}

static void write_effect(const char *key, const struct rule_effect *effect, const struct sink *out)
{
    struct rule_difference d = rule_difference_of(effect);
    if (effect->samples == 0) {
        sink_null(out, key);
        return;
    }
    sink_begin_object(out, key);
    sink_integer(out, "samples", effect->samples);
    sink_number(out, "difference", d.mean);
    sink_number(out, "low", d.low);
    sink_number(out, "high", d.high);
    sink_number(out, "p", d.p);
    sink_end_object(out);
}

static void write_compared(const char *key, const struct rules *r, const struct rule_labels *l, int mark,
                           const struct sink *out)
{
    enum rule_group group = mark > 0 ? GROUP_MORE : GROUP_LESS;
    enum rule_group reference = rule_labels_reference(l, mark, (int)r->asked->support);
    if (l->of[group] == 0 || reference == RULE_GROUPS) {
        sink_null(out, key);
        return;
    }
    sink_begin_object(out, key);
    write_share("rule", l->with[group], l->of[group], out);
    write_share("reference", l->with[reference], l->of[reference], out);
    sink_end_object(out);
}

/* Writes how often the labels of the data set have the name, in samples with the arrangements of the rule and in those
 * with which they are compared. */
static void write_labels(const struct rules *r, const struct rule_checked *checked, const struct sink *out)
{
    if (!checked) {
        sink_null(out, "labels");
        return;
    }
    sink_begin_object(out, "labels");
    write_compared("more", r, &checked->labels, 1, out);
    write_compared("less", r, &checked->labels, -1, out);
    sink_end_object(out);
}

static void write_name(const struct rules *r, int index, int name, const struct sink *out)
{
    static const char *const orders[RULE_ORDERS] = {"first_before_second", "second_before_first"};
    const struct rule_pair *pair = &r->pair[index];
    const struct rule_counts *c = &pair->counts[name];
    char text[RULE_TEXT], first[RULE_NAME], second[RULE_NAME];
    int marks[RULE_ORDERS][RULE_BINS];
    motif_name(r, pair->first.channel, first);
    motif_name(r, pair->second.channel, second);
    sink_begin_object(out, NULL);
    sink_text(out, "name", query_token(&r->question->model->domain, TOKEN_FIRST + name));
    if (rules_marks(r, index, name, marks)) {
        rule_text(marks, pair->evidence.bins, first, second, unit_of(r), text);
        sink_text(out, "rule", text);
        sink_integer(out, "samples", rules_samples(r, index, marks));
    } else {
        sink_null(out, "rule");
        sink_null(out, "samples");
    }
    write_labels(r, rules_checked(r, index, name), out);
    write_share("neither", c->neither, c->samples, out);
    write_share("first_alone", c->first, c->samples, out);
    write_share("second_alone", c->second, c->samples, out);
    for (int o = 0; o < RULE_ORDERS; o++) {
        sink_begin_list(out, orders[o]);
        for (int b = 0; b < pair->evidence.bins; b++)
            write_arrangement(c, &pair->evidence, o, b, out);
        sink_end_list(out);
    }
    write_effect("order", &c->order, out);
    write_effect("distance", &c->distance, out);
    write_effect("strand", &c->strand, out);
    sink_end_object(out);
}

/* Returns whether the answer lists a name for a pair. The name must have a rule, or an effect that is significant after
 * a correction for the number of all effects that were measured. If the question names both channels of the pair, the
 * answer lists all names. */
static bool is_listed(const struct rules *r, int index, int name)
{
    const struct rule_pair *pair = &r->pair[index];
    const struct rule_counts *c = &pair->counts[name];
    double tests = 3.0 * r->pairs * (r->names - r->first_name);
    int marks[RULE_ORDERS][RULE_BINS];
    return pair->all || rules_marks(r, index, name, marks) || rule_difference_of(&c->order).p * tests < SURE ||
           rule_difference_of(&c->distance).p * tests < SURE || rule_difference_of(&c->strand).p * tests < SURE;
}

enum status rules_list(struct rules *r, struct error *err)
{
    r->listed = calloc((size_t)r->pairs * (size_t)r->names, sizeof *r->listed);
    if (!r->listed)
        return error_memory(err, "rules");
    for (int i = 0; i < r->pairs; i++) {
        enum status status = work_check(r->question->work, err);
        if (status)
            return status;
        for (int k = r->first_name; k < r->names; k++)
            r->listed[(ptrdiff_t)i * r->names + k] = is_listed(r, i, k);
    }
    return STATUS_OK;
}

static void write_pair(const struct rules *r, int index, const struct sink *out)
{
    const struct rule_pair *pair = &r->pair[index];
    const bool *listed = r->listed + (ptrdiff_t)index * r->names;
    int count = 0;
    for (int k = r->first_name; k < r->names; k++)
        count += listed[k];
    if (count == 0)
        return;
    sink_begin_object(out, NULL);
    write_motif(r, "first", pair->first.channel, out);
    write_motif(r, "second", pair->second.channel, out);
    sink_begin_list(out, "names");
    for (int k = r->first_name; k < r->names; k++)
        if (listed[k])
            write_name(r, index, k, out);
    sink_end_list(out);
    sink_end_object(out);
}

void rules_write(const struct rules *r, const struct sink *out)
{
    sink_integer(out, "samples", r->samples);
    sink_text(out, "unit", unit_of(r));
    sink_begin_list(out, "gaps");
    for (int b = 0; b < RULE_BINS; b++)
        sink_integer(out, NULL, rule_edges[b]);
    sink_end_list(out);
    sink_integer(out, "searched", r->searched);
    sink_integer(out, "support", r->asked->support);
    sink_integer(out, "tried", r->pairs);
    sink_integer(out, "unseen", r->unseen);
    sink_begin_list(out, "left_out");
    for (int i = 0; i < r->lefts; i++) {
        sink_begin_object(out, NULL);
        write_motif(r, "first", r->left[i].first, out);
        write_motif(r, "second", r->left[i].second, out);
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_begin_list(out, "pairs");
    for (int i = 0; i < r->pairs; i++)
        write_pair(r, i, out);
    sink_end_list(out);
}
