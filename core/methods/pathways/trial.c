/* Runs trials: draws a code and its signs, encodes, decodes, and counts what was recovered (trial.h).
 *
 * A single layer with the decoder top-k has a fast path, which computes no signal: A^T A D x is the sum of K rows of
 * the Gram matrix. It is computed for eight draws of the signs D at once, one tile after another. The decoder finds the
 * support if the smallest magnitude inside it is above the largest one outside. To check this, nothing needs to be
 * sorted. All other cases run the whole encoder and decoder. In both paths, A^T v for the noise v is computed once for
 * each code, because it does not depend on D. */
#include "core/methods/pathways/trial_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/coding/decode.h"
#include "core/coding/bounds.h"

/* Numbers of the streams of random numbers. To each of them, the number of the case's stream is added, which is below
 * 1000. Cases with equal streams therefore get the same codes. */
enum {
    STREAM_FILTERS = 1,
    STREAM_SUPPORT = 10000,
    STREAM_MAGNITUDE = 20000,
    STREAM_NOISE = 30000,
    STREAM_SIGNS = 40000,
    STREAM_LAYER = 1000,
    STREAM_PILOT = 100000
};
/* Entries of an encoded map below this share of its maximum are rounding errors of sums whose terms cancel. */
static const double ROUNDING = 1e-6;

/* ---- scenarios ---------------------------------------------------------------------------------- */

static enum status open_dictionary(const struct pathways_case *plan, int l, uint64_t seed, const float *const *filters,
                                   const struct kernels *kernels, struct thread_pool *pool, struct dictionary *out,
                                   struct error *err)
{
    if (plan->family == PATHWAYS_HADAMARD)
        return dictionary_hadamard(plan->shape[l].inputs, kernels, out, err);
    if (filters)
        return dictionary_create(&plan->shape[l], filters[l], kernels, pool, out, err);
    enum dictionary_family family = plan->nonzeros[l] > 0                      ? FAMILY_SPARSE
                                    : l == 0 && plan->family == PATHWAYS_SIGNS ? FAMILY_SIGNS
                                                                               : FAMILY_GAUSS;
    uint32_t stream = STREAM_FILTERS + (uint32_t)l + PATHWAYS_DEPTH * plan->stream;
    return dictionary_draw(&plan->shape[l], family, plan->nonzeros[l], seed, stream, kernels, pool, out, err);
}

static enum status find_lipschitz(const struct dictionary *d, struct thread_pool *pool, double *out, struct error *err)
{
    float *scratch = malloc(decode_pursuit_scratch(d) * sizeof *scratch);
    if (!scratch)
        return error_memory(err, "an eigenvalue");
    *out = decode_lipschitz(d, pool, scratch);
    free(scratch);
    return thread_pool_check(pool, err);
}

enum status scenario_open(const struct pathways_case *plan, uint64_t seed, const float *const *filters,
                          const struct kernels *kernels, struct thread_pool *pool, struct scenario *out,
                          struct error *err)
{
    enum status status = STATUS_OK;
    memset(out, 0, sizeof *out);
    out->plan = *plan;
    out->pool = pool;
    for (int l = 0; !status && l < plan->layers; l++) {
        status = thread_pool_check(pool, err);
        if (!status)
            status = open_dictionary(plan, l, seed, filters, kernels, pool, &out->dictionary[l], err);
        if (!status && plan->rule.decoder == DECODER_PURSUIT)
            status = find_lipschitz(&out->dictionary[l], pool, &out->lipschitz[l], err);
    }
    if (status)
        scenario_close(out);
    return status;
}

void scenario_close(struct scenario *s)
{
    for (int l = 0; l < PATHWAYS_DEPTH; l++)
        dictionary_close(&s->dictionary[l]);
}

/* ---- drawing ------------------------------------------------------------------------------------- */

struct drawing {
    const struct scenario *s;
    struct trial_space *t;
    const struct trial_request *request;
};

static struct philox stream_of(const struct drawing *w, uint32_t use, int64_t draw)
{
    const struct trial_request *r = w->request;
    uint32_t stream = use + w->s->plan.stream + (r->pilot ? STREAM_PILOT : 0);
    uint64_t step = (uint64_t)r->nonzeros << 36 | (uint64_t)r->number << 12 | (uint64_t)draw;
    return philox_stream(r->seed, stream, step);
}

static bool marked(const uint64_t *bits, size_t at)
{
    return bits[at / 64] >> (at % 64) & 1;
}

