/* Costs of a configuration, computed from shapes alone: parameters, multiply-adds, bytes.
 *
 * The counts follow the layers of model/network.c one by one, and a test compares them with the network's parameter
 * table. The maps that the backward pass of g needs take most of the memory. */
#include "core/methods/sparling/config.h"

#include <math.h>

#include "core/autodiff/ops.h"
#include "core/kernels/kernels.h"
#include "core/methods/sparling/evaluation/compare_reference.h"
#include "core/methods/sparling/model/matrix_scores.h"
#include "core/metrics/motif_errors.h"
#include "core/metrics/ranking.h"
#include "core/nn/dilated.h"
#include "core/genomics/genomics.h"

int64_t sparling_parameters_g(const struct sparling_config *c)
{
    int64_t w = c->width, m = c->channels_motif;
    struct sparling_geometry map = sparling_geometry(c);
    const struct domain_shape shape = domain_shape(c);
    int64_t taps = (int64_t)map.kernel_h * map.kernel_w, unit = 2 * (2 * w) + 2 * (taps * w * w + w);
    int64_t narrow = 2 * (2 * w) + 2 * (w * w + w);
    int64_t planes = (int64_t)domain_planes_read(&shape) * map.stride * map.stride;
    return (planes * map.first_h * map.first_w * w + w) + c->units * unit + c->narrow_units * narrow + (w * m + m);
}

int64_t sparling_parameters_sparse(const struct sparling_config *c)
{
    int64_t names = sparling_presence_names(c), parts = sparling_parts(c);
    int64_t presence = 2 * names * parts; /* a gain and a bias for each channel of a name */
    int64_t numbers = domain_shape(c).numbers;
    if (parts > 1) /* an effect of each channel, and a base for each name */
        presence += names * parts + names;
    if (sparling_guided(c) && numbers > 0) /* a gain and a bias for each channel, and a linear layer */
        presence = 2 * c->channels_motif + c->channels_motif * numbers + numbers;
    return presence + (c->batch_norm == BATCH_NORM_AFFINE ? 2 * c->channels_motif : 0);
}

/* Number of parameters of the dilated head, norms included. */
static int64_t dilated_parameters(const struct sparling_config *c)
{
    int64_t d = c->channels, total = c->channels_motif * d + d + (d * d + d);
    int units = dilated_units((int)c->context);
    for (int i = 0; i < units; i++) {
        int taps, dilation;
        dilated_unit(i, &taps, &dilation);
        total += 2 * (2 * d) + 2 * (taps * d * d + d);
    }
    return total + units / 4 * (d * d + d) + d * domain_shape(c).tokens + domain_shape(c).tokens;
}

double sparling_dilated_macs(const struct sparling_config *c)
{
    double d = (double)c->channels, total = (double)c->channels_motif * d + d * d + d * domain_shape(c).tokens;
    int units = dilated_units((int)c->context);
    for (int i = 0; i < units; i++) {
        int taps, dilation;
        dilated_unit(i, &taps, &dilation);
        total += 2 * taps * d * d;
    }
    int mixed = units / 4; /* every fourth unit has a layer that adds to the skip path */
    return total + mixed * d * d;
}

int64_t sparling_parameters_h(const struct sparling_config *c)
{
    if (domain_shape(c).positions)
        return dilated_parameters(c);
    struct sparling_geometry map = sparling_geometry(c);
    int64_t d = c->channels, f = c->feed_forward, v = sparling_vocabulary(c), half = d / 2;
    int64_t attention = 4 * d * d + 4 * d, feed = 2 * d * f + f + d, norm = 2 * d;
    int64_t encoder = attention + feed + 2 * norm;
    int64_t decoder = 2 * attention + feed + 3 * norm;
    int64_t total = c->channels_motif * d + d;
    if (c->lstm)
        total += 2 * 4 * (half * d + half * half + 2 * half);
    if (c->positions == POSITIONS_LEARNED)
        total += ((map.grid_rows > 1 ? map.grid_rows : 0) + map.grid_cols) * d;
    total += c->layers * (encoder + decoder);
    if (c->head_norm == HEAD_NORM_PRE)
        total += 2 * norm; /* the norm at the end of each stack */
    int64_t numbers = domain_shape(c).numbers;
    /* parameters of one token, of the layer that predicts the numbers, and of the layer over sums of channels */
    if (numbers > 0)
        return total + d + (d * numbers + numbers) + (c->channels_motif * numbers + numbers);
    return total + v * d + (d * v + v);
}

