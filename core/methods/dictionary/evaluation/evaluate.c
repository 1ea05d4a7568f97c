/* Measures the dictionaries of a run on test samples, one batch at a time, and computes the figures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/dictionary/run_int.h"
#include "core/metrics/latents.h"

/* Above this width, the program does not compute the correlations of two seeds' codes, because their tables would be
 * too large. */
enum { PAIRED_WIDTH = 2048 };

/* The codes that one seed's dictionary computed for a batch. Each latent occurs at most once in a row. */
struct kept {
    int *start, *count; /* [room] */
    int32_t *index;
    float *value; /* activations times the norm of the latent's row */
    size_t room;
};

struct evaluation {
    int seeds, width, inputs, rows;
    int64_t position;    /* test samples in the sums */
    double *mean, power; /* mean: [inputs] sum of x over the samples so far; power: sum of |x|^2 */
    struct seed_sums {
        double error, active, shrinkage;
        int64_t *fired; /* [width] number of samples in which the latent is active */
        struct recovery recovery;
        struct kept kept;
        float *norm, *ones; /* [width] norm: norms of the rows; ones: all 1, for functions that multiply by norms,
                               because the values in `kept` already contain the norms */
    } seed[DICTIONARY_SEEDS];
    struct pair_moments pair[DICTIONARY_SEEDS][DICTIONARY_SEEDS]; /* [a][b] with a < b: moments of the codes of seeds a
                                                                     and b, for their correlations */
    struct comparison *comparison;
    struct gallery_codes *gallery; /* the gallery of seed 0 */
};

/* ---- creation ------------------------------------------------------------------------------------------------ */

void run_evaluate_close(struct method_run *run)
{
    struct evaluation *e = run->evaluation;
    run->evaluation = NULL;
    if (!e)
        return;
    for (int s = 0; s < DICTIONARY_SEEDS; s++) {
        recovery_close(&e->seed[s].recovery);
        free(e->seed[s].fired);
        free(e->seed[s].kept.start);
        free(e->seed[s].kept.count);
        free(e->seed[s].kept.index);
        free(e->seed[s].kept.value);
        free(e->seed[s].norm);
        free(e->seed[s].ones);
        for (int other = 0; other < DICTIONARY_SEEDS; other++)
            pair_moments_close(&e->pair[s][other]);
    }
    comparison_destroy(e->comparison);
    gallery_codes_destroy(e->gallery);
    free(e->mean);
    free(e);
}

static enum status open_seed(struct method_run *run, struct evaluation *e, int s, struct error *err)
{
    const struct sae *sae = run->sae[s];
    struct seed_sums *own = &e->seed[s];
    size_t rows = (size_t)e->rows, d = (size_t)e->inputs;
    own->kept.room = (size_t)run->step->codes.room;
    own->fired = calloc((size_t)e->width, sizeof *own->fired);
    own->kept.start = calloc(rows, sizeof *own->kept.start);
    own->kept.count = calloc(rows, sizeof *own->kept.count);
    own->kept.index = calloc(own->kept.room, sizeof *own->kept.index);
    own->kept.value = calloc(own->kept.room, sizeof *own->kept.value);
    own->norm = calloc((size_t)e->width, sizeof *own->norm);
    own->ones = calloc((size_t)e->width, sizeof *own->ones);
    if (!own->fired || !own->kept.start || !own->kept.count || !own->kept.index || !own->kept.value || !own->norm ||
        !own->ones)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the codes of %d samples", e->rows);
    for (int j = 0; j < e->width; j++) {
        own->ones[j] = 1;
        own->norm[j] = (float)sqrt(run->base.env.kernels->sum_squares(d, sae->decoder->value + (size_t)j * d));
    }
    enum status status = STATUS_OK;
    if (dictionary_known(&run->config))
        status = recovery_create(sae->decoder->value, e->width, run->data.directions, run->data.shape.features,
                                 e->inputs, &own->recovery, run->base.env.pool, err);
    for (int other = s + 1; !status && other < e->seeds && e->width <= PAIRED_WIDTH; other++)
        status = pair_moments_create(e->width, e->width, &e->pair[s][other], err);
    return status;
}

