/* Compares the codes of seed 0 with those of classical decoders on the same dictionary (core/coding/plain.h): how far
 * the supports overlap, which share of each support is right, and how the codes correlate with the true codes.
 *
 * Decoders work in the units of the data, on rows of norm 1. For each sample, every decoder returns as many latents
 * as the encoder activates. For FISTA, these are the largest entries of its code. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/coding/bounds.h"
#include "core/coding/plain.h"
#include "core/methods/dictionary/run_int.h"
#include "core/metrics/latents.h"
#include "core/nn/select_kth.h"

enum decoders { DECODED_FISTA, DECODED_OMP, DECODED_IHT, DECODED };

struct comparison {
    int width, inputs, features, rows;
    float *unit, *signal;    /* unit: [width][inputs], rows of norm 1; signal: [rows][inputs], samples minus the bias */
    float *true_signal;      /* [rows][inputs] samples minus the true bias */
    float *code, *true_code; /* codes that FISTA computes; code: [rows][width], with the learned dictionary; true_code:
                                [rows][features], with the true dictionary */
    int32_t *support[DECODED]; /* [rows][PLAIN_MOST_KEPT] */
    int *found[DECODED];       /* [rows] */
    float *scratch;            /* [workers][scratch_reals] */
    size_t scratch_reals;
    struct plain learned, truth;
    double penalty;
    int iterations;
    bool known; /* the true features are known */
    bool correlates;
    const struct comparison_codes *codes; /* the codes of the current batch */
    int count;
    /* Sums. */
    double samples, overlap[DECODED], right[DECODED + 1], guaranteed, coherence;
    double *both, *either; /* [width] both: number of samples in which encoder and OMP both use the latent; either:
                              number of samples in which at least one of them uses it */
    bool *mark;            /* [width] */
    struct pair_moments encoder, fista, perfect;
};

/* ---- creation ------------------------------------------------------------------------------------------------ */

void comparison_destroy(struct comparison *c)
{
    if (!c)
        return;
    free(c->unit);
    free(c->signal);
    free(c->true_signal);
    free(c->code);
    free(c->true_code);
    for (int i = 0; i < DECODED; i++) {
        free(c->support[i]);
        free(c->found[i]);
    }
    free(c->scratch);
    free(c->both);
    free(c->either);
    free(c->mark);
    pair_moments_close(&c->encoder);
    pair_moments_close(&c->fista);
    pair_moments_close(&c->perfect);
    free(c);
}

static bool evaluation_pursuit_allocate(struct comparison *c, int threads)
{
    size_t m = (size_t)c->width, d = (size_t)c->inputs, rows = (size_t)c->rows, n = (size_t)c->features;
    size_t wide = m > n ? m : n;
    struct plain widest = {(int)wide, c->inputs, NULL, 0, NULL};
    size_t fista = plain_fista_scratch(&widest), pursuit = plain_pursuit_scratch(&widest) + m;
    c->scratch_reals = fista > pursuit ? fista : pursuit;
    c->unit = malloc(m * d * sizeof *c->unit);
    c->signal = malloc(rows * d * sizeof *c->signal);
    c->true_signal = malloc((c->known ? rows * d : 1) * sizeof *c->true_signal);
    c->code = malloc(rows * m * sizeof *c->code);
    c->true_code = malloc((c->correlates ? rows * n : 1) * sizeof *c->true_code);
    c->scratch = malloc((size_t)threads * c->scratch_reals * sizeof *c->scratch);
    c->both = calloc(m, sizeof *c->both);
    c->either = calloc(m, sizeof *c->either);
    c->mark = calloc(m, sizeof *c->mark);
    bool full = c->unit && c->signal && c->true_signal && c->code && c->true_code && c->scratch && c->both &&
                c->either && c->mark;
    for (int i = 0; i < DECODED; i++) {
        c->support[i] = malloc(rows * PLAIN_MOST_KEPT * sizeof *c->support[i]);
        c->found[i] = calloc(rows, sizeof *c->found[i]);
        full = full && c->support[i] && c->found[i];
    }
    return full;
}

/* Copies the rows of the dictionary, scales the copies to norm 1, and measures their coherence. A row of zeros stays
 * zero. */
static void unit_rows(struct comparison *c, const struct method_run *run)
{
    const struct kernels *kernels = run->base.env.kernels;
    size_t d = (size_t)c->inputs;
    memcpy(c->unit, run->sae[0]->decoder->value, (size_t)c->width * d * sizeof *c->unit);
    for (int j = 0; j < c->width; j++) {
        float *row = c->unit + (size_t)j * d;
        double norm = sqrt(kernels->sum_squares(d, row));
        kernels->scale(d, norm > 0 ? (float)(1 / norm) : 0, row);
        for (int i = 0; i < j; i++)
            c->coherence = fmax(c->coherence, fabs((double)kernels->dot(d, row, c->unit + (size_t)i * d)));
    }
}