static void pathways_trial_mark(uint64_t *bits, size_t at)
{
    bits[at / 64] |= UINT64_C(1) << (at % 64);
}

/* Draws a support of the given size uniformly (Floyd). */
static void mark_any(const struct philox *random, size_t columns, size_t count, uint64_t *taken)
{
    for (size_t j = columns - count, i = 0; j < columns; j++, i++) {
        size_t pick = (size_t)(((uint64_t)philox_u32(random, i) * (j + 1)) >> 32);
        pathways_trial_mark(taken, marked(taken, pick) ? j : pick);
    }
}

/* Draws one column, and takes as the support the columns that correlate most with it. */
static enum status mark_worst(const struct drawing *w, const struct philox *random, size_t count, struct error *err)
{
    struct trial_space *t = w->t;
    const struct dictionary *d = &w->s->dictionary[w->s->plan.layers - 1];
    size_t atoms = dictionary_code_size(d);
    int32_t target = (int32_t)(((uint64_t)philox_u32(random, 0) * atoms) >> 32);
    const struct spikes one = {1, &target, &(float){1}};
    memset(t->code, 0, atoms * sizeof *t->code);
    dictionary_correlate(d, &one, t->code);
    t->code[target] = 0;
    decode_threshold(DECODER_TOP_K, t->code, atoms, (int64_t)count, 0, &t->found, t->scratch);
    if ((size_t)t->found.count < count)
        return error_set(err, STATUS_INVALID, NULL, "only %d columns correlate with column %d; %zu are needed",
                         t->found.count, target, count);
    for (size_t i = 0; i < count; i++)
        pathways_trial_mark(t->taken, (size_t)t->found.at[i]);
    return STATUS_OK;
}

/* Draws the support and the magnitudes of a code. Magnitudes are uniform in [1, ratio]. */
static enum status draw_code(const struct drawing *w, struct error *err)
{
    struct spikes *x = &w->t->truth[w->s->plan.layers - 1];
    size_t atoms = code_size(w->s, w->s->plan.layers - 1), count = (size_t)w->request->nonzeros;
    struct philox support = stream_of(w, STREAM_SUPPORT, 0), magnitude = stream_of(w, STREAM_MAGNITUDE, 0);
    enum status status = STATUS_OK;
    memset(w->t->taken, 0, (atoms / 64 + 1) * sizeof *w->t->taken);
    if (w->s->plan.support == SUPPORT_WORST)
        status = mark_worst(w, &support, count, err);
    else
        mark_any(&support, w->s->plan.support == SUPPORT_SPIKES ? atoms / 2 : atoms, count, w->t->taken);
    x->count = 0;
    for (size_t word = 0; word <= atoms / 64; word++)
        for (uint64_t left = w->t->taken[word]; left; left &= left - 1) {
            double u = (double)philox_uniform(&magnitude, (uint64_t)x->count);
            x->at[x->count] = (int32_t)(64 * word) + __builtin_ctzll(left);
            x->value[x->count++] = (float)(1 + (w->s->plan.ratio - 1) * u);
        }
    return status;
}

static double patch_norm(const struct drawing *w, const float *signal)
{
    const struct dictionary_shape *s = &w->s->dictionary[0].shape;
    struct local_window patch = {s->height, s->width, s->inputs, s->extent_h, s->extent_w};
    return local_norm(&patch, signal, 2, w->t->sums);
}

/* Draws v, scaled to exactly the configured patch norm, and stores A^T v behind it. */
static void draw_noise(const struct drawing *w)
{
    size_t count = signal_size(w->s);
    float *noise = w->t->noise;
    if (w->s->plan.noise == 0)
        return;
    struct philox normal = stream_of(w, STREAM_NOISE, 0);
    for (size_t i = 0; i < count; i++)
        noise[i] = (float)philox_normal(&normal, i);
    float scale = (float)(w->s->plan.noise / patch_norm(w, noise));
    for (size_t i = 0; i < count; i++)
        noise[i] *= scale;
    dictionary_analyse(&w->s->dictionary[0], noise, noise + count, w->t->scratch);
}

static void draw_signs(const struct drawing *w, int64_t draw)
{
    for (int l = 0; l < w->s->plan.layers; l++) {
        size_t words = code_size(w->s, l) / 32 + 1;
        if (w->s->plan.signs != SIGNS_RANDOM) {
            memset(w->t->signs[l], 0, words * sizeof(uint32_t));
            continue;
        }
        struct philox random = stream_of(w, STREAM_SIGNS + STREAM_LAYER * (uint32_t)l, draw);
        philox_fill_u32(&random, 0, w->t->signs[l], words);
    }
}