static enum status open_evaluation(struct method_run *run, struct error *err)
{
    const struct dictionary_setup *c = &run->setup;
    struct evaluation *e = calloc(1, sizeof *e);
    if (!e)
        return error_memory(err, "an evaluation");
    run->evaluation = e;
    run_limit_tests(run);
    e->seeds = run->seeds;
    e->width = c->width;
    e->inputs = c->inputs;
    e->rows = dictionary_batch(&run->config, c);
    e->mean = calloc((size_t)c->inputs, sizeof *e->mean);
    enum status status = e->mean ? STATUS_OK : error_memory(err, "an evaluation");
    for (int s = 0; !status && s < e->seeds; s++)
        status = open_seed(run, e, s, err);
    if (!status)
        status = gallery_codes_create(&run->gallery, run->base.evaluation_samples, c->l0, &e->gallery, err);
    if (status || run->config.pursuit_samples == 0)
        return status;
    return comparison_create(run, &e->comparison, err);
}

/* ---- a batch ------------------------------------------------------------------------------------------------- */

/* Copies the codes of the batch from run->step to own->kept. Omits zeros, and adds up the values of a latent that was
 * picked several times. */
static void keep_codes(const struct method_run *run, struct seed_sums *own, int count)
{
    const struct entries *codes = &run->step->codes;
    int at = 0;
    for (int r = 0; r < count; r++) {
        own->kept.start[r] = at;
        for (int i = codes->start[r]; i < codes->start[r] + codes->count[r]; i++) {
            int j = codes->index[i], place = at;
            if (!(codes->value[i] > 0))
                continue;
            /* Only matching pursuit can pick a latent several times in one row. Such a row has few entries, so a linear
             * search is fast enough. */
            if (run->setup.learner == LEARNER_MATCHING_PURSUIT)
                for (place = own->kept.start[r]; place < at && own->kept.index[place] != j;)
                    place++;
            if (place == at) {
                own->kept.index[at] = j;
                own->kept.value[at++] = 0;
            }
            own->kept.value[place] += codes->value[i] * own->norm[j];
        }
        own->kept.count[r] = at - own->kept.start[r];
    }
}

static void count_absorption(const struct method_run *run, struct recovery *recovery,
                             const struct recovery_sample *sample, const float *x, const float *ones)
{
    const struct planted *data = &run->data;
    int d = data->shape.inputs, trees = planted_tree_features(&data->shape);
    for (int k = 0; k < sample->features; k++) {
        int i = sample->feature[k];
        double projection = 0;
        if (data->shape.roots + PLANTED_CHILDREN * i >= trees)
            continue; /* no children */
        for (int n = 0; n < d; n++)
            projection += (double)x[n] * (double)data->directions[(ptrdiff_t)i * d + n];
        recovery_absorb(recovery, sample, i, projection, ones);
    }
}

static void add_rows(struct method_run *run, struct seed_sums *own, int count)
{
    const struct step *step = run->step;
    int d = run->setup.inputs;
    keep_codes(run, own, count);
    for (int r = 0; r < count; r++) {
        const float *x = run->x + (ptrdiff_t)r * d;
        const int32_t *active = own->kept.index + own->kept.start[r];
        double norm = sqrt(run->base.env.kernels->sum_squares((size_t)d, x));
        double rebuilt = sqrt(run->base.env.kernels->sum_squares((size_t)d, step->xhat + (ptrdiff_t)r * d));
        own->error += step->error[r];
        own->active += own->kept.count[r];
        own->shrinkage += norm > 0 ? rebuilt / norm : 1;
        for (int i = 0; i < own->kept.count[r]; i++)
            own->fired[active[i]]++;
        if (!dictionary_known(&run->config))
            continue;
        const struct recovery_sample sample = {active, own->kept.value + own->kept.start[r], own->kept.count[r],
                                               run->truth.index + run->truth.start[r], run->truth.count[r]};
        recovery_add(&own->recovery, &sample);
        if (run->data.shape.kind == PLANTED_TREES)
            count_absorption(run, &own->recovery, &sample, x, own->ones);
    }
}

