/* Opens a run (its data and its fits) and trains it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/tables/features.h"
#include "core/methods/factors/run_int.h"
#include "core/methods/shared/table_source.h"

void factors_run_close(struct method_run *run)
{
    multi_start_close(&run->multi_start);
    nmf_destroy(run->nmf);
    free(run->view);
    if (run->features != run->table)
        features_destroy(run->features);
    free(run->rows);
    run->nmf = NULL;
    run->view = NULL;
    run->features = NULL;
    run->rows = NULL;
    run->base.opened = false;
}

/* Splits the documents: those from shifted mixtures are for training, those from the original mixtures for
 * the test. Documents without words are left out. */
static enum status split_shifted(struct method_run *run, struct error *err)
{
    const struct features *f = run->features;
    int count[2] = {0, 0};
    run->rows = malloc((size_t)f->rows * sizeof *run->rows);
    for (int i = 0; run->rows && i < f->rows; i++) {
        bool any = false;
        for (int j = 0; j < f->columns; j++)
            any = any || f->x[(ptrdiff_t)i * f->columns + j] > 0;
        if (any)
            run->rows[count[0] + count[1]] = i;
        count[i >= f->rows / 2] += any;
    }
    if (!run->rows)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a split of %d rows", f->rows);
    run->data = (struct fit_data){f, run->rows, run->rows + count[0], count[0], count[1]};
    return count[0] > 0 && count[1] > 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL, "the table has too few rows for a training and a test part");
}

/* Splits the rows of generated data into halves. */
static enum status split_synthetic(struct method_run *run, struct error *err)
{
    int n = run->features->rows, train = 0, test = 0;
    int *fold = malloc((size_t)n * sizeof *fold);
    run->rows = malloc((size_t)n * sizeof *run->rows);
    if (!fold || !run->rows) {
        free(fold);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a split of %d rows", n);
    }
    features_folds(n, 2, fold);
    for (int i = 0; i < n; i++)
        if (fold[i] != 0)
            run->rows[train++] = i;
    for (int i = 0; i < n; i++)
        if (fold[i] == 0)
            run->rows[train + test++] = i;
    free(fold);
    run->data = (struct fit_data){run->features, run->rows, run->rows + train, train, test};
    return train > 0 && test > 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL, "the table has too few rows for a training and a test part");
}

/* Splits an uploaded table. */
static enum status split_table(struct method_run *run, struct error *err)
{
    const struct table_request request = factors_division_request(&run->config);
    struct collection c = {0};
    struct division d = {0};
    int train = 0, test = 0, n = run->features->rows;
    enum status status = table_divide(&request, run->base.env.data, &c, &d, err);
    run->rows = status ? NULL : malloc((size_t)n * sizeof *run->rows);
    if (!status && !run->rows)
        status = error_memory(err, "a split");
    if (!status && c.count != n)
        status = error_set(err, STATUS_CONFLICT, "/config/dataset_name", "has another number of rows now");
    for (int i = 0; !status && i < n; i++)
        if (d.part[i] != PART_OF_TEST)
            run->rows[train++] = i;
    for (int i = 0; !status && i < n; i++)
        if (d.part[i] == PART_OF_TEST)
            run->rows[train + test++] = i;
    run->data = (struct fit_data){run->features, run->rows, run->rows + train, train, test};
    division_close(&d);
    collection_close(&c);
    return status;
}

/* ---- fits, for core/methods/shared/multi_start.h ------------------------------------------------------- */

static enum status create_fit(struct method_run *run, int start, const char *prefix, bool alone, void **fit,
                              struct error *err)
{
    const struct model_run *w = &run->base;
    struct fit_setup setup = factors_setup(&run->config, run->features->columns, run->data.train_count, start);
    struct fit *made;
    enum status status = fit_create(&setup, &run->data, prefix, w->env.kernels, w->env.pool, alone, &made, err);
    if (status)
        return status;
    fit_share(made, w->env.comm);
    *fit = made;
    return STATUS_OK;
}

static void destroy_fit(void *fit)
{
    fit_destroy(fit);
}
static enum status update_fit(void *fit, struct error *err)
{
    return fit_update(fit, err);
}
static void copy_fit(void *to, const void *from)
{
    fit_copy(to, from);
}
static struct params *params_of(const void *fit)
{
    return ((const struct fit *)fit)->model->params;
}

static enum status objective_of(void *fit, double *objective, struct error *err)
{
    (void)err;
    *objective = fit_objective(fit);
    return STATUS_OK;
}

static enum status snapshot_fit(void *fit, enum snapshot_role role, struct snapshot *snapshot, const char *prefix,
                                struct error *err)
{
    return fit_snapshot(fit, role, snapshot, prefix, err);
}

