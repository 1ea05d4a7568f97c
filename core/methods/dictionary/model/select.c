/* Chooses the active latents of a batch, and the dead latents of the auxiliary loss (step.h).
 *
 * A row keeps the activations above its cut. Of the activations that equal the cut, it keeps the first `ties` by index.
 * For BATCHTOPK and MATRYOSHKA, all rows of a batch have the same cut. batch_cut() finds it exactly, in three passes
 * over the batch. It uses that positive floats have the same order as their 31 bits below the sign, read as integers.
 * Each pass makes a histogram of the next bits: first the upper 12, then 12, then 7. */
#include <math.h>
#include <string.h>

#include "core/methods/dictionary/model/step_int.h"
#include "core/nn/select_kth.h"

/* Functions on the entries of a step that several files of this folder call (step.h, step_int.h). */

int step_active(const struct step *s, int row)
{
    int active = 0;
    for (int i = s->codes.start[row]; i < s->codes.start[row] + s->codes.count[row]; i++)
        active += s->codes.value[i] != 0;
    return active;
}

double step_sparsity(const struct step *s)
{
    const struct sae *sae = s->sae;
    return sae->tuner ? sae->shape.sparsity * s->warm * (double)sae->tuner->value[TUNER_FACTOR] : 0;
}

void step_by_latent(const struct step *s, const struct entries *rows, int first, int count, int picks,
                    struct entries *columns)
{
    int m = s->sae->shape.width, at = 0;
    memset(columns->count, 0, (size_t)m * sizeof *columns->count);
    for (int r = first; r < first + count; r++)
        for (int i = rows->start[r]; i < rows->start[r] + rows->count[r]; i++)
            columns->count[rows->index[i]]++;
    for (int j = 0; j < m; j++) {
        columns->start[j] = at;
        at += columns->count[j];
        columns->count[j] = 0;
    }
    columns->total = at;
    for (int r = first; r < first + count; r++)
        for (int i = rows->start[r]; i < rows->start[r] + rows->count[r]; i++) {
            int j = rows->index[i], to = columns->start[j] + columns->count[j]++;
            columns->index[to] = picks > 0 ? (r - first) * picks + i - rows->start[r] : r;
            columns->value[to] = rows->value[i];
            columns->slope[to] = rows->slope[i];
            if (columns->edge)
                columns->edge[to] = rows->edge[i];
        }
}

/* ---- cuts ---------------------------------------------------------------------------------------------------- */

static void bias_task(void *context, int chunk, int worker)
{
    struct step *s = context;
    struct step_piece rows = step_piece(chunk, STEP_ROWS, s->count);
    int m = s->sae->shape.width;
    s->kernels->bias_add(rows.count, m, s->sae->encoder_bias->value, s->h + (ptrdiff_t)rows.first * m, m);
}

/* Returns the cut of one row, so that the row keeps its `keep` largest positive values x. */
static float row_cut(const float *x, int m, int keep, float *scratch, int *ties)
{
    int positive = 0, above = 0;
    for (int j = 0; j < m; j++) {
        scratch[positive] = x[j];
        positive += x[j] > 0;
    }
    *ties = 0;
    if (positive <= keep)
        return 0;
    float cut = select_kth(scratch, (size_t)positive, (size_t)(positive - keep + 1));
    for (int j = 0; j < m; j++)
        above += x[j] > cut;
    *ties = keep - above;
    return cut;
}

static const uint32_t INFINITE = 0x7f800000; /* the bits of infinity; those of negative numbers and of NaN are larger */

struct count_bits {
    struct step *step;
    uint32_t prefix; /* only values with these bits from bit `shift + width` on are counted */
    int shift, width;
};

/* Counts how many values of a chunk of rows fall into each bin. The bin of a value is `width` bits of its float, from
 * bit `shift` on. The first pass also counts negative values, in spare bins that nothing reads: a branch that skips
 * them would be mispredicted half of the time. */