static void add_gallery(const struct method_run *run, struct evaluation *e, int64_t position, int count)
{
    const struct kept *first = &e->seed[0].kept;
    for (int r = 0; e->gallery && r < count; r++)
        gallery_add(e->gallery, run_input(run, position + r), first->index + first->start[r],
                    first->value + first->start[r], first->count[r]);
}

static void add_pairs(struct evaluation *e, int count)
{
    for (int a = 0; a < e->seeds; a++)
        for (int b = a + 1; b < e->seeds && e->pair[a][b].cross; b++)
            for (int r = 0; r < count; r++) {
                const struct kept *u = &e->seed[a].kept, *v = &e->seed[b].kept;
                pair_moments_add(&e->pair[a][b], u->index + u->start[r], u->value + u->start[r], u->count[r],
                                 v->index + v->start[r], v->value + v->start[r], v->count[r]);
            }
}

static void add_inputs(const struct method_run *run, struct evaluation *e, int count)
{
    for (int r = 0; r < count; r++)
        for (int k = 0; k < e->inputs; k++) {
            double value = (double)run->x[(ptrdiff_t)r * e->inputs + k];
            e->mean[k] += value;
            e->power += value * value;
        }
}

static enum status add_batch(struct method_run *run, int64_t position, int count, struct error *err)
{
    struct evaluation *e = run->evaluation;
    struct step_outcome out;
    int64_t seed = run->base.evaluation_seed;
    uint32_t stream = seed == run->config.seed ? STREAM_TEST : STREAM_OTHER + (uint32_t)(seed & 0xffffff);
    enum status status = run_draw(run, stream, position, 0, count, err);
    if (!status)
        add_inputs(run, e, count);
    for (int s = 0; !status && s < e->seeds; s++) {
        status = run_encode(run, s, count, &out, err);
        if (!status)
            add_rows(run, &e->seed[s], count);
    }
    if (status)
        return status;
    add_pairs(e, count);
    add_gallery(run, e, position, count);
    int64_t left = run->config.pursuit_samples - position;
    int compared = (int)(left < count ? left : count);
    const struct kept *first = &e->seed[0].kept;
    const struct comparison_codes codes = {first->start, first->count, first->index, first->value};
    return e->comparison && compared > 0
               ? comparison_add(e->comparison, run, &e->seed[0].recovery, &codes, compared, err)
               : STATUS_OK;
}

/* ---- figures ------------------------------------------------------------------------------------------------- */

/* Adds the scores of one seed, divided by the number of seeds, to the mean scores in *o. A score says how well the
 * latents recover the true features. squares: sums for the standard deviations. */
static void add_scores(const struct recovery_scores *score, double seeds, struct outcome *o, double squares[2])
{
    o->mcc += score->mcc / seeds;
    o->uniqueness += score->uniqueness / seeds;
    o->precision += score->precision / seeds;
    o->recall += score->recall / seeds;
    o->f1 += score->f1 / seeds;
    o->accuracy += score->accuracy / seeds;
    o->absorption_full += score->absorption_full / seeds;
    o->absorption_fraction += score->absorption_fraction / seeds;
    squares[0] += score->mcc * score->mcc / seeds;
    squares[1] += score->f1 * score->f1 / seeds;
    for (int tenth = 0; tenth < RECOVERY_DECILES; tenth++)
        o->found[tenth] += score->found[tenth] / seeds;
}