double sparling_macs(const struct sparling_config *c, int tokens)
{
    struct sparling_geometry map = sparling_geometry(c);
    double pixels = (double)map.rows * map.cols, w = (double)c->width, m = (double)c->channels_motif;
    double d = (double)c->channels, f = (double)c->feed_forward, n = (double)map.grid_rows * map.grid_cols;
    double taps = (double)map.kernel_h * map.kernel_w, inner = (double)map.inner_rows * map.inner_cols,
           in = (double)domain_shape(c).channels * map.stride * map.stride * map.first_h * map.first_w;
    double layers = (double)c->layers, t = tokens, v = sparling_vocabulary(c);
    double g = inner * (in * w + ((double)c->units * taps + (double)c->narrow_units) * 2 * w * w + w * m);
    g *= c->strands == STRANDS_BOTH ? 2 : 1;
    if (domain_shape(c).positions)
        return g + pixels * sparling_dilated_macs(c);
    double collapse = (c->embed_order == EMBED_THEN_POOL ? pixels : n) * m * d;
    double lstm = c->lstm ? n * 2 * 4 * (d / 2) * (d + d / 2) : 0;
    double encoder = layers * (n * (4 * d * d + 2 * d * f) + 2 * n * n * d);
    double self = t * 4 * d * d + 2 * t * t * d, cross = t * 2 * d * d + n * 2 * d * d + 2 * t * n * d;
    double decoder = layers * (self + cross + t * 2 * d * f) + t * d * v;
    return g + collapse + lstm + encoder + decoder;
}

/* An evaluation keeps no gradients. It needs this share of the memory that training needs for activations and
 * gradients. */
static const double FORWARD = 0.6;
enum { ARENA_REST = 2 << 20 }; /* bytes that stay unused at the end of the arena's last blocks */

static double pad_channels(double channels)
{
    return 16 * ceil(channels / 16);
}

/* Weights of the dilated head's convolutions, padded as the kernels read them. The backward pass keeps a gradient of
 * them for each input. */
static double dilated_packed(const struct sparling_config *c)
{
    double d = pad_channels((double)c->channels), total = 0;
    int units = domain_shape(c).positions ? dilated_units((int)c->context) : 0;
    for (int i = 0; i < units; i++) {
        int taps, dilation;
        dilated_unit(i, &taps, &dilation);
        total += 2 * taps * d * d;
    }
    return total;
}

/* Floats in the copies of lines (rows of one-row maps) that each thread makes for dilated convolutions, those of the
 * head and those of g: one copy in the forward pass, two in the backward pass (core/autodiff/ops/conv_line.c). */
static double dilated_lines(const struct sparling_config *c)
{
    struct sparling_geometry map = sparling_geometry(c);
    double d = pad_channels((double)c->channels), w = pad_channels((double)c->width), total = 0;
    double width = fmin(map.cols, LINE_PIECE), threads = c->threads > 0 ? (double)c->threads : METHOD_ASSUMED_THREADS;
    int units = domain_shape(c).positions ? dilated_units((int)c->context) : 0;
    for (int i = 0; i < units; i++) {
        int taps, dilation;
        dilated_unit(i, &taps, &dilation);
        total += 3 * 2 * d * (width + (taps - 1) * dilation);
    }
    for (int i = 0; map.rows == 1 && i < (int)c->units; i++)
        if (sparling_dilation(c, i) > 1)
            total += 3 * 2 * w * (width + (map.kernel_w - 1) * sparling_dilation(c, i));
    return threads * total;
}