enum status comparison_create(const struct method_run *run, struct comparison **out, struct error *err)
{
    const struct dictionary_setup *now = &run->setup;
    struct comparison *c = calloc(1, sizeof *c);
    *out = c;
    if (!c)
        return error_memory(err, "a comparison");
    c->width = now->width;
    c->inputs = now->inputs;
    c->features = now->features;
    c->rows = dictionary_batch(&run->config, now);
    if (c->rows > run->config.pursuit_samples)
        c->rows = (int)run->config.pursuit_samples;
    c->known = dictionary_known(&run->config);
    c->correlates = dictionary_correlates(now);
    c->penalty = run->config.penalty;
    c->iterations = (int)run->config.iterations;
    if (!evaluation_pursuit_allocate(c, thread_pool_threads(run->base.env.pool)))
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the codes of %d samples", c->rows);
    unit_rows(c, run);
    c->learned = (struct plain){c->width, c->inputs, c->unit, 0, run->base.env.kernels};
    c->learned.lipschitz = plain_lipschitz(&c->learned, c->scratch);
    if (c->known) {
        c->truth = (struct plain){c->features, c->inputs, run->data.directions, 0, run->base.env.kernels};
        c->truth.lipschitz = plain_lipschitz(&c->truth, c->scratch);
    }
    if (!c->correlates)
        return STATUS_OK;
    enum status status = pair_moments_create(c->width, c->features, &c->encoder, err);
    if (!status)
        status = pair_moments_create(c->width, c->features, &c->fista, err);
    return status ? status : pair_moments_create(c->features, c->features, &c->perfect, err);
}

/* ---- codes --------------------------------------------------------------------------------------------------- */

/* Writes the indices of the `keep` largest positive entries of a code to `support`. Returns how many it wrote; there
 * may be fewer positive entries. */
static int largest(const float *code, int width, int keep, int32_t *support, float *scratch)
{
    int positive = 0, found = 0;
    for (int j = 0; j < width; j++)
        if (code[j] > 0)
            scratch[positive++] = code[j];
    float cut = positive > keep ? select_kth(scratch, (size_t)positive, (size_t)(positive - keep + 1)) : 0;
    for (int j = 0; j < width && found < keep; j++)
        if (code[j] > 0 && code[j] >= cut)
            support[found++] = j;
    return found;
}

static void decode_task(void *context, int chunk, int worker)
{
    struct comparison *c = context;
    int first = chunk * PLAIN_ROWS, left = c->count - first, rows = left < PLAIN_ROWS ? left : PLAIN_ROWS;
    size_t d = (size_t)c->inputs, m = (size_t)c->width, n = (size_t)c->features;
    float *scratch = c->scratch + (size_t)worker * c->scratch_reals;
    plain_fista(&c->learned, c->signal + (size_t)first * d, rows, c->penalty, c->iterations,
                c->code + (size_t)first * m, scratch);
    if (c->correlates)
        plain_fista(&c->truth, c->true_signal + (size_t)first * d, rows, c->penalty, c->iterations,
                    c->true_code + (size_t)first * n, scratch);
    for (int r = first; r < first + rows; r++) {
        int keep = c->codes->count[r] < PLAIN_MOST_KEPT ? c->codes->count[r] : PLAIN_MOST_KEPT;
        size_t at = (size_t)r * PLAIN_MOST_KEPT;
        const float *x = c->signal + (size_t)r * d;
        for (int i = 0; i < DECODED; i++)
            c->found[i][r] = 0;
        if (keep == 0)
            continue;
        c->found[DECODED_FISTA][r] =
            largest(c->code + (size_t)r * m, c->width, keep, c->support[DECODED_FISTA] + at, scratch);
        c->found[DECODED_OMP][r] = plain_omp(&c->learned, x, keep, c->support[DECODED_OMP] + at, scratch);
        c->found[DECODED_IHT][r] =
            plain_iht(&c->learned, x, keep, c->iterations, c->support[DECODED_IHT] + at, scratch);
    }
}

/* ---- sums ---------------------------------------------------------------------------------------------------- */

/* Returns the share of the latents in a support that are right. A latent is right if the true feature that is matched
 * to it is active in the sample. */
static double right_share(const struct recovery *recovery, const int32_t *support, int count, const int32_t *feature,
                          int features)
{
    int right = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < features; k++)
            if (feature[k] == recovery->own[support[i]]) {
                right++;
                break;
            }
    return count > 0 ? (double)right / count : 0;
}