static void mean_of_seeds(const struct method_run *run, const struct evaluation *e, struct outcome *o)
{
    struct recovery_scores unknown = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, {0}};
    double n = (double)run->position, seeds = e->seeds, centre = 0, squares[2] = {0};
    for (int tenth = 0; tenth < RECOVERY_DECILES; tenth++)
        unknown.found[tenth] = NAN;
    for (int k = 0; k < e->inputs; k++)
        centre += e->mean[k] / n * (e->mean[k] / n);
    double variance = e->power / n - centre;
    for (int s = 0; s < e->seeds; s++) {
        const struct seed_sums *own = &e->seed[s];
        struct recovery_scores score = unknown;
        if (dictionary_known(&run->config))
            score = recovery_scores(&own->recovery);
        int silent = 0;
        for (int j = 0; j < e->width; j++)
            silent += own->fired[j] == 0;
        o->loss += own->error / n / (run->scale * run->scale) / seeds;
        o->explained += (1 - own->error / n / variance) / seeds;
        o->l0 += own->active / n / seeds;
        o->shrinkage += own->shrinkage / n / seeds;
        o->dead += (double)silent / e->width / seeds;
        add_scores(&score, seeds, o, squares);
    }
    double bessel = seeds > 1 ? seeds / (seeds - 1) : NAN;
    if (!dictionary_known(&run->config))
        bessel = NAN;
    o->mcc_sd = sqrt(bessel * fmax(0, squares[0] - o->mcc * o->mcc));
    o->f1_sd = sqrt(bessel * fmax(0, squares[1] - o->f1 * o->f1));
}

/* Matches the latents of each pair of seeds and computes how far they agree. partner: [width]; for each latent of seed
 * 0, its smallest |cosine| with a latent that matches it in another seed; NaN: there is only one seed. */
static enum status agree(const struct method_run *run, const struct evaluation *e, struct outcome *o, double *partner,
                         struct error *err)
{
    int *other_of = malloc((size_t)e->width * sizeof *other_of), pairs = e->seeds * (e->seeds - 1) / 2;
    double *cosine = malloc((size_t)e->width * sizeof *cosine);
    struct thread_pool *pool = run->base.env.pool;
    enum status status =
        other_of && cosine ? STATUS_OK
                           : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to match %d latents", e->width);
    for (int j = 0; j < e->width; j++)
        partner[j] = e->seeds > 1 ? 1 : NAN;
    for (int a = 0; !status && a < e->seeds; a++)
        for (int b = a + 1; !status && b < e->seeds; b++) {
            const float *u = run->sae[a]->decoder->value, *v = run->sae[b]->decoder->value;
            double absolute = 0, with_sign = 0, codes = NAN;
            status =
                pairs_by_cosine(u, e->width, v, e->width, e->inputs, false, other_of, cosine, &with_sign, pool, err);
            if (!status)
                status =
                    pairs_by_cosine(u, e->width, v, e->width, e->inputs, true, other_of, cosine, &absolute, pool, err);
            for (int j = 0; !status && a == 0 && j < e->width; j++)
                partner[j] = fmin(partner[j], fabs(cosine[j]));
            if (!status && e->pair[a][b].cross)
                status = pair_moments_mcc(&e->pair[a][b], &codes, pool, err);
            o->pair_absolute += absolute / pairs;
            o->pair_signed += with_sign / pairs;
            o->pair_codes += codes / pairs;
        }
    free(other_of);
    free(cosine);
    return status;
}

