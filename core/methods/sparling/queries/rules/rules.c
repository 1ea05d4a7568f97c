/* The query "rules": how the order, the distance and the strands of two motifs change the answer of the model.
 *
 * For each pair of motifs, the query removes both motifs from the motif maps of test samples and puts them back in
 * several arrangements. The head then reads the changed maps. A motif that is put back gets the median of the values
 * that its channel has in samples. Motif maps do not show strands, so strands.c changes the inputs instead. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/queries/rules/rules_int.h"
#include "core/metrics/interval.h"

enum { PAIRS = 2048, COUNTS = 1 << 18 };
static const double SURE = 0.05;

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for rules");
}

/* ---- motifs and pairs ------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Sets the value that a motif of each channel gets in trials: the median of the channel's maxima in the samples that
 * contain it. most: [channels][samples] maxima; 0: the sample does not contain the channel. */
static void set_values(struct rules *r, float *most)
{
    for (int c = 0; c < r->channels; c++) {
        float *list = most + (size_t)c * (size_t)r->asked->samples;
        int count = 0;
        for (int64_t i = 0; i < r->samples; i++)
            if (list[i] > 0)
                list[count++] = list[i];
        qsort(list, (size_t)count, sizeof *list, by_value);
        r->with[c] = count;
        r->motif[c].value = count > 0 ? list[count / 2] : 0;
    }
}

/* Computes the maps of all samples, and from them the value that a motif of each channel gets in trials. */
static enum status measure_motifs(struct rules *r, struct error *err)
{
    const struct method_model *model = r->question->model;
    float *most = calloc((size_t)r->channels * (size_t)r->asked->samples, sizeof *most);
    enum status status = most ? STATUS_OK : no_memory(err);
    for (bool end = false; !status && r->samples < r->asked->samples;) {
        int length;
        status = method_question_stopped(r->question, err);
        if (!status)
            status = rules_sample(r, r->samples, &length, &end, err);
        if (end)
            break;
        if (!status)
            status = rules_map(r, err);
        for (int c = 0; !status && c < r->channels; c++)
            for (int i = 0; i < length; i++) {
                float *value = &most[(size_t)c * (size_t)r->asked->samples + (size_t)r->samples];
                *value = fmaxf(*value, r->map[(size_t)c * (size_t)r->cols + (size_t)i]);
            }
        r->samples++;
    }
    if (!status)
        set_values(r, most);
    free(most);
    for (int c = 0; c < r->channels; c++) {
        struct box box = {.col1 = 1};
        int row = 0, col = r->cols / 2;
        (void)channel_places_relative(&model->places, c, &box);
        channel_places_source(&model->places, c, 1, r->cols, &row, &col);
        r->motif[c].channel = c;
        r->motif[c].shift = r->cols / 2 - col;
        r->motif[c].width = box.col1 - box.col0;
    }
    return status;
}

/* Returns whether the query asks for a pair, and both its motifs occur in enough samples. */
static bool wanted(const struct rules *r, int a, int b)
{
    int64_t one = r->asked->channel, other = r->asked->other;
    bool named = (one < 0 || one == a || one == b) && (other < 0 || other == a || other == b);
    return named && (one < 0 || one != other) && r->with[a] >= RULE_LEAST && r->with[b] >= RULE_LEAST;
}

static enum status make_pairs(struct rules *r, struct error *err)
{
    int64_t count = 0;
    for (int a = 0; a < r->channels; a++)
        for (int b = a + 1; b < r->channels; b++)
            count += wanted(r, a, b);
    if (count > PAIRS || count * r->names > COUNTS)
        return error_set(err, STATUS_INVALID, "/channel",
                         "must name a channel, because the %lld pairs of this model are too many for one answer",
                         (long long)count);
    r->pair = calloc((size_t)count + 1, sizeof *r->pair);
    r->counts = calloc((size_t)count * (size_t)r->names + 1, sizeof *r->counts);
    if (!r->pair || !r->counts)
        return no_memory(err);
    for (int a = 0; a < r->channels; a++)
        for (int b = a + 1; b < r->channels; b++) {
            if (!wanted(r, a, b))
                continue;
            struct rule_counts *counts = r->counts + (size_t)r->pairs * (size_t)r->names;
            r->pair[r->pairs++] = (struct rule_pair){.first = r->motif[a],
                                                     .second = r->motif[b],
                                                     .number = (uint64_t)a << 32 | (uint64_t)b,
                                                     .counts = counts};
        }
    return STATUS_OK;
}