static bool minus(const uint32_t *signs, int32_t at)
{
    return signs[at / 32] >> (at % 32) & 1;
}

/* out = D x. */
static void apply_signs(const struct spikes *x, const uint32_t *signs, struct spikes *out)
{
    out->count = x->count;
    for (int i = 0; i < x->count; i++) {
        out->at[i] = x->at[i];
        out->value[i] = minus(signs, x->at[i]) ? -x->value[i] : x->value[i];
    }
}

static void pathways_trial_spread(const struct spikes *x, float *map, size_t count)
{
    memset(map, 0, count * sizeof *map);
    for (int i = 0; i < x->count; i++)
        map[x->at[i]] = x->value[i];
}

/* ---- encoder --------------------------------------------------------------------------------------- */

/* Gathers the non-zeros of a map. An entry that is only the rounding error of a sum whose terms cancel becomes exactly
 * zero. */
static void pathways_trial_gather(float *map, size_t count, struct spikes *out)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fabsf(map[i]) > largest ? fabsf(map[i]) : largest;
    float least = (float)ROUNDING * largest;
    out->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (fabsf(map[i]) <= least) {
            map[i] = 0;
            continue;
        }
        out->at[out->count] = (int32_t)i;
        out->value[out->count++] = map[i];
    }
}

/* Computes the codes truth[L-2] to truth[0] from the deepest code x^(L) in truth[L-1]. With `signal`, also writes
 * the noisy signal x^(0) + v to map[0]. */
static void pathways_trial_encode(const struct drawing *w, bool signal)
{
    struct trial_space *t = w->t;
    for (int l = w->s->plan.layers - 1; l >= 0; l--) {
        if (l == 0 && !signal)
            break;
        size_t count = l == 0 ? signal_size(w->s) : code_size(w->s, l - 1);
        apply_signs(&t->truth[l], t->signs[l], &t->found);
        dictionary_synthesise(&w->s->dictionary[l], &t->found, t->map[l]);
        if (l > 0)
            pathways_trial_gather(t->map[l], count, &t->truth[l - 1]);
    }
    for (size_t i = 0; signal && w->s->plan.noise > 0 && i < signal_size(w->s); i++)
        t->map[0][i] += t->noise[i];
}

/* ---- decoder --------------------------------------------------------------------------------------- */

/* Computes t->code = A^T (A D x + v) for the first layer. signed_code: D x. */
static void correlate(const struct drawing *w, const struct spikes *signed_code)
{
    struct trial_space *t = w->t;
    const struct dictionary *d = &w->s->dictionary[0];
    size_t atoms = dictionary_code_size(d);
    if (d->hadamard) {
        dictionary_synthesise(d, signed_code, t->map[0]);
        dictionary_analyse(d, t->map[0], t->code, t->scratch);
    } else {
        memset(t->code, 0, atoms * sizeof(float));
        dictionary_correlate(d, signed_code, t->code);
    }
    const float *analysed = w->s->plan.noise > 0 ? t->noise + signal_size(w->s) : NULL;
    for (size_t i = 0; analysed != NULL && i < atoms; i++)
        t->code[i] += analysed[i];
}

/* Returns whether top-k finds the support: all magnitudes inside it must be larger than all outside, and a tie counts
 * as a miss. Writes the entries inside the support to `inside`. Sets them to 0 in `code` while it looks for the largest
 * entry outside, and then restores them. */
static bool separated(const struct kernels *kernels, const struct spikes *x, float *code, size_t count,
                      struct spikes *inside)
{
    float least = INFINITY, most = 0;
    inside->count = x->count;
    for (int i = 0; i < x->count; i++) {
        float *at = &code[x->at[i]], v = fabsf(*at);
        least = v < least ? v : least;
        inside->at[i] = x->at[i];
        inside->value[i] = *at;
        *at = 0;
    }
    kernels->row_peaks(1, (int)count, code, 0, &most);
    for (int i = 0; i < x->count; i++)
        code[x->at[i]] = inside->value[i];
    return x->count == 0 || least > most;
}

static double smallest(const struct spikes *x)
{
    double least = x->count ? INFINITY : 0;
    for (int i = 0; i < x->count; i++)
        least = fmin(least, fabs((double)x->value[i]));
    return least;
}

static bool same_support(const struct spikes *a, const struct spikes *b)
{
    return a->count == b->count && memcmp(a->at, b->at, (size_t)a->count * sizeof *a->at) == 0;
}

