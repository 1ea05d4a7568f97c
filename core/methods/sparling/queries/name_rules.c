/* Answers the query "name-rules": for each name, the smallest rule over the channels that are active in an input that
 * predicts the name as well as the model does.
 *
 * The rule is chosen by samples of the validation part (presence_rule.h) and measured by samples of the test part: how
 * well it predicts labels, and how often it says the same as the model (fidelity). A channel is active if its motif map
 * has a motif. The rule says nothing about where motifs are; the query "rules" measures order and distance. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/queries/query_model.h"
#include "core/methods/sparling/run_state.h"
#include "core/metrics/interval.h"
#include "core/metrics/presence_rule.h"

enum { BATCH = 16, RULE_ROOM = PRESENCE_PARTS * (CHANNEL_NAME_TEXT + 16) };

/* What the model and the labels say about the samples of a part; a row has a bit for each sample. */
struct part_bits {
    int64_t samples;
    size_t words;
    uint64_t *active; /* [channels][words] whether a channel is active */
    uint64_t *name;   /* [tokens][words] whether the label has a name */
    uint64_t *read;   /* [tokens][words] whether the model reads the name */
};

struct name_rules {
    const struct method_question *question;
    struct inquiry inquiry;      /* its planes have room for BATCH inputs */
    struct domain_truth *truths; /* [BATCH] */
    int channels, tokens;
    struct part_bits validation, test;
};

static enum status no_memory(struct error *err)
{
    return error_memory(err, "the rules of names");
}

/* ---- samples -------------------------------------------------------------------------------------------------- */

static void set_bit(uint64_t *row, int64_t sample)
{
    row[sample / 64] |= (uint64_t)1 << (sample % 64);
}

/* Marks the channels that have a motif in an image of a motif map. */
static void add_active(const struct name_rules *r, const struct tensor *motifs, int image, struct part_bits *part,
                       int64_t sample)
{
    const struct map_shape *s = &motifs->map;
    for (int c = 0; c < r->channels; c++)
        for (int row = 0; row < s->height; row++) {
            const real *at = motifs->data + map_offset(s, image, c / MAP_LANES, row, 0) + c % MAP_LANES;
            for (int col = 0; col < s->width; col++)
                if (at[(ptrdiff_t)col * MAP_LANES] > 0)
                    set_bit(part->active + (size_t)c * part->words, sample);
        }
}

/* Adds a batch, which begins at sample `first` of the part. */
static enum status add_batch(struct name_rules *r, struct part_bits *part, int64_t first, int count, struct error *err)
{
    struct network *network = r->question->model->network;
    struct exec *e = &r->inquiry.exec;
    struct decoded decoded[BATCH];
    exec_begin(e, false, 0);
    struct tensor *motifs = network_motifs(e, network, r->inquiry.planes, count, 1);
    struct network_memory memory = network_memory(e, network, motifs);
    enum status status = exec_status(e, err);
    if (!status)
        status = decode_greedy(e, network, &memory, count, sparling_decode_steps(&network->config), decoded, err);
    for (int i = 0; !status && i < count; i++) {
        const struct domain_truth *truth = &r->truths[i];
        add_active(r, motifs, i, part, first + i);
        for (int k = 0; k < truth->length; k++)
            if (truth->label[k] >= 0 && truth->label[k] < r->tokens)
                set_bit(part->name + (size_t)truth->label[k] * part->words, first + i);
        for (int k = 0; k < decoded[i].length; k++) {
            int name = decoded[i].tokens[k] - TOKEN_FIRST;
            if (name >= 0 && name < r->tokens)
                set_bit(part->read + (size_t)name * part->words, first + i);
        }
    }
    return status;
}

