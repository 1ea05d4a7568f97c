/* The perturbation experiment of the paper: take a sample that the model reads correctly, move the motifs of one symbol
 * to the channel of another, and check whether the label follows.
 *
 * The channels of a symbol are those that mark it more often than any other symbol, by the confusion matrix of the
 * model. Together they must mark more than three quarters of its occurrences. Only motifs without a stronger motif
 * nearby (maximal, annotation.h) stay in the map. The choice of the two symbols is a function of the sample's index. */
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/methods/sparling/evaluation/analyses.h"
#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/queries/annotation.h"
#include "core/methods/sparling/run_state.h"

enum { ATTEMPTS = 100, PERTURB_STREAM = 0x70657274 };

/* The channel that marks the symbol most often; -1 if the channels of the symbol mark too few of its occurrences.
 * symbol_of: [channels]. */
static int channel_of(const struct motif_errors *errors, const int *symbol_of, int symbol)
{
    const int64_t *row = errors->boxes + (ptrdiff_t)symbol * (errors->channels + 1);
    int64_t sum = 0, own = 0;
    int best = -1;
    for (int c = 0; c <= errors->channels; c++)
        sum += row[c];
    for (int c = 0; c < errors->channels; c++)
        if (symbol_of[c] == symbol) {
            own += row[c];
            best = best < 0 || row[c] > row[best] ? c : best;
        }
    return sum > 0 && (double)own > 0.75 * (double)sum ? best : -1;
}

struct change {
    int from, to, channel; /* from, to: the symbols of the change; channel: the channel of the symbol `to` */
    struct domain_truth after;
};

/* Draws the two symbols of the change, and chooses the channel of the second one. Returns false if ATTEMPTS draws give
 * no possible pair. */
static bool choose_change(const struct method_run *run, const struct domain_truth *truth, const int *symbol_of,
                          int64_t index, struct change *change)
{
    const struct open_domain *domain = &run->domain;
    const struct motif_errors *errors = &run->evaluation.errors;
    struct philox from = philox_stream((uint64_t)index, PERTURB_STREAM, 0);
    for (uint64_t i = 0; truth->boxes > 0 && i < ATTEMPTS; i++) {
        change->from = truth->box[philox_u32(&from, 2 * i) % (uint32_t)truth->boxes].symbol;
        change->to = (int)(philox_u32(&from, 2 * i + 1) % (uint32_t)domain->shape.symbols);
        change->channel = channel_of(errors, symbol_of, change->to);
        if (change->from != change->to && change->channel >= 0 && channel_of(errors, symbol_of, change->from) >= 0 &&
            domain->domain->replace(domain->state, truth, change->from, change->to, &change->after))
            return true;
    }
    return false;
}

static enum status read_map(struct method_run *run, struct network *network, struct tensor *motifs, struct decoded *out,
                            struct error *err)
{
    struct network_memory memory = network_memory(&run->exec, network, motifs);
    return decode_greedy(&run->exec, network, &memory, 1, sparling_decode_steps(&run->config), out, err);
}

enum status perturb_move(struct method_run *run, const int *symbol_of, int from, int channel, float *planes,
                         struct error *err)
{
    const struct domain_shape *s = &run->domain.shape;
    int channels = (int)run->config.channels_motif, count = motif_scan(planes, channels, s->rows, s->cols, NULL, 0);
    if (count > ANNOTATION_MOTIFS)
        count = ANNOTATION_MOTIFS;
    struct motif *found = arena_alloc(run->exec.arena, ((size_t)count + 1) * sizeof *found);
    struct read_motif *motifs = arena_zalloc(run->exec.arena, (size_t)count + 1, sizeof *motifs);
    if (!found || !motifs)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to move motifs");
    motif_scan(planes, channels, s->rows, s->cols, found, count);
    for (int i = 0; i < count; i++)
        motifs[i].at = found[i];
    annotation_mark(motifs, count);
    memset(planes, 0, (size_t)channels * domain_positions(s) * sizeof *planes);
    for (int i = 0; i < count; i++) {
        const struct motif *at = &motifs[i].at;
        int to = symbol_of[at->channel] == from ? channel : at->channel;
        if (motifs[i].maximal)
            planes[((ptrdiff_t)to * s->rows + at->row) * s->cols + at->col] = at->value;
    }
    return STATUS_OK;
}

/* Tries one sample. Counts it if the model reads it correctly and a change is possible. */
static enum status try_sample(struct method_run *run, struct network *network, const int *symbol_of, int64_t index,
                              float *input, struct domain_truth *truths, struct error *err)
{
    struct analysis *a = &run->evaluation.analysis;
    struct exec *e = &run->exec;
    struct domain_request request = {.set = DOMAIN_SAMPLE, .index = index};
    struct change change = {.after = truths[1]};
    struct decoded decoded;
    enum status status = domain_sample(&run->domain, &request, input, &truths[0], err);
    if (status || !choose_change(run, &truths[0], symbol_of, index, &change))
        return status;
    exec_begin(e, false, (uint64_t)index);
    struct tensor *motifs = network_motifs(e, network, input, 1, 1);
    status = read_map(run, network, motifs, &decoded, err);
    if (status || !decoded_equals(&decoded, truths[0].label, truths[0].length))
        return status;
    float *planes =
        arena_alloc(e->arena, (size_t)motifs->map.channels * domain_positions(&run->domain.shape) * sizeof *planes);
    if (!planes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to move motifs");
    tensor_to_planes(motifs, planes);
    status = perturb_move(run, symbol_of, change.from, change.channel, planes, err);
    if (status)
        return status;
    status = read_map(run, network, tensor_from_planes(e, planes, &motifs->map, false), &decoded, err);
    if (status)
        return status;
    a->tried++;
    a->followed += decoded_equals(&decoded, change.after.label, change.after.length);
    return STATUS_OK;
}

enum status analysis_perturb(struct method_run *run, struct network *network, int64_t first, int count,
                             struct error *err)
{
    struct domain_truth *truths = NULL;
    float *input = malloc(domain_inputs(&run->domain.shape) * sizeof *input);
    int *symbol_of = malloc((size_t)run->config.channels_motif * sizeof *symbol_of);
    enum status status = domain_truths_create(&run->domain.shape, 2, &truths, err);
    if (!input || !symbol_of)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to move motifs");
    else
        motif_errors_majority(&run->evaluation.errors, MOTIF_BOXES, symbol_of);
    for (int i = 0; !status && i < count && run->evaluation.analysis.tried < run->config.perturb_samples; i++)
        status = try_sample(run, network, symbol_of, first + i, input, truths, err);
    domain_truths_destroy(truths);
    free(input);
    free(symbol_of);
    return status;
}
