/* Computes the statistics of top_activations.h.
 *
 * Maps are computed a few samples at a time and scanned once. Only counts, a histogram and the strongest places of each
 * channel are kept, so memory does not grow with the number of samples. Pictures draw the inputs again. */
#include "core/methods/sparling/queries/top_activations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/methods/sparling/run_state.h"

const char *const channel_sets[] = {"examples", "test", "validation", "training", NULL};

/* ---- counting -------------------------------------------------------------------------------------- */

/* Doubles the range of the histogram, joining bins in pairs, until the value fits. The value must be finite. */
static void top_activations_widen(struct top_activations_channel *c, double value)
{
    if (c->range <= 0)
        for (c->range = 1.0 / 1024; c->range <= value;)
            c->range *= 2;
    while (c->range <= value) {
        for (int i = 0; i < TOP_ACTIVATIONS_BINS / 2; i++)
            c->bin[i] = c->bin[2 * i] + c->bin[2 * i + 1];
        memset(c->bin + TOP_ACTIVATIONS_BINS / 2, 0, TOP_ACTIVATIONS_BINS / 2 * sizeof *c->bin);
        c->range *= 2;
    }
}

static void add_value(struct top_activations_channel *c, float value)
{
    top_activations_widen(c, (double)value);
    c->bin[(int)((double)value / c->range * TOP_ACTIVATIONS_BINS)]++;
    c->active++;
    c->sum += (double)value;
    c->most = value > c->most ? value : c->most;
}

/* Whether the list contains this input already. If more samples are requested than a set has, the set repeats, so the
 * same input can come twice, under different numbers of samples. */
static bool top_activations_listed(const struct top_activations_channel *c, const struct top_activations_top *candidate)
{
    for (int i = 0; i < c->count; i++)
        if (memcmp(c->top[i].input, candidate->input, HASH_BYTES) == 0)
            return true;
    return false;
}

static void add_top(struct top_activations_channel *c, int most, const struct top_activations_top *candidate)
{
    if ((c->count == most && c->top[most - 1].at.value >= candidate->at.value) || top_activations_listed(c, candidate))
        return;
    int at = c->count < most ? c->count++ : most - 1;
    for (; at > 0 && c->top[at - 1].at.value < candidate->at.value; at--)
        c->top[at] = c->top[at - 1];
    c->top[at] = *candidate;
}

static int symbol_at(const struct domain_truth *truth, const struct motif *at)
{
    for (int i = 0; i < truth->boxes; i++) {
        const struct box *box = &truth->box[i];
        if (at->row >= box->row0 && at->row < box->row1 && at->col >= box->col0 && at->col < box->col1)
            return box->symbol;
    }
    return -1;
}

/* One input of the batch: its number in the set, its truth, and the digest of its planes. */
struct counted {
    int64_t sample;
    const struct domain_truth *truth;
    unsigned char input[HASH_BYTES];
};

/* Adds one sample. found: all active elements, sorted by channel. STATUS_CONFLICT if a value is not finite, because no
 * bin of a histogram can contain such a value. */
static enum status count_sample(struct top_activations *s, const struct motif *found, int count,
                                const struct counted *one, struct error *err)
{
    for (int i = 0, end; i < count; i = end) {
        struct top_activations_channel *c = &s->channel[found[i].channel];
        const struct motif *best = &found[i];
        for (end = i; end < count && found[end].channel == found[i].channel; end++) {
            if (!isfinite(found[end].value))
                return error_set(err, STATUS_CONFLICT, NULL,
                                 "the motif map of sample %lld is not finite in channel %d, so the model has no "
                                 "statistics of channels; use a checkpoint with smaller weights",
                                 (long long)one->sample, found[end].channel);
            add_value(c, found[end].value);
            best = found[end].value > best->value ? &found[end] : best;
        }
        struct top_activations_top top = {
            .sample = one->sample, .at = *best, .symbol = s->truth ? symbol_at(one->truth, best) : -1};
        memcpy(top.input, one->input, sizeof top.input);
        c->inputs++;
        add_top(c, (int)s->asked.top, &top);
    }
    return STATUS_OK;
}