/* Reads up to `most` samples of a part. */
static enum status read_part(struct name_rules *r, int64_t seed, int64_t most, struct part_bits *part,
                             struct error *err)
{
    const struct open_domain *domain = &r->question->model->domain;
    size_t values = domain_inputs(&domain->shape);
    enum status status = STATUS_OK;
    part->words = (size_t)(most + 63) / 64;
    part->active = calloc((size_t)r->channels * part->words, sizeof *part->active);
    part->name = calloc((size_t)r->tokens * part->words, sizeof *part->name);
    part->read = calloc((size_t)r->tokens * part->words, sizeof *part->read);
    if (!part->active || !part->name || !part->read)
        return no_memory(err);
    for (bool end = false; !status && !end && part->samples < most;) {
        int count = 0;
        for (; !status && !end && count < BATCH && part->samples + count < most; count += !end) {
            const struct domain_request request = {
                .set = DOMAIN_SAMPLE, .seed = seed, .index = part->samples + count, .seen = part->samples + count};
            struct domain_record record;
            end = domain->domain->record && !domain->domain->record(domain->state, &request, &record);
            if (!end)
                status =
                    domain_sample(domain, &request, r->inquiry.planes + (size_t)count * values, &r->truths[count], err);
        }
        if (!status)
            status = work_yield(r->question->work, err);
        if (!status && count > 0)
            status = add_batch(r, part, part->samples, count, err);
        part->samples += count;
    }
    return status;
}

/* ---- the answer ----------------------------------------------------------------------------------------------- */

/* Writes the name of a channel, or its number. */
static void label_channel(const struct name_rules *r, int channel, char out[CHANNEL_NAME_TEXT])
{
    const struct method_model *model = r->question->model;
    channel_name_text(model->names ? &model->names[channel] : NULL, &model->domain, out, CHANNEL_NAME_TEXT);
    if (!out[0])
        (void)snprintf(out, CHANNEL_NAME_TEXT, "channel %d", channel);
}

/* Appends the names of facts, in parentheses if there are several, or if a name has several words of its own. */
static void append_facts(const struct name_rules *r, const int *fact, int count, char *text)
{
    char name[CHANNEL_NAME_TEXT];
    for (int i = 0; i < count; i++) {
        size_t at = strlen(text);
        label_channel(r, fact[i], name);
        bool list = count > 1 || strncmp(name, "against ", 8) == 0;
        (void)snprintf(text + at, RULE_ROOM - at, "%s%s%s",
                       list && i == 0 ? "("
                       : i > 0        ? ", "
                                      : "",
                       name, list && i == count - 1 ? ")" : "");
    }
}

/* Writes a rule as text, such as "all of (A, B) and not C". */
static void write_text(const struct name_rules *r, const struct presence_rule *rule, char text[RULE_ROOM])
{
    text[0] = '\0';
    if (rule->some > 1 && rule->least == 1)
        (void)snprintf(text, RULE_ROOM, "any of ");
    else if (rule->some > 1 && rule->least == rule->some)
        (void)snprintf(text, RULE_ROOM, "all of ");
    else if (rule->some > 1)
        (void)snprintf(text, RULE_ROOM, "at least %d of ", rule->least);
    append_facts(r, rule->fact, rule->some, text);
    size_t at = strlen(text);
    if (rule->none > 0)
        (void)snprintf(text + at, RULE_ROOM - at, "%s%s", rule->some > 0 ? " and " : "",
                       rule->none > 1 ? "none of " : "not ");
    append_facts(r, rule->fact + rule->some, rule->none, text);
    if (rule->some + rule->none == 0)
        (void)snprintf(text, RULE_ROOM, "never");
}