static const struct multi_start_table fits = {create_fit, destroy_fit,  update_fit, objective_of,
                                              copy_fit,   snapshot_fit, params_of};

enum { VIEW_ROWS = 64 };

static enum status open_nmf(struct method_run *run, struct error *err)
{
    struct nmf_setup setup = factors_nmf_setup(&run->config, run->features->columns);
    size_t each = 2 * (size_t)setup.features + (size_t)setup.latent;
    run->view = malloc(VIEW_ROWS * each * sizeof *run->view);
    if (!run->view)
        return error_memory(err, "rows");
    return nmf_create(&setup, run->features, run->data.train, run->data.train_count, run->base.env.kernels,
                      run->base.env.pool, &run->nmf, err);
}

/* Hashes the data that the fits read, so that a checkpoint records on which data it was trained. */
static void note_read(struct method_run *run, const struct features *f)
{
    struct hash hash;
    hash_init(&hash);
    model_run_hash(run, &hash, f->x, (size_t)f->rows * (size_t)f->columns * sizeof *f->x);
    model_run_read(run, &hash);
}

/* Reads the table once. */
static enum status read_table(struct method_run *run, struct error *err)
{
    const struct factors_config *c = &run->config;
    char folder[DATASET_PATH];
    if (run->table)
        return STATUS_OK;
    enum status status = source_folder(c->dataset_name, c->dataset_hash, run->base.env.data, folder, err);
    if (!status)
        status = features_of_upload(folder, factors_features(c), c->data == DATA_ABSTRACTS, &run->table, err);
    if (!status)
        note_read(run, run->table);
    return status ? status : thread_pool_check(run->base.env.pool, err);
}

/* Fits the topics once, and draws the documents. */
static enum status draw_shifted(struct method_run *run, int replicate, struct error *err)
{
    const struct factors_config *c = &run->config;
    struct lda_setup setup = LDA_DEFAULT;
    setup.topics = (int)c->topics;
    setup.document = setup.word = 1.0 / (double)c->topics;
    setup.seed = (uint64_t)c->seed;
    enum status status =
        run->topics.theta ? STATUS_OK : lda_fit(&setup, run->table, run->base.env.pool, &run->topics, err);
    uint64_t seed = (uint64_t)c->seed * 1000003 + (uint64_t)replicate;
    return status ? status : lda_shifted(&run->topics, run->table, c->shift, seed, &run->features, err);
}

static enum status open_data(struct method_run *run, struct error *err)
{
    const struct factors_config *c = &run->config;
    if (c->data == DATA_SYNTHETIC)
        return synthetic_features((uint64_t)c->seed, (uint32_t)c->dataset, c->rho, factors_deviation(c), (int)c->rows,
                                  run->base.env.pool, &run->features, err);
    enum status status = read_table(run, err);
    if (!status && c->data == DATA_SHIFTED)
        return draw_shifted(run, (int)c->dataset, err);
    if (!status)
        run->features = run->table;
    return status;
}

/* Scales the table once, by its training rows, which the split makes the same whenever the run opens. */
static enum status scale_table(struct method_run *run, struct error *err)
{
    struct features *f = run->features;
    if (f != run->table || run->scale.columns > 0)
        return STATUS_OK;
    enum status status =
        scale_fit((enum collection_scale)run->config.scaling, run->config.model != MODEL_NMF, f->x, run->data.train,
                  run->data.train_count, f->columns, f->names, "/config/scale", &run->scale, err);
    if (!status)
        status = thread_pool_check(run->base.env.pool, err);
    int done = 0;
    for (; !status && done < f->rows && !(status = thread_pool_check(run->base.env.pool, err)); done++)
        status = scale_row(&run->scale, f->x + (ptrdiff_t)done * f->columns, err);
    if (status) { /* a table of which only some rows are scaled is of no use: the next open reads it again */
        scale_close(&run->scale);
        features_destroy(run->table);
        run->table = run->features = NULL;
    }
    return status;
}

enum status factors_run_open(struct method_run *run, struct error *err)
{
    const struct factors_config *c = &run->config;
    bool synthetic = c->data == DATA_SYNTHETIC;
    if (run->base.opened)
        return STATUS_OK;
    factors_run_close(run);
    run->base.opened = true;
    enum status status = open_data(run, err);
    if (status)
        return status;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): open_data() opened them */
    run->width = run->features->columns;
    status = c->data == DATA_SHIFTED ? split_shifted(run, err)
             : synthetic             ? split_synthetic(run, err)
                                     : split_table(run, err);
    if (!status)
        status = scale_table(run, err);
    if (status)
        return status;
    run->multi_start.table = &fits;
    return c->model == MODEL_NMF ? open_nmf(run, err) : multi_start_open(run, &run->multi_start, c->restarts, err);
}