static enum status add_site(struct top_activations *s, const struct motif *at, int64_t sample, struct error *err)
{
    struct top_activations_site *more = grown(s->site, s->sites, sizeof *more);
    if (!more)
        return error_memory(err, "the sites of motifs");
    s->site = more;
    s->site[s->sites++] = (struct top_activations_site){sample, at->channel, at->col};
    return STATUS_OK;
}

static enum status count_maximal(struct top_activations *s, const struct read_motif *motifs, int count,
                                 const struct counted *one, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < count; i++) {
        const struct motif *at = &motifs[i].at;
        if (!motifs[i].maximal)
            continue;
        int symbol = s->truth ? symbol_at(one->truth, at) : -1;
        s->channel[at->channel].motifs++;
        s->channel[at->channel].symbol[symbol >= 0 ? symbol : s->symbols]++;
        if (s->alphabet)
            status = add_site(s, at, one->sample, err);
    }
    return status;
}

static enum status add_map(struct top_activations *s, struct arena *arena, const float *planes,
                           const struct counted *one, struct error *err)
{
    const struct domain_shape *shape = &s->model->domain.shape;
    int all = motif_scan(planes, s->channels, shape->rows, shape->cols, NULL, 0);
    struct motif *found = arena_alloc(arena, ((size_t)all + 1) * sizeof *found);
    struct read_motif *motifs = NULL;
    s->sparse = s->sparse && all <= ANNOTATION_MOTIFS;
    if (s->sparse)
        motifs = arena_zalloc(arena, (size_t)all + 1, sizeof *motifs);
    if (!found || (s->sparse && !motifs))
        return error_memory(err, "the statistics of channels");
    motif_scan(planes, s->channels, shape->rows, shape->cols, found, all);
    enum status status = count_sample(s, found, all, one, err);
    if (status || !motifs)
        return status;
    for (int i = 0; i < all; i++)
        motifs[i].at = found[i];
    annotation_mark(motifs, all);
    return count_maximal(s, motifs, all, one, err);
}

/* ---- samples --------------------------------------------------------------------------------------- */

enum status top_activations_sample(const struct top_activations *statistics, int64_t index, float *planes,
                                   struct domain_truth *truth, struct error *err)
{
    static const int64_t seeds[] = {
        [CHANNELS_EXAMPLES] = 0, [CHANNELS_TEST] = TEST_SEED, [CHANNELS_VALIDATION] = VALIDATION_SEED};
    const struct method_model *model = statistics->model;
    struct domain_request request = {.set = DOMAIN_SAMPLE, .index = index};
    if (statistics->asked.set == CHANNELS_EXAMPLES)
        request.set = DOMAIN_EXAMPLE;
    else
        request.seed =
            statistics->asked.set == CHANNELS_TRAINING ? model->network->config.seed : seeds[statistics->asked.set];
    return domain_sample(&model->domain, &request, planes, truth, err);
}