static void count_task(void *context, int chunk, int worker)
{
    struct count_bits *c = context;
    struct step *s = c->step;
    struct step_piece rows = step_piece(chunk, STEP_ROWS, s->count);
    size_t m = (size_t)s->sae->shape.width, all = m * (size_t)rows.count;
    const float *h = s->h + (size_t)rows.first * m;
    uint32_t *bins = s->bins + (size_t)chunk * STEP_BINS, mask = (1u << c->width) - 1;
    int shift = c->shift, above = c->shift + c->width;
    memset(bins, 0, STEP_BINS * sizeof *bins);
    for (size_t i = 0; i < all; i++) {
        uint32_t bits;
        memcpy(&bits, &h[i], sizeof bits);
        bool positive = bits <= INFINITE; /* true for 0 as well, which batch_cut() excludes; false for NaN */
        if (above >= 31)
            bins[positive ? bits >> shift : STEP_USED_BINS + bits % STEP_SPARE_BINS]++;
        else if (bits >> above == c->prefix && positive)
            bins[bits >> shift & mask]++;
    }
}

/* Finds the cut for the `keep` largest positive values of the whole batch: the batch keeps the values above the cut and
 * the first *ties of the values equal to it. The cut is 0 if the batch has at most `keep` positive values. Returns
 * false if the pool was stopped. */
static bool batch_cut(struct step *s, int64_t keep, float *cut, int64_t *ties)
{
    static const struct {
        int shift, width;
    } passes[] = {{19, 12}, {7, 12}, {0, 7}};
    int chunks = step_pieces(s->count, STEP_ROWS);
    uint32_t prefix = 0;
    int64_t left = keep;
    *cut = 0;
    *ties = 0;
    for (int pass = 0; pass < 3; pass++) {
        struct count_bits count = {s, prefix, passes[pass].shift, passes[pass].width};
        if (!thread_pool_run(s->pool, count_task, &count, chunks))
            return false;
        int bin = (1 << passes[pass].width) - 1;
        for (; bin >= 0; bin--) {
            int64_t here = 0;
            for (int c = 0; c < chunks; c++)
                here += s->bins[(size_t)c * STEP_BINS + (size_t)bin];
            if (here >= left)
                break;
            left -= here;
        }
        if (bin < 0)
            return true; /* fewer positive values than `keep` */
        prefix = prefix << passes[pass].width | (uint32_t)bin;
    }
    memcpy(cut, &prefix, sizeof prefix);
    *ties = prefix > 0 ? left : 0;
    return true;
}

/* ---- entries ------------------------------------------------------------------------------------------------- */

/* For JUMPRELU: latent j gets an entry in a row if its h is above the result. If the threshold is positive, the result
 * is half a bandwidth below it, because the gradient of the threshold also needs the latents whose h is just below the
 * threshold. */
static float jump_from(const struct sae *sae, int j)
{
    float t = sae_threshold(sae, j), near = t - (float)(0.5 * sae->shape.bandwidth);
    return sae->threshold->value[j] > 0 ? near : t;
}

static void cut_task(void *context, int chunk, int worker)
{
    struct step *s = context;
    const struct sae_shape *shape = &s->sae->shape;
    struct step_piece rows = step_piece(chunk, STEP_ROWS, s->count);
    for (int r = rows.first; r < rows.first + rows.count; r++) {
        const float *h = s->h + (ptrdiff_t)r * shape->width;
        int above = 0, equal = 0;
        if (shape->learner == LEARNER_TOPK)
            s->cut[r] = row_cut(h, shape->width, step_kept(shape), step_scratch(s, worker), &s->ties[r]);
        if (shape->learner == LEARNER_JUMPRELU)
            for (int j = 0; j < shape->width; j++)
                above += h[j] > jump_from(s->sae, j);
        else
            for (int j = 0; j < shape->width; j++) {
                above += h[j] > s->cut[r];
                equal += h[j] == s->cut[r];
            }
        if (shape->learner == LEARNER_BATCHTOPK || shape->learner == LEARNER_MATRYOSHKA)
            s->ties[r] = equal; /* share_ties() reduces this */
        s->codes.count[r] = above;
    }
}

/* Adds the ties that are kept to the number of entries of each row, and computes where each row's entries begin. */
static void place_rows(struct step *s, int64_t ties)
{
    const struct sae_shape *shape = &s->sae->shape;
    bool batch = shape->learner == LEARNER_BATCHTOPK || shape->learner == LEARNER_MATRYOSHKA;
    int at = 0;
    for (int r = 0; r < s->count; r++) {
        if (batch) {
            s->ties[r] = (int)(s->ties[r] < ties ? s->ties[r] : ties);
            ties -= s->ties[r];
        }
        s->codes.count[r] += s->ties[r];
        s->codes.start[r] = at;
        at += s->codes.count[r];
    }
    s->codes.total = at;
}