/* Decodes layer l with the signs of D and writes its support to t->found. Decoders with thresholds read t->code =
 * A^T input; pursuit reads the dense input. Returns whether the support is the true one. */
static bool decode_layer(const struct drawing *w, int l, const float *input)
{
    struct trial_space *t = w->t;
    const struct decode_rule *rule = &w->s->plan.rule;
    const struct dictionary *d = &w->s->dictionary[l];
    size_t atoms = dictionary_code_size(d);
    double threshold = rule->threshold * smallest(&t->truth[l]);
    if (rule->decoder == DECODER_PURSUIT)
        decode_pursuit(d, w->s->lipschitz[l], input, threshold, rule->iterations, w->s->pool, t->code, t->scratch);
    for (size_t i = 0; i < atoms; i++)
        t->code[i] = minus(t->signs[l], (int32_t)i) ? -t->code[i] : t->code[i];
    if (rule->decoder == DECODER_TOP_K && separated(d->kernels, &t->truth[l], t->code, atoms, &t->found))
        return true;
    if (rule->decoder == DECODER_PURSUIT)
        decode_threshold(DECODER_HARD, t->code, atoms, 0, 0, &t->found, t->scratch);
    else
        decode_threshold(rule->decoder, t->code, atoms, t->truth[l].count, threshold, &t->found, t->scratch);
    return rule->decoder != DECODER_TOP_K && same_support(&t->found, &t->truth[l]); /* separated() decides top-k */
}

static void count_layers(const struct drawing *w, struct trial_outcome *out)
{
    struct trial_space *t = w->t;
    bool pursuit = w->s->plan.rule.decoder == DECODER_PURSUIT, all = true;
    if (!pursuit) {
        apply_signs(&t->truth[0], t->signs[0], &t->found);
        correlate(w, &t->found);
    }
    for (int l = 0; l < w->s->plan.layers; l++) {
        size_t inputs = dictionary_signal_size(&w->s->dictionary[l]);
        if (l > 0 && pursuit) {
            pathways_trial_spread(&t->found, t->map[l], inputs);
        } else if (l > 0) {
            memset(t->code, 0, code_size(w->s, l) * sizeof(float));
            dictionary_analyse_sparse(&w->s->dictionary[l], &t->found, t->code);
        }
        bool found = decode_layer(w, l, t->map[l]);
        all = all && found;
        out->layer_recovered[l] += found;
    }
    out->recovered += all;
}

static bool simple(const struct scenario *s)
{
    return s->plan.layers == 1 && s->plan.rule.decoder == DECODER_TOP_K;
}

static void count_simply(const struct drawing *w, const struct spikes *signed_code, struct trial_outcome *out)
{
    correlate(w, signed_code);
    bool found = separated(w->s->dictionary[0].kernels, &w->t->truth[0], w->t->code, code_size(w->s, 0), &w->t->found);
    out->recovered += found;
    out->layer_recovered[0] += found;
}

/* The state of several draws that are processed together: each tile of their codes is examined once and then
 * overwritten. */
struct lookout {
    const struct kernels *kernels;
    const struct spikes *x;
    int next; /* index of the first spike that the next tile may contain */
    float least[BANDED_ROWS], most[BANDED_ROWS];
};

static void pathways_trial_look(void *context, size_t first, size_t entries, float *tile)
{
    struct lookout *out = context;
    for (; out->next < out->x->count && (size_t)out->x->at[out->next] < first + entries; out->next++)
        for (int r = 0; r < BANDED_ROWS; r++) {
            float *at = &tile[r * BANDED_WIDTH + (int)((size_t)out->x->at[out->next] - first)], v = fabsf(*at);
            out->least[r] = v < out->least[r] ? v : out->least[r];
            *at = 0;
        }
    out->kernels->row_peaks(BANDED_ROWS, (int)entries, tile, BANDED_WIDTH, out->most);
}

/* Draws the signs of draw `first + row`: bit `row` of a spike's flips is 1 if its sign is -1. draw_signs() draws the
 * same signs. If there are few spikes, the function computes only the random words that they need. */