/* Floats in the copies of the weights of g's residual units, which a forward or backward pass makes. One copy is in
 * the order in which the kernels read weights. Another one is transformed for Winograd's algorithm, which needs 36
 * numbers instead of 9. */
static double unit_copies(const struct sparling_config *c)
{
    struct sparling_geometry g = sparling_geometry(c);
    double taps = (double)g.kernel_h * g.kernel_w, w = pad_channels((double)c->width);
    double each = g.kernel_h == 3 && g.kernel_w == 3 ? taps + 36 : taps, passes = c->strands == STRANDS_BOTH ? 2 : 1;
    return passes * 2 * w * w * ((double)c->units * each + (double)c->narrow_units);
}

/* Floats in the partial gradients of g's residual units: one gradient for each chunk of the batch (map_split() in
 * core/autodiff/split.c). */
static double unit_partials(const struct sparling_config *c)
{
    struct sparling_geometry g = sparling_geometry(c);
    double taps = (double)g.kernel_h * g.kernel_w, w = pad_channels((double)c->width), batch = (double)c->batch;
    double strips = fmin(ceil(8 / batch), ceil(g.inner_rows / 8.0)), passes = c->strands == STRANDS_BOTH ? 2 : 1;
    return passes * batch * strips * 2 * w * w * ((double)c->units * taps + (double)c->narrow_units);
}

/* Numbers of positions of the maps of one input, including their padding: map_positions() of the motif map,
 * inner_positions() of the maps of g. */
static double map_positions(const struct sparling_config *c)
{
    struct sparling_geometry g = sparling_geometry(c);
    return ((double)g.rows + 2 * (g.kernel_h / 2)) * ((double)g.cols + 2);
}

static double inner_positions(const struct sparling_config *c)
{
    struct sparling_geometry g = sparling_geometry(c);
    return ((double)g.inner_rows + 2 * (g.kernel_h / 2)) * ((double)g.inner_cols + 2);
}

/* Floats that a stride adds for one input: the planes of the blocks, their copies for the taps of the first
 * convolution, and `versions` maps of motifs that are larger than those of g. */
static double stride_floats(const struct sparling_config *c, double versions)
{
    struct sparling_geometry g = sparling_geometry(c);
    double pixels = (double)domain_shape(c).channels * g.inner_rows * g.inner_cols * g.stride * g.stride;
    double copies = pixels * (1 + (double)g.first_h * g.first_w);
    return g.stride > 1 ? copies + versions * map_positions(c) * pad_channels((double)c->channels_motif) : 0;
}

/* Floats that g needs for one input: the maps that it keeps between forward and backward, four for each residual
 * unit, and gradients. Gradients reuse buffers, so three gradient maps are enough. */
static double motif_model_floats(const struct sparling_config *c)
{
    double map = inner_positions(c), w = pad_channels((double)c->width), m = pad_channels((double)c->channels_motif);
    double maps = map * (w * (1 + 4 * (double)(c->units + c->narrow_units) + 3) + 3 * m) + stride_floats(c, 2);
    return c->strands == STRANDS_BOTH ? 2 * maps + map * 3 * m : maps;
}

/* Floats that one input needs in the whole model: the values that it keeps between forward and backward, and
 * gradients. */
static double activation_floats(const struct sparling_config *c)
{
    struct sparling_geometry g = sparling_geometry(c);
    double map = map_positions(c);
    double m = pad_channels((double)c->channels_motif), d = (double)c->channels;
    double f = (double)c->feed_forward, n = (double)g.grid_rows * g.grid_cols;
    double t = (double)domain_shape(c).longest + 1, layers = (double)c->layers;
    double maps = motif_model_floats(c);
    if (domain_shape(c).positions) { /* four maps for each unit, the skip path, gradients, and the classes twice: as a
                                        map and as rows */
        double units = dilated_units((int)c->context);
        return maps + map * (pad_channels(d) * (4 * units + units / 4 + 5) + m + 16 + 3 * domain_shape(c).tokens) +
               dilated_packed(c);
    }
    double lstm = c->lstm ? n * 8 * d : 0;
    double encoder = layers * n * (12 * d + 2 * f);
    double decoder = layers * (t * (20 * d + 2 * f) + n * 2 * d);
    return maps + lstm + encoder + decoder;
}