enum status case_fresh(struct method_run *run, struct error *err)
{
    const struct factors_config *c = &run->config;
    struct features *fresh;
    int n = (int)run->base.evaluation_samples;
    uint32_t set = (uint32_t)FRESH_SETS + (uint32_t)(run->base.evaluation_seed % FRESH_SETS);
    enum status status =
        synthetic_features((uint64_t)c->seed, set, c->rho, factors_deviation(c), n, run->base.env.pool, &fresh, err);
    if (status)
        return status;
    int *rows = malloc((size_t)n * sizeof *rows);
    if (!rows) {
        features_destroy(fresh);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d rows", n);
    }
    for (int i = 0; i < n; i++)
        rows[i] = i;
    features_destroy(run->features);
    free(run->rows);
    run->features = fresh;
    run->rows = rows;
    run->data = (struct fit_data){fresh, rows, rows, n, n};
    if (!run->nmf)
        case_fit(run)->data = run->data;
    return STATUS_OK;
}

int case_piece(const struct method_run *run)
{
    return run->nmf ? VIEW_ROWS : case_fit(run)->piece;
}

bool case_mask(const struct method_run *run, float *mask)
{
    const struct nmf *n = run->nmf;
    if (!n) {
        if (latent_masked(case_fit(run)->model))
            prior_mask(&case_fit(run)->setup.prior, case_fit(run)->model, mask);
        return latent_masked(case_fit(run)->model);
    }
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n->setup.features * n->setup.latent; i++)
        mask[i] = n->parts[i];
    return true;
}

void case_reach(const struct method_run *run, float *reach)
{
    if (run->nmf)
        case_mask(run, reach);
    else
        prior_reach(case_fit(run)->model, reach);
}

enum status case_view(struct method_run *run, const int *rows, int count, bool sampled, int64_t first,
                      struct fit_view *view, struct error *err)
{
    if (!run->nmf)
        return fit_view(case_fit(run), rows, count, sampled, first, view, err);
    int g = run->nmf->setup.features, k = run->nmf->setup.latent;
    float *x = run->view, *y = x + (ptrdiff_t)VIEW_ROWS * g, *codes = y + (ptrdiff_t)VIEW_ROWS * g;
    for (int i = 0; i < count && !thread_pool_stopped(run->base.env.pool); i++) {
        memcpy(x + (ptrdiff_t)i * g, run->features->x + (ptrdiff_t)rows[i] * g, (size_t)g * sizeof *x);
        nmf_apply(run->nmf, run->base.env.pool, x + (ptrdiff_t)i * g, codes + (ptrdiff_t)i * k, y + (ptrdiff_t)i * g);
    }
    *view = (struct fit_view){x, codes, NULL, y};
    return thread_pool_check(run->base.env.pool, err);
}

bool case_trained(const struct method_run *run)
{
    if (run->nmf)
        return nmf_finished(run->nmf);
    return run->multi_start.count == 1 && fit_done(case_fit(run));
}

static void metrics(struct method_run *run, int rows, double loss)
{
    enum { EVERY = 20 };
    run->base.loss_sum += loss;
    run->base.work++;
    run->base.seen += rows;
    if (run->base.work % EVERY)
        return;
    model_run_metric(run, "loss", run->base.loss_sum / EVERY);
    run->base.loss_sum = 0;
}

static enum status update_nmf(struct method_run *run, struct error *err)
{
    nmf_iterate(run->nmf);
    enum status status = thread_pool_check(run->base.env.pool, err);
    if (status)
        return status;
    run->base.work++;
    run->base.seen += run->data.train_count;
    if (!isfinite(run->nmf->last))
        return error_set(err, STATUS_NUMERIC, NULL, "the factorisation is not finite at pass %lld",
                         (long long)run->nmf->done);
    model_run_metric(run, "loss", run->nmf->last);
    run->multi_start.chosen = 0;
    return STATUS_OK;
}

enum status case_update(struct method_run *run, struct error *err)
{
    if (run->nmf)
        return update_nmf(run, err);
    const struct fit *first = case_fit(run);
    int count = run->multi_start.count;
    enum status status = multi_start_update(run, &run->multi_start, err);
    if (status)
        return status;
    metrics(run, first->last_rows * count, first->last_loss);
    int64_t screen = run->config.screen_epochs;
    bool screened = count > 1 && screen > 0 && first->epoch >= screen && first->position == 0;
    return run->multi_start.chosen < 0 && (screened || fit_done(first))
               ? multi_start_choose(run, &run->multi_start, err)
               : STATUS_OK;
}
