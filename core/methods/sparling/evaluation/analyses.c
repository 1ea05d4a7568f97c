/* Parts of an evaluation beyond the motif and end-to-end errors.
 *
 * - SINGLE (Table 2 of the paper): each sample has one symbol. The channel with the largest score before the ReLU wins.
 *   A channel stands for the symbol for which it wins most often.
 * - BINNING (Appendix H): the first half of the samples calibrates bins of activations. The other half is decoded from
 *   the motif map, and from maps whose activations are replaced by the mean of their bin.
 * - PERTURB is in perturb.c.
 *
 * The counts are not saved. A run that is loaded in the middle of such a part repeats the part, with the same
 * result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/methods/sparling/evaluation/analyses.h"
#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/run_state.h"
#include "core/metrics/binning.h"

/* ---- single motifs ----------------------------------------------------------------------------------- */

enum status analysis_single(struct method_run *run, struct network *network, int64_t first, int count,
                            struct error *err)
{
    struct analysis *a = &run->evaluation.analysis;
    struct exec *e = &run->exec;
    const struct domain_shape *shape = &run->single.shape;
    int channels = (int)run->config.channels_motif, symbols = shape->symbols;
    exec_begin(e, false, (uint64_t)first);
    float *planes = arena_alloc(e->arena, (size_t)count * domain_inputs(shape) * sizeof *planes);
    int32_t *symbol = arena_zalloc(e->arena, (size_t)count, sizeof *symbol);
    if (!a->single)
        a->single = calloc((size_t)channels * (size_t)symbols, sizeof *a->single);
    if (!planes || !symbol || !a->single)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to evaluate single motifs");
    for (int i = 0; i < count; i++) {
        struct domain_request request = {.set = DOMAIN_SAMPLE, .seed = run->evaluation.seed, .index = first + i};
        struct domain_truth truth = {.label = &symbol[i]};
        enum status status =
            domain_sample(&run->single, &request, planes + (size_t)i * domain_inputs(shape), &truth, err);
        if (status)
            return status;
    }
    struct tensor *scores = network_scores(e, network, planes, count, shape);
    struct tensor *most = op_max_pool_rows(e, scores, shape->rows, shape->cols);
    enum status status = exec_status(e, err);
    for (int i = 0; !status && i < count; i++) {
        const real *score = most->data + (size_t)i * (size_t)channels;
        int best = 0;
        for (int c = 1; c < channels; c++)
            best = score[c] > score[best] ? c : best;
        a->single[best * symbols + symbol[i]]++;
    }
    return status;
}

/* Returns the share of samples in which the winning channel does not stand for the symbol of the sample. */
static double single_error(const struct method_run *run)
{
    int channels = (int)run->config.channels_motif, symbols = run->single.shape.symbols;
    int64_t right = 0, all = 0;
    for (int c = 0; c < channels; c++) {
        const int64_t *count = run->evaluation.analysis.single + (ptrdiff_t)c * symbols;
        int64_t most = 0;
        for (int s = 0; s < symbols; s++) {
            most = count[s] > most ? count[s] : most;
            all += count[s];
        }
        right += most;
    }
    return 1 - (double)right / (double)all;
}

/* ---- binning ----------------------------------------------------------------------------------------- */

static const int bins_of[BINNINGS] = {16, 8, 4, 2};