static void write_facts(const char *key, const struct name_rules *r, const int *fact, int count, const struct sink *out)
{
    char name[CHANNEL_NAME_TEXT];
    sink_begin_list(out, key);
    for (int i = 0; i < count; i++) {
        label_channel(r, fact[i], name);
        sink_begin_object(out, NULL);
        sink_integer(out, "channel", fact[i]);
        sink_text(out, "name", name);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static struct presence_table table_of(const struct name_rules *r, const struct part_bits *part, int token)
{
    size_t row = (size_t)token * part->words;
    return (struct presence_table){r->channels,  part->samples,    part->words,
                                   part->active, part->name + row, part->read + row};
}

static void write_number(const char *key, double value, const struct sink *out)
{
    if (isfinite(value))
        sink_number(out, key, value);
    else
        sink_null(out, key);
}

static void write_score(const char *key, const struct presence_table *table, const struct presence_rule *rule,
                        const struct sink *out)
{
    struct presence_score score = presence_rule_score(table, rule);
    struct interval same = interval_share(score.fidelity, (double)table->samples, 1.96);
    sink_begin_object(out, key);
    sink_integer(out, "samples", table->samples);
    sink_integer(out, "with", score.with);
    write_number("rule", score.rule, out);
    write_number("model", score.model, out);
    write_number("error", score.error, out);
    write_number("fidelity", score.fidelity, out);
    sink_number(out, "fidelity_low", table->samples > 0 ? same.low : 0);
    sink_number(out, "fidelity_high", table->samples > 0 ? same.high : 1);
    sink_end_object(out);
}

/* A name that no validation sample has, or that all have, gets no rule. */
static void write_name(const struct name_rules *r, int token, const struct sink *out)
{
    const struct presence_table validation = table_of(r, &r->validation, token), test = table_of(r, &r->test, token);
    struct presence_rule rule;
    char text[RULE_ROOM];
    bool good = presence_rule_find(&validation, &rule), known = isfinite(presence_rule_score(&validation, &rule).rule);
    sink_begin_object(out, NULL);
    sink_text(out, "name", r->question->model->domain.domain->token(r->question->model->domain.state, token));
    if (known) {
        write_text(r, &rule, text);
        sink_text(out, "text", text);
        sink_begin_object(out, "rule");
        sink_integer(out, "least", rule.least);
        write_facts("some", r, rule.fact, rule.some, out);
        write_facts("none", r, rule.fact + rule.some, rule.none, out);
        sink_end_object(out);
        sink_boolean(out, "as_good", good);
    } else {
        sink_null(out, "text");
        sink_null(out, "rule");
        sink_null(out, "as_good");
    }
    write_score("validation", &validation, &rule, out);
    write_score("test", &test, &rule, out);
    sink_end_object(out);
}

/* ---- the query ------------------------------------------------------------------------------------------------ */

/* Why there are no rules; NULL: there are. */
static const char *refuse(const struct open_domain *d)
{
    if (d->shape.numbers > 0)
        return "the model predicts numbers, but this query is about names";
    if (d->shape.positions)
        return "labels are classes of positions, so no name belongs to a whole input";
    if (d->domain->counts && d->shape.tokens > 0 && d->domain->counts(d->state, 0) >= 0)
        return "labels are counts, which the presence of a motif does not state";
    return NULL;
}

static enum status open_rules(struct name_rules *r, struct error *err)
{
    const struct method_model *model = r->question->model;
    r->inquiry = (struct inquiry){.question = r->question,
                                  .planes = calloc(BATCH * domain_inputs(&model->domain.shape), sizeof(float))};
    if (!r->inquiry.planes)
        return no_memory(err);
    enum status status = domain_truths_create(&model->domain.shape, BATCH, &r->truths, err);
    return status ? status : inquiry_ready(model, &r->inquiry, err);
}

static void close_part(struct part_bits *part)
{
    free(part->active);
    free(part->name);
    free(part->read);
}

enum status sparling_name_rules(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct name_rules_parameters *asked = question->parameters;
    const struct method_model *model = question->model;
    const char *why = refuse(&model->domain);
    struct name_rules r = {.question = question,
                           .channels = (int)model->network->config.channels_motif,
                           .tokens = model->domain.shape.tokens};
    if (why)
        return error_set(err, STATUS_CONFLICT, NULL, "%s", why);
    enum status status = open_rules(&r, err);
    if (!status)
        status = read_part(&r, VALIDATION_SEED, asked->samples, &r.validation, err);
    if (!status)
        status = read_part(&r, TEST_SEED, asked->samples, &r.test, err);
    if (!status) {
        sink_integer(out, "facts", PRESENCE_FACTS);
        sink_integer(out, "parts", PRESENCE_PARTS);
        sink_begin_list(out, "names");
        for (int t = 0; !status && t < r.tokens; t++) {
            write_name(&r, t, out);
            status = work_yield(question->work, err);
        }
        sink_end_list(out);
    }
    close_part(&r.validation);
    close_part(&r.test);
    domain_truths_destroy(r.truths);
    inquiry_close(&r.inquiry);
    return status;
}