static void fill_row(struct step *s, int r)
{
    const struct sae *sae = s->sae;
    const float *h = s->h + (ptrdiff_t)r * sae->shape.width;
    int at = s->codes.start[r], ties = s->ties[r];
    bool jump = sae->shape.learner == LEARNER_JUMPRELU;
    s->smallest[r] = INFINITY;
    for (int j = 0; j < sae->shape.width; j++) {
        if (jump ? !(h[j] > jump_from(sae, j)) : !(h[j] > s->cut[r]) && !(h[j] == s->cut[r] && ties-- > 0))
            continue;
        float value = jump && !(h[j] > sae_threshold(sae, j)) ? 0 : h[j];
        s->codes.index[at] = j;
        s->codes.value[at++] = value;
        if (value > 0)
            s->smallest[r] = fminf(s->smallest[r], value);
    }
}

static void fill_task(void *context, int chunk, int worker)
{
    struct step *s = context;
    const struct sae_shape *shape = &s->sae->shape;
    struct step_piece rows = step_piece(chunk, STEP_ROWS, s->count);
    for (int r = rows.first; r < rows.first + rows.count; r++) {
        fill_row(s, r);
        int at = s->codes.start[r], end = at + s->codes.count[r];
        for (int level = 0; level < shape->levels; level++) {
            int from = at;
            while (at < end && s->codes.index[at] < shape->level_end[level])
                at++;
            s->level_count[(ptrdiff_t)r * SAE_LEVELS + level] = at - from;
        }
    }
}

bool step_select(struct step *s)
{
    const struct sae_shape *shape = &s->sae->shape;
    int chunks = step_pieces(s->count, STEP_ROWS);
    int64_t ties = 0;
    float cut = 0;
    if (!thread_pool_run(s->pool, bias_task, s, chunks))
        return false;
    if ((shape->learner == LEARNER_BATCHTOPK || shape->learner == LEARNER_MATRYOSHKA) &&
        !batch_cut(s, (int64_t)(shape->l0 * s->count), &cut, &ties))
        return false;
    for (int r = 0; r < s->count; r++) {
        s->cut[r] = cut;
        s->ties[r] = 0;
    }
    if (!thread_pool_run(s->pool, cut_task, s, chunks))
        return false;
    place_rows(s, ties);
    return thread_pool_run(s->pool, fill_task, s, chunks);
}

/* ---- dead latents -------------------------------------------------------------------------------------------- */

/* Lists the dead latents that have the largest h in a row. h may be negative. */
static void dead_row(struct step *s, int r, float *scratch)
{
    struct entries *e = &s->auxiliary;
    const float *h = s->h + (ptrdiff_t)r * s->sae->shape.width;
    int keep = e->count[r], found = 0, above = 0, at = e->start[r];
    for (int j = 0; j < s->sae->shape.width; j++)
        if (s->dead[j])
            scratch[found++] = h[j];
    float cut = select_kth(scratch, (size_t)found, (size_t)(found - keep + 1));
    for (int j = 0; j < s->sae->shape.width; j++)
        above += s->dead[j] && h[j] > cut;
    int ties = keep - above;
    for (int j = 0; j < s->sae->shape.width; j++)
        if (s->dead[j] && (h[j] > cut || (h[j] == cut && ties-- > 0))) {
            e->index[at] = j;
            e->value[at++] = h[j];
        }
}

static void dead_task(void *context, int chunk, int worker)
{
    struct step *s = context;
    struct step_piece rows = step_piece(chunk, STEP_ROWS, s->count);
    for (int r = rows.first; r < rows.first + rows.count; r++)
        dead_row(s, r, step_scratch(s, worker));
}

bool step_select_dead(struct step *s)
{
    const struct sae_shape *shape = &s->sae->shape;
    int dead = 0;
    for (int j = 0; j < shape->width; j++) {
        s->dead[j] = s->sae->unfired->value[j] > (float)shape->dead_after;
        dead += s->dead[j];
    }
    if (dead == 0 || !(shape->aux_weight > 0) || shape->aux_latents == 0)
        return true;
    int keep = dead < shape->aux_latents ? dead : shape->aux_latents;
    for (int r = 0; r < s->count; r++) {
        s->auxiliary.start[r] = r * keep;
        s->auxiliary.count[r] = keep;
    }
    s->auxiliary.total = s->count * keep;
    s->dead_count = dead;
    return thread_pool_run(s->pool, dead_task, s, step_pieces(s->count, STEP_ROWS));
}