static enum status try_pairs(struct rules *r, struct error *err)
{
    const struct rule_reader reader = {r, r->channels, r->cols, r->names, rules_read};
    int margin = r->question->model->domain.shape.margin;
    enum status status = STATUS_OK;
    for (int64_t i = 0; !status && i < r->samples; i++) {
        int length;
        bool end;
        status = rules_sample(r, i, &length, &end, err);
        if (!status)
            status = rules_map(r, err);
        struct rule_sample sample = {.map = r->map, .from = margin, .to = length - margin, .number = (uint64_t)i};
        for (int p = 0; !status && p < r->pairs && sample.from < sample.to; p++) {
            status = method_question_stopped(r->question, err);
            if (!status)
                status = rule_try(&reader, &sample, &r->pair[p], r->maps, r->has, err);
        }
    }
    return status;
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

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

static void write_name(const struct rules *r, const struct rule_pair *pair, int name, const struct sink *out)
{
    static const char *const orders[RULE_ORDERS] = {"first_before_second", "second_before_first"};
    const struct rule_counts *c = &pair->counts[name];
    char text[RULE_TEXT], first[RULE_NAME], second[RULE_NAME];
    motif_name(r, pair->first.channel, first);
    motif_name(r, pair->second.channel, second);
    sink_begin_object(out, NULL);
    sink_text(out, "name", query_token(&r->question->model->domain, TOKEN_FIRST + name));
    if (rule_text(c, pair->tried, first, second, unit_of(r), text))
        sink_text(out, "rule", text);
    else
        sink_null(out, "rule");
    write_share("neither", c->neither, c->samples, out);
    write_share("first_alone", c->first, c->samples, out);
    write_share("second_alone", c->second, c->samples, out);
    for (int o = 0; o < RULE_ORDERS; o++) {
        sink_begin_list(out, orders[o]);
        for (int b = 0; b < RULE_BINS && pair->tried[b] > 0; b++)
            write_share(NULL, c->with[o][b], pair->tried[b], out);
        sink_end_list(out);
    }
    write_effect("order", &c->order, out);
    write_effect("distance", &c->distance, out);
    write_effect("strand", &c->strand, out);
    sink_end_object(out);
}

/* Returns whether an effect is significant after a correction for the number of all effects that were measured. */
static bool significant(const struct rules *r, const struct rule_counts *c)
{
    double tests = 3.0 * r->pairs * r->names;
    return rule_difference_of(&c->order).p * tests < SURE || rule_difference_of(&c->distance).p * tests < SURE ||
           rule_difference_of(&c->strand).p * tests < SURE;
}

static void write_pair(const struct rules *r, const struct rule_pair *pair, const struct sink *out)
{
    bool all = r->asked->channel >= 0 && r->asked->other >= 0;
    int first_name = r->question->model->network->shape.positions ? 1 : 0, listed = 0;
    for (int k = first_name; k < r->names; k++)
        listed += all || significant(r, &pair->counts[k]);
    if (listed == 0)
        return;
    sink_begin_object(out, NULL);
    write_motif(r, "first", pair->first.channel, out);
    write_motif(r, "second", pair->second.channel, out);
    sink_begin_list(out, "names");
    for (int k = first_name; k < r->names; k++)
        if (all || significant(r, &pair->counts[k]))
            write_name(r, pair, k, out);
    sink_end_list(out);
    sink_end_object(out);
}

static void write_rules(const struct rules *r, const struct sink *out)
{
    sink_integer(out, "samples", r->samples);
    sink_text(out, "unit", unit_of(r));
    sink_begin_list(out, "gaps");
    for (int b = 0; b < RULE_BINS; b++)
        sink_integer(out, NULL, rule_edges[b]);
    sink_end_list(out);
    sink_integer(out, "tried", r->pairs);
    sink_begin_list(out, "pairs");
    for (int i = 0; i < r->pairs; i++)
        write_pair(r, &r->pair[i], out);
    sink_end_list(out);
}

/* ---- the query ------------------------------------------------------------------------------------------------- */

static enum status check(const struct rules *r, struct error *err)
{
    if (r->question->model->domain.shape.rows > 1)
        return error_set(err, STATUS_CONFLICT, NULL, "rules are measured in sequences; this model reads images");
    if (r->asked->channel >= r->channels || r->asked->other >= r->channels)
        return error_set(err, STATUS_INVALID, r->asked->channel >= r->channels ? "/channel" : "/other",
                         "must be below %d, the number of channels", r->channels);
    return STATUS_OK;
}

static enum status open_rules(struct rules *r, struct error *err)
{
    const struct method_model *model = r->question->model;
    size_t map = (size_t)r->channels * (size_t)r->cols;
    r->inquiry = (struct inquiry){.question = r->question,
                                  .planes = malloc(domain_inputs(&model->domain.shape) * sizeof(float))};
    r->motif = calloc((size_t)r->channels, sizeof *r->motif);
    r->with = calloc((size_t)r->channels, sizeof *r->with);
    r->map = malloc(map * sizeof *r->map);
    r->maps = malloc(RULE_MAPS * map * sizeof *r->maps);
    r->has = calloc((size_t)RULE_MAPS * (size_t)r->names, sizeof *r->has);
    if (!r->inquiry.planes || !r->motif || !r->with || !r->map || !r->maps || !r->has)
        return no_memory(err);
    return inquiry_ready(model, &r->inquiry, err);
}

static enum status measure(struct rules *r, struct error *err)
{
    enum status status = measure_motifs(r, err);
    if (status)
        return status;
    status = make_pairs(r, err);
    if (status)
        return status;
    status = try_pairs(r, err);
    return status || !r->strands || r->pairs == 0 ? status : rules_strands(r, err);
}

enum status sparling_rules(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct open_domain *domain = &question->model->domain;
    const struct alphabet *alphabet = domain_alphabet(domain);
    struct rules r = {.question = question,
                      .asked = question->parameters,
                      .channels = (int)question->model->network->config.channels_motif,
                      .cols = domain->shape.cols,
                      .names = domain->shape.tokens,
                      .strands = alphabet != NULL && alphabet->strands == 2};
    if (domain->shape.numbers > 0)
        return error_set(
            err, STATUS_CONFLICT, NULL,
            "the model predicts numbers, but this query compares names; the query interventions shows how a "
            "motif changes the numbers");
    enum status status = check(&r, err);
    if (status)
        return status;
    status = open_rules(&r, err);
    if (!status)
        status = measure(&r, err);
    if (!status)
        write_rules(&r, out);
    inquiry_close(&r.inquiry);
    free(r.motif);
    free(r.with);
    free(r.pair);
    free(r.counts);
    free(r.map);
    free(r.maps);
    free(r.has);
    return status;
}
