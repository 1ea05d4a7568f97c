/* The query "rules": how the order, the distance and the strands of two motifs change the answer of the model.
 *
 * For each pair of motifs, the query removes both motifs from the motif maps of test samples and puts them back in
 * several arrangements. The head then reads the changed maps. A motif that is put back gets the median of the values
 * that its channel has in samples. Motif maps do not show strands, so strands.c changes the inputs instead.
 *
 * The query says only what the data support. It leaves out arrangements that the data set seldom contains (support.c).
 * The intervals of all arrangements hold simultaneously. For each arrangement that seems to have a rule, the query
 * measures controls (effects.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"

#include "core/methods/sparling/queries/rules/rules_int.h"

enum { PAIRS = 2048, COUNTS = 1 << 18, STREAM_THIRD = 0x74686972 };

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
    r->sets = calloc((size_t)count * RULE_SETS + 1, sizeof *r->sets);
    r->left = calloc((size_t)count + 1, sizeof *r->left);
    if (!r->pair || !r->counts || !r->sets || !r->left)
        return no_memory(err);
    for (int a = 0; a < r->channels; a++)
        for (int b = a + 1; b < r->channels; b++) {
            if (!wanted(r, a, b))
                continue;
            struct rule_counts *counts = r->counts + (size_t)r->pairs * (size_t)r->names;
            r->pair[r->pairs++] = (struct rule_pair){.first = r->motif[a],
                                                     .second = r->motif[b],
                                                     .number = (uint64_t)a << 32 | (uint64_t)b,
                                                     .all = r->asked->channel >= 0 && r->asked->other >= 0,
                                                     .counts = counts};
        }
    return STATUS_OK;
}

/* Returns how many samples of the data set contain a pair in an arrangement that is frequent enough. */
static int seen_samples(const struct rules *r, int pair)
{
    int seen[RULE_ORDERS][RULE_BINS];
    for (int o = 0; o < RULE_ORDERS; o++)
        for (int b = 0; b < RULE_BINS; b++)
            seen[o][b] = r->pair[pair].evidence.seen[o][b];
    return rules_samples(r, pair, seen);
}

struct ranked {
    int pair, samples;
};

static int by_samples(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->samples != y->samples ? (x->samples < y->samples) - (x->samples > y->samples)
                                    : (x->pair > y->pair) - (x->pair < y->pair);
}

/* Keeps a pair only if the data set contains an arrangement of the pair often enough. If the limit of trials does not
 * allow all these pairs, keeps the most frequent ones. If the question names both channels of a pair, the pair always
 * stays. */
static enum status keep_pairs(struct rules *r, struct error *err)
{
    int most = r->samples > 0 ? (int)(r->asked->trials / r->samples) : 0, kept = 0;
    struct ranked *ranked = calloc((size_t)r->pairs + 1, sizeof *ranked);
    bool *stays = calloc((size_t)r->pairs + 1, sizeof *stays);
    most = most < 1 ? 1 : most;
    if (!ranked || !stays) {
        free(ranked);
        free(stays);
        return no_memory(err);
    }
    for (int i = 0; i < r->pairs; i++)
        ranked[i] = (struct ranked){i, seen_samples(r, i)};
    qsort(ranked, (size_t)r->pairs, sizeof *ranked, by_samples);
    for (int i = 0; i < r->pairs; i++)
        stays[ranked[i].pair] = r->pair[ranked[i].pair].all || (i < most && ranked[i].samples > 0);
    for (int i = most; i < r->pairs && ranked[i].samples > 0; i++)
        r->left[r->lefts++] =
            (struct rule_left){r->pair[ranked[i].pair].first.channel, r->pair[ranked[i].pair].second.channel};
    for (int i = 0; i < r->pairs; i++) {
        if (!stays[i])
            continue;
        r->pair[kept] = r->pair[i];
        memmove(r->sets + (size_t)kept * RULE_SETS, r->sets + (size_t)i * RULE_SETS, RULE_SETS * sizeof *r->sets);
        kept++;
    }
    r->unseen = r->pairs - kept - r->lefts;
    r->pairs = kept;
    free(ranked);
    free(stays);
    return STATUS_OK;
}

/* ---- trials ---------------------------------------------------------------------------------------------------- */

/* Calls `try` for all samples that have room for motifs. */
static enum status each_sample(struct rules *r,
                               enum status (*try)(struct rules *, const struct rule_sample *, struct error *),
                               struct error *err)
{
    int margin = r->question->model->domain.shape.margin;
    enum status status = STATUS_OK;
    for (int64_t i = 0; !status && i < r->samples; i++) {
        int length;
        bool end;
        status = rules_sample(r, i, &length, &end, err);
        if (!status)
            status = rules_map(r, err);
        struct rule_sample sample = {.map = r->map, .from = margin, .to = length - margin, .number = (uint64_t)i};
        if (!status && sample.from < sample.to)
            status = try(r, &sample, err);
    }
    return status;
}

static struct rule_reader reader_of(struct rules *r)
{
    return (struct rule_reader){r, r->channels, r->cols, r->names, rules_read};
}

static enum status try_pairs(struct rules *r, const struct rule_sample *sample, struct error *err)
{
    const struct rule_reader reader = reader_of(r);
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < r->pairs; i++) {
        status = method_question_stopped(r->question, err);
        if (!status)
            status = rule_try(&reader, sample, &r->pair[i], r->maps, r->has, err);
    }
    return status;
}