static enum status add_batch(struct top_activations *s, struct inquiry *inquiry, struct domain_truth *truths,
                             int64_t first, int count, struct error *err)
{
    const struct method_model *model = s->model;
    size_t input = domain_inputs(&model->domain.shape),
           map = (size_t)s->channels * domain_positions(&model->domain.shape);
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < count; i++)
        status = top_activations_sample(s, first + i, inquiry->planes + (size_t)i * input, &truths[i], err);
    if (status)
        return status;
    exec_begin(&inquiry->exec, false, 0);
    struct tensor *motifs = network_motifs(&inquiry->exec, model->network, inquiry->planes, count, 1);
    status = exec_status(&inquiry->exec, err);
    float *planes = status ? NULL : arena_alloc(&inquiry->space.arena, (size_t)count * map * sizeof *planes);
    if (!status && !planes)
        status = error_memory(err, "the statistics of channels");
    if (!status)
        tensor_to_planes(motifs, planes);
    for (int i = 0; !status && i < count; i++)
        status = channel_places_move(&model->places, s->channels, model->domain.shape.rows, model->domain.shape.cols,
                                     planes + (size_t)i * map, err);
    for (int i = 0; !status && i < count; i++) {
        struct counted one = {.sample = first + i, .truth = &truths[i]};
        hash_bytes(inquiry->planes + (size_t)i * input, input * sizeof(float), one.input);
        status = add_map(s, &inquiry->space.arena, planes + (size_t)i * map, &one, err);
    }
    return status;
}

static enum status make_room(struct top_activations *s, struct error *err)
{
    s->channel = calloc((size_t)s->channels, sizeof *s->channel);
    for (int i = 0; s->channel && i < s->channels; i++) {
        s->channel[i].top = calloc((size_t)s->asked.top, sizeof *s->channel[i].top);
        s->channel[i].symbol = calloc((size_t)s->symbols + 1, sizeof *s->channel[i].symbol);
        if (!s->channel[i].top || !s->channel[i].symbol)
            return error_memory(err, "the statistics of channels");
    }
    return s->channel ? STATUS_OK : error_memory(err, "the statistics of channels");
}

enum status top_activations_take(const struct method_question *question, struct top_activations *out, struct error *err)
{
    const struct method_model *model = question->model;
    const struct channels_parameters *asked = question->parameters;
    const struct domain_shape *shape = &model->domain.shape;
    struct inquiry inquiry = {.planes = malloc(TOP_ACTIVATIONS_BATCH * domain_inputs(shape) * sizeof(float))};
    *out = (struct top_activations){.model = model,
                                    .asked = *asked,
                                    .channel_asked = question->item,
                                    .channels = (int)model->network->config.channels_motif,
                                    .symbols = shape->symbols,
                                    .half = model->network->map.reach / 2,
                                    .truth = shape->boxes > 0,
                                    .alphabet = domain_alphabet(&model->domain),
                                    .sparse = true};
    enum status status = make_room(out, err);
    if (!status && question->item >= out->channels)
        status = error_set(err, STATUS_NOT_FOUND, NULL, "the motif map has %d channels", out->channels);
    if (!status && !inquiry.planes)
        status = error_memory(err, "the statistics of channels");
    if (!status)
        status = domain_truths_create(shape, TOP_ACTIVATIONS_BATCH, &inquiry.truth, err);
    if (!status)
        status = inquiry_ready(model, &inquiry, err);
    for (int64_t i = 0; !status && i < asked->samples; i += TOP_ACTIVATIONS_BATCH) {
        int64_t left = asked->samples - i;
        status = work_check(question->work, err);
        if (!status)
            status = add_batch(out, &inquiry, inquiry.truth, asked->first + i,
                               (int)(left < TOP_ACTIVATIONS_BATCH ? left : TOP_ACTIVATIONS_BATCH), err);
    }
    inquiry_close(&inquiry);
    return status;
}

void top_activations_close(struct top_activations *statistics)
{
    for (int i = 0; statistics->channel && i < statistics->channels; i++) {
        free(statistics->channel[i].top);
        free(statistics->channel[i].symbol);
    }
    free(statistics->channel);
    free(statistics->site);
    statistics->channel = NULL;
    statistics->site = NULL;
}

int top_activations_symbol(const struct top_activations *statistics, const struct top_activations_channel *channel,
                           int64_t *count)
{
    int best = -1;
    *count = 0;
    for (int i = 0; statistics->truth && statistics->sparse && i < statistics->symbols; i++)
        if (channel->symbol[i] > *count) {
            best = i;
            *count = channel->symbol[i];
        }
    return best;
}