/* Floats in the tables of attention probabilities for `inputs` inputs at once (core/autodiff/ops/attention.c). Training
 * keeps a table for each input, head and layer until the step ends. In addition, each working thread has scratch
 * tables, which all layers share: two in training, one in an evaluation. */
static double attention_floats(const struct sparling_config *c, double inputs, bool training)
{
    struct sparling_geometry g = sparling_geometry(c);
    double n = (double)g.grid_rows * g.grid_cols, t = (double)domain_shape(c).longest + 1;
    double pairs = inputs * (double)c->heads, threads = c->threads > 0 ? (double)c->threads : METHOD_ASSUMED_THREADS;
    double kept = training ? (double)c->layers * pairs * (n * n + t * (t + n)) : 0;
    double shared = (training ? 2 : 1) * fmin(threads, pairs) * fmax(n * n, t * fmax(t, n));
    return domain_shape(c).positions ? 0 : kept + shared;
}

/* Bytes of the values that the thresholds collect over several batches, and of the scratch of each thread that sorts
 * them or selects from them. */
static double collected_bytes(const struct sparling_config *c)
{
    struct sparling_geometry map = sparling_geometry(c);
    double values = (double)c->batch * map.inner_rows * map.inner_cols *
                    (c->sparsity == SPARSITY_SINGLE ? (double)c->channels_motif : 1);
    double groups = c->sparsity == SPARSITY_SINGLE ? 1 : (double)c->channels_motif;
    double keep = c->accumulate_elements > 0 ? (double)c->accumulate_elements
                  : c->accumulate_motifs > 0 ? 2 * ceil(c->accumulate_motifs) + 8
                                             : 0;
    double threads = c->threads > 0 ? (double)c->threads : METHOD_ASSUMED_THREADS;
    bool collects = keep > 0 && sparling_collects(c);
    double lists = collects ? 4 * (groups * keep + fmin(threads, groups) * (values + 2 * keep)) : 0;
    /* If a batch alone has enough values for new thresholds, its values are not collected: a kernel selects the
     * thresholds from the batch. The more values the batch has, the more of its scratch memory the kernel writes. */
    bool selects = sparling_thresholds(c) && !(collects && values < keep);
    double written = fmin(KTH_SCRATCH_BYTES, 4 * 16 * values + (1 << 18));
    return lists + (selects ? fmin(threads, ceil(groups / 16)) * written : 0);
}

/* A rectifier without thresholds lets about this share of the positions through. */
static const double RECTIFIED = 0.5;

/* Share of the positions that are active in an evaluation. If a training is too short to collect the values for its
 * first thresholds, the evaluation has no thresholds, and the share is that of a rectifier. */
static double active_share(const struct sparling_config *c)
{
    struct sparling_geometry map = sparling_geometry(c);
    double values = (double)(c->total_samples - c->batch) * map.inner_rows * map.inner_cols, collected = 0;
    if (sparling_collects(c))
        collected =
            c->accumulate_elements > 0 ? (double)c->accumulate_elements : c->accumulate_motifs / c->density_start;
    return !sparling_thresholds(c) || values < collected ? fmax(RECTIFIED, c->density_start) : c->density_start;
}

/* Number of elements of a motif map outside the margins, over all channels. */
static double sites_of(const struct sparling_config *c)
{
    struct sparling_geometry map = sparling_geometry(c);
    return (double)map.rows * fmax(0, map.cols - 2.0 * domain_shape(c).margin) * (double)c->channels_motif;
}

double sparling_chance_motifs(const struct sparling_config *c)
{
    double density = sparling_thresholds(c) ? c->density_start : fmax(RECTIFIED, c->density_start);
    return (double)c->chance_samples * density * sites_of(c);
}

/* Bytes that the errors of chance need: the motifs outside the margins of all their samples, two shuffled copies of
 * these motifs, and a permutation of all positions. */