static void draw_flips(const struct drawing *w, int64_t first, int row)
{
    struct trial_space *t = w->t;
    const struct spikes *x = &t->truth[0];
    size_t words = code_size(w->s, 0) / 32 + 1;
    struct philox random = stream_of(w, STREAM_SIGNS, first + row);
    bool few = (size_t)x->count < words / 4, none = w->s->plan.signs != SIGNS_RANDOM;
    if (!few && !none)
        philox_fill_u32(&random, 0, t->signs[0], words);
    for (int i = 0; i < x->count && !none; i++) {
        uint32_t at = (uint32_t)x->at[i], word = few ? philox_u32(&random, at / 32) : t->signs[0][at / 32];
        t->flips[i] |= (uint8_t)((word >> (at % 32) & 1) << row);
    }
}

static void count_together(const struct drawing *w, int64_t first, int count, struct trial_outcome *out)
{
    struct trial_space *t = w->t;
    const struct dictionary *d = &w->s->dictionary[0];
    struct lookout lookout = {.kernels = d->kernels, .x = &t->truth[0]};
    memset(t->flips, 0, (size_t)t->truth[0].count);
    for (int r = 0; r < BANDED_ROWS; r++)
        lookout.least[r] = INFINITY;
    for (int r = 0; r < count; r++)
        draw_flips(w, first, r);
    struct correlation correlation = {
        .x = &t->truth[0],
        .flips = t->flips,
        .added = w->s->plan.noise > 0 ? t->noise + signal_size(w->s) : NULL,
        .terms = t->terms,
        .context = &lookout,
        .tile = pathways_trial_look,
    };
    dictionary_correlate_draws(d, &correlation);
    for (int r = 0; r < count; r++) {
        bool found = lookout.least[r] > lookout.most[r];
        out->recovered += found;
        out->layer_recovered[0] += found;
    }
}

/* ---- adversarial signs ------------------------------------------------------------------------------ */

/* Finds the two columns on which the choice of signs has the largest effect. "Entry" means an entry of A^T A x, over
 * all choices of signs. outside: the column outside the support whose entry can become largest. inside: the column
 * inside the support whose entry can become smallest. */
static void choose_targets(const struct drawing *w, int64_t *outside, int64_t *inside)
{
    const struct spikes *x = &w->t->truth[0];
    const struct dictionary *d = &w->s->dictionary[0];
    double least = INFINITY, most = -1;
    dictionary_interference(d, x, 1, w->t->sums);
    for (int i = 0; i < x->count; i++) {
        double left = (double)x->value[i] - w->t->sums[x->at[i]];
        if (left < least) {
            least = left;
            *inside = x->at[i];
        }
    }
    for (int i = 0; i < x->count; i++)
        w->t->sums[x->at[i]] = -1;
    for (size_t k = 0; k < dictionary_code_size(d); k++)
        if (w->t->sums[k] > most) {
            most = w->t->sums[k];
            *outside = (int64_t)k;
        }
}

/* Tries three choices of signs against the columns of choose_targets(): the first raises the entry outside the
 * support, the second lowers the entry inside, the third does both. Counts the code as recovered if the decoder
 * finds its support with all three. */
static void count_adversarial(const struct drawing *w, struct trial_outcome *out)
{
    struct trial_space *t = w->t;
    const struct dictionary *d = &w->s->dictionary[0];
    const struct spikes *x = &t->truth[0];
    int64_t outside = 0, inside = x->at[0];
    bool survived = true;
    choose_targets(w, &outside, &inside);
    for (int attack = 0; attack < 3 && survived; attack++) {
        t->found.count = x->count;
        for (int i = 0; i < x->count; i++) {
            double up = dictionary_inner(d, outside, x->at[i]), down = -dictionary_inner(d, inside, x->at[i]);
            double gain = attack == 0 ? up : attack == 1 ? down : up + down;
            bool negative = x->at[i] == inside ? false : gain < 0;
            if (attack == 0)
                negative = up < 0;
            t->found.at[i] = x->at[i];
            t->found.value[i] = negative ? -x->value[i] : x->value[i];
        }
        correlate(w, &t->found);
        survived = separated(d->kernels, x, t->code, dictionary_code_size(d), &t->found);
    }
    out->recovered += survived;
    out->layer_recovered[0] += survived;
}

/* ---- a unit ------------------------------------------------------------------------------------------ */

static enum status guarantees(const struct drawing *w, struct trial_outcome *out, struct error *err)
{
    const struct dictionary *dictionaries[PATHWAYS_DEPTH];
    const float *codes[PATHWAYS_DEPTH];
    struct layer_guarantee layer[PATHWAYS_DEPTH];
    int layers = w->s->plan.layers;
    for (int l = 0; l < layers; l++) {
        dictionaries[l] = &w->s->dictionary[l];
        codes[l] = w->t->map[l + 1];
    }
    enum status status =
        pathway_guarantee(dictionaries, codes, layers, w->s->plan.noise, w->request->delta, true, layer, err);
    if (status)
        return status;
    struct pathway_verdict verdict = pathway_verdict(layer, layers);
    out->uniform = verdict.uniform;
    out->theorem = verdict.theorem;
    out->instance = verdict.instance;
    out->uniform_limit = layer[0].uniform_limit;
    out->probabilistic_limit = layer[0].probabilistic_limit;
    return STATUS_OK;
}