static void add_row(struct comparison *c, const struct method_run *run, const struct recovery *recovery, int r)
{
    const int32_t *own = c->codes->index + c->codes->start[r];
    const int32_t *feature = c->known ? run->truth.index + run->truth.start[r] : NULL;
    int active = c->codes->count[r], features = c->known ? run->truth.count[r] : 0;
    if (active == 0)
        return;
    for (int i = 0; i < active; i++)
        c->mark[own[i]] = true;
    for (int i = 0; i < DECODED; i++) {
        const int32_t *support = c->support[i] + (size_t)r * PLAIN_MOST_KEPT;
        int found = c->found[i][r], common = 0;
        for (int k = 0; k < found; k++) {
            common += c->mark[support[k]];
            if (i == DECODED_OMP) {
                c->both[support[k]] += c->mark[support[k]];
                c->either[support[k]] += !c->mark[support[k]];
            }
        }
        c->overlap[i] += (double)common / (active + found - common);
        if (c->known)
            c->right[i] += right_share(recovery, support, found, feature, features);
    }
    for (int i = 0; i < active; i++) {
        c->either[own[i]]++;
        c->mark[own[i]] = false;
    }
    if (c->known)
        c->right[DECODED] += right_share(recovery, own, active, feature, features);
    c->guaranteed += active < bound_pursuit(c->coherence);
    c->samples++;
}

/* Adds the true code of sample r, and the code that FISTA computed for this sample, to `moments`. index, value:
 * scratch. */
static void add_dense(struct pair_moments *moments, const float *code, int width, const struct planted_codes *truth,
                      int r, int32_t *index, float *value)
{
    int count = 0;
    for (int j = 0; j < width; j++)
        if (code[j] > 0) {
            index[count] = j;
            value[count++] = code[j];
        }
    pair_moments_add(moments, index, value, count, truth->index + truth->start[r], truth->value + truth->start[r],
                     truth->count[r]);
}

static void add_moments(struct comparison *c, const struct method_run *run, int r)
{
    const struct planted_codes *truth = &run->truth;
    float *value = c->scratch;
    int32_t *index = (int32_t *)(void *)(value + (c->width > c->features ? c->width : c->features));
    pair_moments_add(&c->encoder, c->codes->index + c->codes->start[r], c->codes->value + c->codes->start[r],
                     c->codes->count[r], truth->index + truth->start[r], truth->value + truth->start[r],
                     truth->count[r]);
    add_dense(&c->fista, c->code + (size_t)r * (size_t)c->width, c->width, truth, r, index, value);
    add_dense(&c->perfect, c->true_code + (size_t)r * (size_t)c->features, c->features, truth, r, index, value);
}

enum status comparison_add(struct comparison *c, struct method_run *run, const struct recovery *recovery,
                           const struct comparison_codes *codes, int count, struct error *err)
{
    const float *bias = run->sae[0]->bias->value;
    int d = c->inputs;
    for (int r = 0; r < count; r++)
        for (int k = 0; k < d; k++) {
            double x = (double)run->x[(ptrdiff_t)r * d + k];
            c->signal[(ptrdiff_t)r * d + k] = (float)((x - (double)bias[k]) / run->scale);
            if (c->known)
                c->true_signal[(ptrdiff_t)r * d + k] = (float)(x / run->scale - (double)run->data.bias[k]);
        }
    c->codes = codes;
    c->count = count;
    if (!thread_pool_run(run->base.env.pool, decode_task, c, (count + PLAIN_ROWS - 1) / PLAIN_ROWS))
        return thread_pool_check(run->base.env.pool, err);
    for (int r = 0; r < count; r++) {
        add_row(c, run, recovery, r);
        if (c->correlates)
            add_moments(c, run, r);
    }
    return STATUS_OK;
}

static double mean_of(double sum, double count)
{
    return count > 0 ? sum / count : NAN;
}

enum status comparison_finish(struct comparison *c, struct outcome *o, double *agrees, struct thread_pool *pool,
                              struct error *err)
{
    double *const figures[] = {&o->code_encoder, &o->code_learned,  &o->code_true,   &o->overlap_fista,
                               &o->overlap_omp,  &o->overlap_iht,   &o->right_fista, &o->right_omp,
                               &o->right_iht,    &o->right_encoder, &o->coherence,   &o->guaranteed};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        *figures[i] = NAN;
    if (!c)
        return STATUS_OK;
    o->overlap_fista = mean_of(c->overlap[DECODED_FISTA], c->samples);
    o->overlap_omp = mean_of(c->overlap[DECODED_OMP], c->samples);
    o->overlap_iht = mean_of(c->overlap[DECODED_IHT], c->samples);
    double known = c->known ? c->samples : 0;
    o->right_fista = mean_of(c->right[DECODED_FISTA], known);
    o->right_omp = mean_of(c->right[DECODED_OMP], known);
    o->right_iht = mean_of(c->right[DECODED_IHT], known);
    o->right_encoder = mean_of(c->right[DECODED], known);
    o->coherence = c->coherence;
    o->guaranteed = mean_of(c->guaranteed, c->samples);
    for (int j = 0; j < c->width; j++)
        agrees[j] = c->either[j] > 0 ? c->both[j] / c->either[j] : NAN;
    if (!c->correlates)
        return STATUS_OK;
    enum status status = pair_moments_mcc(&c->encoder, &o->code_encoder, pool, err);
    if (!status)
        status = pair_moments_mcc(&c->fista, &o->code_learned, pool, err);
    return status ? status : pair_moments_mcc(&c->perfect, &o->code_true, pool, err);
}