static double chance_bytes(const struct sparling_config *c)
{
    enum { COPIES = 3 };
    double motifs = sparling_chance_motifs(c) * (COPIES * (double)sizeof(struct motif) + 4);
    double positions = 4 * (double)c->chance_samples * sites_of(c) / (double)c->channels_motif;
    return c->chance_shuffles > 0 ? motifs + positions + 64 * (double)c->chance_samples : 0;
}

/* Bytes of the list of one sample's motifs, from which an evaluation counts the errors (motif_errors_add_map()). */
static double lists_bytes(const struct sparling_config *c)
{
    struct sparling_geometry map = sparling_geometry(c);
    double positions = (double)map.rows * map.cols * (double)c->channels_motif;
    return active_share(c) * positions * (double)sizeof(struct motif);
}

/* Floats that an evaluation needs for one input. It keeps no gradients, but several versions of the motif map:
 * before and after the normalisation and the thresholds, in bins, and as planes. */
static double evaluation_floats(const struct sparling_config *c)
{
    enum { VERSIONS = 6 };
    double all = activation_floats(c), model = motif_model_floats(c), passes = c->strands == STRANDS_BOTH ? 2 : 1;
    double w = pad_channels((double)c->width), m = pad_channels((double)c->channels_motif);
    if (domain_shape(c).positions)
        return FORWARD * all;
    return passes * inner_positions(c) * (w * (1 + 4 * (double)(c->units + c->narrow_units)) + VERSIONS * m) +
           stride_floats(c, VERSIONS) + FORWARD * (all - model);
}

/* Bytes that op_tally() needs: numbers that it stores for each position, and the tables of its threads. */
static double tally_bytes(const struct sparling_config *c)
{
    enum { MOST = 64 }; /* TALLY_MOST in label_counts.c */
    double names = sparling_presence_names(c), longest = domain_shape(c).longest,
           most = longest > 1 ? longest : MOST, /* a label of one token may be a count, which can be large */
        threads = c->threads > 0 ? (double)c->threads : METHOD_ASSUMED_THREADS;
    return c->tally_weight > 0 ? inner_positions(c) * (4 * (double)c->batch * names + 8 * threads * (most + 4)) : 0;
}

/* Bytes that the searches for enriched motifs need (genomics/enriched_filters.c, genomics/missed_motifs.c): a byte for
 * each base of their samples, places of sites, and counts of words. */
static double words_bytes(const struct sparling_config *c)
{
    enum { SEQUENCES = 6000, SITES = 8 * 32 * 5, COUNTS = 1 << 20 };
    return c->dataset.motif_start_words
               ? SEQUENCES * (double)sparling_geometry(c).cols + SITES * (double)c->batch + COUNTS
               : 0;
}

/* Numbers in the arrays of matrix_scores_build(), which have no gradients. */
static double matrix_numbers(const struct sparling_config *c)
{
    enum { LETTERS = 4 };
    double width = matrix_scores_width(sparling_geometry(c).reach);
    return c->matrix_scores ? (double)c->channels_motif * (LETTERS * width + 2) + 1 : 0;
}

/* Bytes that the fit of matrices needs (genomics/matrix_fit.c). For each name: counts in its training samples, marks of
 * g, peaks of validation samples, and the matrix. For all names together: a byte for each base of the training samples,
 * and scores at each position of one sample on both strands. */
static double matrices_bytes(const struct sparling_config *c)
{
    enum { SAMPLES = 8000, LEAST = 200, LETTERS = 1 << 22, MARKED = 3000, CHOICES = 2000, PEAKS = 12 };
    double names = sparling_presence_names(c), cols = sparling_geometry(c).cols;
    double samples = fmax(LEAST, fmin(SAMPLES, floor(LETTERS / cols)));
    double name = samples + 4 * fmin(samples, MARKED) + CHOICES * PEAKS + (double)genomics.matrix_bytes;
    return c->matrix_scores && names > 0 ? names * name + samples * cols + 2 * cols * sizeof(double) + CHOICES * PEAKS
                                         : 0;
}