static int compare_values(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static bool keep_value(struct activations *list, float value)
{
    if (list->count == ACTIVATIONS_MOST)
        return true;
    float *values = grown(list->values, list->count, sizeof *values);
    if (!values)
        return false;
    list->values = values;
    list->values[list->count++] = value;
    return true;
}

static enum status calibrate_bins(struct method_run *run, const float *planes, int images, struct error *err)
{
    struct analysis *a = &run->evaluation.analysis;
    size_t channels = (size_t)run->config.channels_motif, positions = domain_positions(&run->domain.shape);
    if (!a->lists)
        a->lists = calloc(channels, sizeof *a->lists);
    bool room = a->lists != NULL;
    for (size_t i = 0; room && i < (size_t)images * channels * positions; i++)
        if (planes[i] > 0)
            room = keep_value(&a->lists[i / positions % channels], planes[i]);
    return room ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to calibrate bins");
}

static enum status make_bins(struct method_run *run, struct error *err)
{
    struct analysis *a = &run->evaluation.analysis;
    size_t channels = (size_t)run->config.channels_motif;
    a->bins = calloc(channels * BINNINGS, sizeof *a->bins);
    if (!a->bins)
        return error_memory(err, "bins");
    for (size_t c = 0; c < channels; c++) {
        struct activations *list = &a->lists[c];
        if (list->count == 0)
            continue; /* without bins, later activations of this channel stay as they are */
        qsort(list->values, list->count, sizeof *list->values, compare_values);
        for (int i = 0; i < BINNINGS; i++)
            binning_make(&a->bins[c * BINNINGS + (size_t)i], bins_of[i], list->values, list->count);
    }
    return STATUS_OK;
}

/* Adds the edit errors of the labels read from a binned map. binning -1: from the unchanged map. */
static enum status read_binned(struct method_run *run, struct network *network, const struct batch *batch,
                               const struct map_shape *map, const float *planes, int binning, struct error *err)
{
    struct analysis *a = &run->evaluation.analysis;
    struct exec *e = &run->exec;
    int count = batch->request.count;
    size_t channels = (size_t)run->config.channels_motif, positions = domain_positions(&run->domain.shape);
    size_t elements = (size_t)count * channels * positions;
    real *values = arena_alloc(e->arena, elements * sizeof *values);
    struct decoded *decoded = arena_zalloc(e->arena, (size_t)count, sizeof *decoded);
    if (!values || !decoded)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to evaluate bins");
    for (size_t i = 0; i < elements; i++) {
        const struct binning *bins =
            binning < 0 ? NULL : &a->bins[i / positions % channels * BINNINGS + (size_t)binning];
        values[i] = bins && bins->bins > 0 && planes[i] > 0 ? (real)binning_apply(bins, (double)planes[i]) : planes[i];
    }
    struct network_memory memory = network_memory(e, network, tensor_from_planes(e, values, map, false));
    enum status status = decode_greedy(e, network, &memory, count, sparling_decode_steps(&run->config), decoded, err);
    for (int i = 0; !status && i < count; i++)
        a->edits[binning + 1] += decoded_edit_error(&decoded[i], batch->truths[i].label, batch->truths[i].length);
    return status;
}

enum status analysis_binning(struct method_run *run, struct network *network, const struct batch *batch, int64_t first,
                             struct error *err)
{
    struct exec *e = &run->exec;
    int count = batch->request.count;
    exec_begin(e, false, (uint64_t)first);
    struct tensor *motifs = network_motifs(e, network, batch->images, count, 1);
    enum status status = exec_status(e, err);
    if (status)
        return status;
    size_t elements = (size_t)count * (size_t)run->config.channels_motif * domain_positions(&run->domain.shape);
    float *planes = arena_alloc(e->arena, elements * sizeof *planes);
    if (!planes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to evaluate bins");
    tensor_to_planes(motifs, planes);
    if (first < run->config.binning_samples)
        return calibrate_bins(run, planes, count, err);
    if (!run->evaluation.analysis.bins)
        status = make_bins(run, err);
    struct arena_mark mark = arena_mark(e->arena);
    for (int i = -1; !status && i < BINNINGS; i++) {
        status = read_binned(run, network, batch, &motifs->map, planes, i, err);
        exec_release(e, mark);
    }
    return status;
}

/* ---- ends -------------------------------------------------------------------------------------------- */

void analysis_clear(struct method_run *run)
{
    struct analysis *a = &run->evaluation.analysis;
    for (int64_t c = 0; a->lists && c < run->config.channels_motif; c++)
        free(a->lists[c].values);
    free(a->lists);
    free(a->bins);
    free(a->single);
    *a = (struct analysis){0};
}

void analysis_finish(struct method_run *run)
{
    struct evaluation *e = &run->evaluation;
    struct evaluation_row *row = &e->row[e->at];
    if (e->part == PART_SINGLE)
        row->single = single_error(run);
    else if (e->part == PART_PERTURB)
        row->perturbed = e->analysis.tried > 0 ? (double)e->analysis.followed / (double)e->analysis.tried : NAN;
    else
        for (int i = 0; i < BINNINGS; i++)
            row->binning[i] = (e->analysis.edits[i + 1] - e->analysis.edits[0]) / (double)run->config.binning_samples;
    analysis_clear(run);
}