/* Fills the table of the latents of seed 0. The columns LATENT_PARTNER and LATENT_AGREES already have their values. */
static void describe_latents(const struct evaluation *e, struct outcome *o, double *table)
{
    const struct recovery *r = e->seed[0].recovery.latents > 0 ? &e->seed[0].recovery : NULL;
    o->recurring = o->worth = 0;
    for (int j = 0; j < e->width; j++) {
        double *row = table + (ptrdiff_t)j * LATENT_COLUMNS, fired = (double)e->seed[0].fired[j];
        double active = r ? (double)r->active[r->own[j]] : NAN, both = r ? (double)r->both[j] : NAN;
        bool recurs = row[LATENT_PARTNER] >= RECURS && fired > 0;
        row[LATENT_RATE] = fired / (double)e->position;
        row[LATENT_FEATURE] = r ? (double)r->own[j] : NAN;
        row[LATENT_COSINE] = r ? r->cosine[(ptrdiff_t)j * r->features + r->own[j]] : NAN;
        row[LATENT_PRECISION] = !r ? NAN : fired > 0 ? both / fired : 0;
        row[LATENT_RECALL] = !r ? NAN : active > 0 ? both / active : 0;
        row[LATENT_WORTH] = recurs && row[LATENT_AGREES] >= AGREES;
        o->recurring += recurs;
        o->worth += row[LATENT_WORTH];
    }
    if (e->seeds < 2)
        o->recurring = o->worth = NAN;
    else if (!e->comparison)
        o->worth = NAN;
}

static enum status figures(struct method_run *run, struct error *err)
{
    struct evaluation *e = run->evaluation;
    struct outcome *o = &run->outcome;
    double train_loss = o->train_loss;
    double *columns = malloc(2 * (size_t)e->width * sizeof *columns);
    double *table = calloc((size_t)e->width * LATENT_COLUMNS, sizeof *table);
    enum status status = columns && table
                             ? STATUS_OK
                             : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d latents", e->width);
    *o = (struct outcome){.train_loss = train_loss, .updates = run->updates, .samples = run->samples};
    if (!status) {
        mean_of_seeds(run, e, o);
        status = agree(run, e, o, columns, err);
    }
    if (e->seeds < 2)
        o->pair_absolute = o->pair_signed = o->pair_codes = NAN;
    for (int j = 0; !status && j < e->width; j++)
        columns[e->width + j] = NAN;
    if (!status)
        status = comparison_finish(e->comparison, o, columns + e->width, run->base.env.pool, err);
    for (int j = 0; !status && j < e->width; j++) {
        table[(ptrdiff_t)j * LATENT_COLUMNS + LATENT_PARTNER] = columns[j];
        table[(ptrdiff_t)j * LATENT_COLUMNS + LATENT_AGREES] = columns[e->width + j];
    }
    if (!status)
        describe_latents(e, o, table);
    if (!status && e->gallery)
        gallery_finish(e->gallery, &run->sae[0]->shape);
    if (!status)
        memcpy(run->latents, table, (size_t)e->width * LATENT_COLUMNS * sizeof *table);
    free(columns);
    free(table);
    return status;
}

/* Number of test samples in the batch that begins at sample `position`. */
static int batch_at(const struct method_run *run, int64_t position)
{
    int64_t left = run->base.evaluation_samples - position;
    return (int)(left < run->evaluation->rows ? left : run->evaluation->rows);
}

/* Opens the evaluation. A checkpoint does not contain the sums, because they are large. After a resume, this
 * function therefore measures the samples before `position` again, which takes little time. */
static enum status evaluation_evaluate_prepare(struct method_run *run, struct error *err)
{
    enum status status = run->evaluation ? STATUS_OK : open_evaluation(run, err);
    while (!status && run->evaluation->position < run->position) {
        int count = batch_at(run, run->evaluation->position);
        status = add_batch(run, run->evaluation->position, count, err);
        run->evaluation->position += count;
    }
    return status;
}

enum status run_evaluate_piece(struct method_run *run, bool *done, struct error *err)
{
    enum status status = evaluation_evaluate_prepare(run, err);
    if (status)
        return status;
    int count = batch_at(run, run->position);
    status = add_batch(run, run->position, count, err);
    if (status)
        return status;
    run->position += count;
    run->evaluation->position = run->position;
    run->base.seen += count;
    run->base.work++;
    *done = run->position >= run->base.evaluation_samples;
    if (!*done)
        return STATUS_OK;
    status = figures(run, err);
    run_evaluate_close(run);
    run->position = 0;
    return status;
}