/* Bytes of the motif maps that the last part of the training keeps (training/phases/head_phase.c). */
static double cached_bytes(const struct sparling_config *c)
{
    enum { VALUE = 8, MAP = 16 };
    double validated = c->validation_samples > SPARLING_KEPT ? 0 : (double)c->validation_samples,
           inputs = c->reading_samples > 0 ? (double)c->reading_inputs + validated : 0;
    return VALUE * sparling_cached_values(c, inputs) + MAP * inputs;
}

/* Measured memory of a run as a share of the memory that the formulas here count (tests/reproduce/memory_peaks, seed
 * 133003). It is below 1, because short trainings never fill their lists, and an arena leaves parts of its blocks
 * unused. */
static const double WRITTEN = 0.92;

/* Number of further sets of weights: those of the best validation, and their average. */
static double further_weights(const struct sparling_config *c)
{
    return (c->select_by_validation ? 1 : 0) + (c->weight_average > 0 ? 1 : 0);
}

/* Bytes of a run: the larger of training and evaluation. The evaluation may load a second model, that of an earlier
 * stage. */
static double run_bytes(const struct sparling_config *c, double parameters)
{
    double batch = (double)c->batch, piece = fmin(batch, 16), maps = 4 * activation_floats(c);
    double copies = 4 * (dilated_lines(c) + 2 * unit_copies(c) + unit_partials(c));
    double train = maps * batch + 4 * attention_floats(c, batch, true) + 8 * dilated_packed(c) + copies +
                   collected_bytes(c) + tally_bytes(c) + words_bytes(c) + matrices_bytes(c) + cached_bytes(c);
    double evaluate = 4 * (evaluation_floats(c) * piece + attention_floats(c, piece, false)) + 4 * unit_copies(c) +
                      4 * (parameters + matrix_numbers(c)) +
                      fmax(fmax(chance_bytes(c), lists_bytes(c)), reference_pass_bytes(c));
    return WRITTEN * (4 * (4 + further_weights(c)) * parameters + 4 * matrix_numbers(c) + fmax(train, evaluate));
}

/* Number of samples that a training is likely to take. A stage that the plateau rule ends takes plateau_validations
 * validations. A run that ends by itself (patience) is assumed to improve no more at the last density. In the zoo, the
 * trainings of own data take about as many samples (docs/lab/zoo.md). */
static double likely_samples(const struct sparling_config *c)
{
    double every = (double)c->validation_every, limit = (double)c->total_samples;
    double stages = sparling_stages(c) * fmax(1, (double)c->plateau_validations) * every + (double)c->curriculum;
    double likely = stages / SPARLING_ANNEALING;
    if (c->patience > 0)
        likely = (stages + (double)c->patience * every) / (1 - SPARLING_FALL) + sparling_reading(c);
    if (sparling_presence_alone(c))
        likely += (double)c->presence_samples * (1 + SPARLING_START * (double)(c->starts - 1));
    return fmin(likely, limit);
}

enum status sparling_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err)
{
    const struct sparling_config *c = config;
    int64_t parameters = sparling_parameters_g(c) + sparling_parameters_sparse(c) + sparling_parameters_h(c);
    out->parameters = parameters;
    out->checkpoint_bytes =
        (int64_t)(4 * (3 + further_weights(c))) * parameters + 4 * (int64_t)matrix_numbers(c) + 65536;
    if (domain_shape(c).positions)
        out->checkpoint_bytes += (int64_t)sizeof(struct topk) * (domain_shape(c).tokens - 1);
    out->memory_bytes = (int64_t)run_bytes(c, (double)parameters) + METHOD_BASE_BYTES + ARENA_REST;
    double samples = likely_samples(c), reading = fmin(samples, sparling_reading(c)),
           whole = samples - reading + sparling_reading_time(c, reading); /* samples if all took as long */
    out->samples = (int64_t)samples;
    out->flops_per_sample = 3 * 2 * sparling_macs(c, domain_shape(c).longest + 1) * whole / samples;
    return STATUS_OK;
}