/* Adds to r->single, for each channel, the trials of one sample with neither motif and with this motif alone. */
static enum status try_singles(struct rules *r, const struct rule_sample *sample, struct error *err)
{
    const struct rule_reader reader = reader_of(r);
    enum status status = STATUS_OK;
    for (int c = 0; !status && c < r->channels; c++) {
        struct rule_pair pair = {.first = r->motif[c],
                                 .second = r->motif[c],
                                 .number = (uint64_t)c << 32 | (uint64_t)c,
                                 .counts = r->single + (ptrdiff_t)c * r->names};
        status = method_question_stopped(r->question, err);
        if (!status && r->with[c] >= RULE_LEAST)
            status = rule_try(&reader, sample, &pair, r->maps, r->has, err);
    }
    return status;
}

/* Returns whether a motif may replace one of a pair in controls: it is not in the pair, occurs in enough samples, and
 * does not itself change how often the model answers a name for which the pair seems to have a rule. */
static bool may_replace(const struct rules *r, int channel, int pair)
{
    const bool *wanted = r->doubtful + (ptrdiff_t)pair * r->names;
    if (channel == r->pair[pair].first.channel || channel == r->pair[pair].second.channel ||
        r->with[channel] < RULE_LEAST)
        return false;
    for (int k = 0; k < r->names; k++) {
        const struct rule_counts *alone = &r->single[(ptrdiff_t)channel * r->names + k];
        if (wanted[k] && abs(alone->first - alone->neither) >= RULE_CLEAR * alone->samples)
            return false;
    }
    return true;
}

/* Draws the motif that replaces one of a pair in controls. Returns NULL if there is none. */
static const struct rule_motif *draw_third(const struct rules *r, const struct rule_sample *sample, int pair)
{
    struct philox from = philox_stream(sample->number, STREAM_THIRD, r->pair[pair].number);
    int others = 0, chosen;
    for (int c = 0; c < r->channels; c++)
        others += may_replace(r, c, pair);
    chosen = others > 0 ? (int)(philox_u32(&from, 0) % (uint32_t)others) : -1;
    for (int c = 0; c < r->channels && chosen >= 0; c++)
        if (may_replace(r, c, pair) && chosen-- == 0)
            return &r->motif[c];
    return NULL;
}

/* Tries the controls of the bins in which a pair seems to have a rule. */
static enum status try_controls(struct rules *r, const struct rule_sample *sample, int pair, struct error *err)
{
    const struct rule_reader reader = reader_of(r);
    bool wanted[RULE_BINS] = {false}, any = false;
    for (int k = r->first_name; k < r->names; k++) {
        int marks[RULE_ORDERS][RULE_BINS];
        if (!r->doubtful[(ptrdiff_t)pair * r->names + k])
            continue;
        any = true;
        (void)rule_mark(&r->pair[pair].counts[k], &r->pair[pair].evidence, r->quantile, false, marks);
        for (int b = 0; b < RULE_BINS; b++)
            wanted[b] = wanted[b] || marks[FIRST_BEFORE_SECOND][b] != 0 || marks[SECOND_BEFORE_FIRST][b] != 0;
    }
    return any ? rule_try_controls(&reader, sample, &r->pair[pair], draw_third(r, sample, pair), wanted, r->maps,
                                   r->has, err)
               : STATUS_OK;
}

static enum status control_pairs(struct rules *r, const struct rule_sample *sample, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < r->pairs; i++) {
        status = method_question_stopped(r->question, err);
        if (!status)
            status = try_controls(r, sample, i, err);
    }
    return status;
}

/* Returns the number of intervals that decide about rules: one for each name and each arrangement that is seen. */
static double count_tests(const struct rules *r)
{
    double tests = 0;
    for (int i = 0; i < r->pairs; i++)
        for (int o = 0; o < RULE_ORDERS; o++)
            for (int b = 0; b < RULE_BINS; b++)
                tests += r->pair[i].evidence.seen[o][b] && r->pair[i].evidence.tried[b] > 0;
    return tests * (r->names - r->first_name);
}

/* Measures the controls of the arrangements that seem to have a rule. */
static enum status measure_controls(struct rules *r, struct error *err)
{
    bool any = false;
    r->quantile = rule_quantile(count_tests(r));
    r->doubtful = calloc((size_t)r->pairs * (size_t)r->names + 1, sizeof *r->doubtful);
    r->single = calloc((size_t)r->channels * (size_t)r->names, sizeof *r->single);
    if (!r->doubtful || !r->single)
        return no_memory(err);
    for (int i = 0; i < r->pairs; i++)
        for (int k = r->first_name; k < r->names; k++) {
            int marks[RULE_ORDERS][RULE_BINS];
            bool marked = rule_mark(&r->pair[i].counts[k], &r->pair[i].evidence, r->quantile, false, marks);
            r->doubtful[(ptrdiff_t)i * r->names + k] = marked;
            any = any || marked;
        }
    if (!any)
        return STATUS_OK;
    enum status status = each_sample(r, try_singles, err);
    return status ? status : each_sample(r, control_pairs, err);
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
    status = rules_support(r, err);
    if (status)
        return status;
    status = keep_pairs(r, err);
    if (status)
        return status;
    status = each_sample(r, try_pairs, err);
    if (status)
        return status;
    status = measure_controls(r, err);
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
                      .first_name = question->model->network->shape.positions ? 1 : 0,
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
        rules_write(&r, out);
    inquiry_close(&r.inquiry);
    free(r.motif);
    free(r.with);
    free(r.pair);
    free(r.counts);
    free(r.sets);
    free(r.left);
    free(r.doubtful);
    free(r.single);
    free(r.map);
    free(r.maps);
    free(r.has);
    return status;
}