/* Largest number of non-zeros in any window of `window` positions on a circle. A position has `unit` entries. One of
 * the windows with the largest number starts at a non-zero, so the loop tries only the windows that start at a
 * non-zero. */
static double fullest(const struct spikes *x, int unit, int64_t circle, int64_t window)
{
    int most = 0;
    for (int i = 0, end = 0; i < x->count; i++) { /* the window that starts at spike i contains the spikes i .. end - 1;
                                                     indices continue past the end of the circle */
        int64_t limit = x->at[i] / unit + window;
        end = end > i ? end : i;
        while (end < i + x->count && x->at[end % x->count] / unit + (end >= x->count ? circle : 0) < limit)
            end++;
        most = end - i > most ? end - i : most;
    }
    return most;
}

/* Measures the stripe sparsities of the current codes. With `maps`, also writes their maps to map[1..]. */
static void pathways_trial_measure(const struct drawing *w, bool maps, struct trial_outcome *out)
{
    for (int l = 0; l < w->s->plan.layers; l++) {
        const struct dictionary_shape *s = &w->s->dictionary[l].shape;
        const struct spikes *x = &w->t->truth[l];
        int64_t window = 2 * (int64_t)s->extent_w - 1;
        if (maps)
            pathways_trial_spread(x, w->t->map[l + 1], code_size(w->s, l));
        out->stripe[l] = fullest(x, s->filters, s->width, window);
        out->stripe_literal[l] = fullest(x, 1, (int64_t)code_size(w->s, l), window * s->filters);
    }
}

enum status trial_run(const struct scenario *s, struct trial_space *t, const struct trial_request *request,
                      struct trial_outcome *out, struct error *err)
{
    struct drawing w = {s, t, request};
    memset(out, 0, sizeof *out);
    out->draws = s->plan.signs == SIGNS_RANDOM ? request->draws : 1;
    enum status status = trial_space_room(t, s->plan.layers, request->nonzeros, err);
    if (!status)
        status = draw_code(&w, err);
    if (status)
        return status;
    draw_noise(&w);
    bool together = simple(s) && s->plan.signs != SIGNS_ADVERSARIAL && s->dictionary[0].bands;
    for (int64_t draw = 0, count; !status && draw < out->draws; draw += count) {
        status = thread_pool_check(s->pool, err);
        if (status)
            break;
        count = together && out->draws - draw > BANDED_ROWS ? BANDED_ROWS : together ? out->draws - draw : 1;
        if (!together) {
            draw_signs(&w, draw);
            pathways_trial_encode(&w, s->plan.rule.decoder == DECODER_PURSUIT);
        }
        if (draw == 0) {
            pathways_trial_measure(&w, request->bounds || s->plan.rule.decoder == DECODER_PURSUIT, out);
            if (request->bounds)
                status = guarantees(&w, out, err);
        }
        if (together) {
            count_together(&w, draw, (int)count, out);
        } else if (s->plan.signs == SIGNS_ADVERSARIAL) {
            count_adversarial(&w, out);
        } else if (simple(s)) {
            apply_signs(&t->truth[0], t->signs[0], &t->found);
            count_simply(&w, &t->found, out);
        } else {
            count_layers(&w, out);
        }
    }
    return status;
}

enum status trial_draw(const struct scenario *s, struct trial_space *t, const struct trial_request *request,
                       struct trial_picture *out, struct error *err)
{
    struct drawing w = {s, t, request};
    enum status status = trial_space_room(t, s->plan.layers, request->nonzeros, err);
    if (!status)
        status = draw_code(&w, err);
    if (status)
        return status;
    draw_noise(&w);
    draw_signs(&w, 0);
    pathways_trial_encode(&w, true);
    out->signal = t->map[0];
    for (int l = 0; l < s->plan.layers; l++) {
        pathways_trial_spread(&t->truth[l], t->map[l + 1], code_size(s, l));
        out->codes[l] = t->map[l + 1];
        out->signs[l] = t->signs[l];
    }
    return STATUS_OK;
}
