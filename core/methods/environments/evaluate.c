/* Measures a model after its training: errors, recovery of the latent variables, and recovery of the changes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/environments/run_int.h"
#include "core/metrics/identify.h"

/* Computes the latent variables of the rows of a data set, [rows][latent]; the caller frees them. */
static enum status codes_of(struct method_run *run, const struct environments *e, float **z, struct error *err)
{
    *z = malloc((size_t)e->rows * (size_t)tree_fit_of(run)->model->setup.latent * sizeof **z + 1);
    return *z ? tree_model_encode(tree_fit_of(run)->model, &tree_fit_of(run)->exec, e->x, e->z, e->rows, *z, err)
              : error_memory(err, "an evaluation");
}

static double predicted(const float *w, const double *d, const float *z, int k)
{
    double sum = 0;
    for (int c = 0; c < k; c++)
        sum += ((double)w[c] + (d ? d[c] : 0)) * (double)z[c];
    return sum;
}

/* Returns the mean squared error. For outcomes of 0 and 1, also sets *accuracy to the share of rows that a threshold of
 * one half classifies correctly. */
static double errors(const struct environments *e, const float *z, const float *w, int k, double *accuracy)
{
    double sum = 0, right = 0;
    for (int i = 0; i < e->rows; i++) {
        double y = predicted(w + (ptrdiff_t)e->node[i] * k, NULL, z + (ptrdiff_t)i * k, k), miss = y - (double)e->y[i];
        sum += miss * miss / e->rows;
        right += (y > 0.5) == (e->y[i] > 0.5F);
    }
    *accuracy = e->labels && e->rows ? right / e->rows : NAN;
    return e->rows ? sum : NAN;
}

/* Returns the mean squared error on unseen environments, after a fit to a few rows. For each environment,
 * least_change() fits a change of the parent's weights to the first `few` rows. The error is the mean over all other
 * rows. */
static double errors_fitted(const struct method_run *run, const float *z, const float *w)
{
    const struct environments *e = run->unseen;
    int k = tree_fit_of(run)->model->setup.latent, few = (int)run->config.fit_samples, counted = 0;
    double sum = 0, d[256];
    float *of_node = malloc((size_t)e->rows * (size_t)(k + 1) * sizeof *of_node), *y = of_node + (ptrdiff_t)e->rows * k;
    for (int u = 0; of_node && u < run->unseen_count && !thread_pool_stopped(run->base.env.pool); u++) {
        int rows = 0;
        const float *weights = w + (ptrdiff_t)run->unseen_node[u] * k;
        for (int i = 0; i < e->rows; i++)
            if (e->node[i] == run->unseen_node[u]) {
                memcpy(of_node + (ptrdiff_t)rows * k, z + (ptrdiff_t)i * k, (size_t)k * sizeof *z);
                y[rows++] = e->y[i];
            }
        if (rows <= few)
            continue;
        least_change(of_node, y, few, k, weights, run->config.fit_penalty, run->base.env.pool, d);
        for (int i = few; i < rows; i++, counted++) {
            double miss = predicted(weights, d, of_node + (ptrdiff_t)i * k, k) - (double)y[i];
            sum += miss * miss;
        }
    }
    free(of_node);
    return counted ? sum / counted : NAN;
}

/* Counts the true changes along the model's edges, and how many of them the model found in the latent variable that
 * matches the true one. */
static enum status count_changes(const struct method_run *run, const int *match, struct outcome *o, struct error *err)
{
    const struct environments *e = run->test;
    const struct weight *found = tree_fit_of(run)->model->changes;
    int p = e->latent, k = tree_fit_of(run)->model->setup.latent;
    double *truth = malloc((size_t)run->edges.count * (size_t)p * sizeof *truth + 1), least = run->config.found_above;
    if (!truth)
        return error_memory(err, "an evaluation");
    tree_edges_gather(&run->edges, e->changes, p, truth);
    o->changes_true = o->changes_right = 0;
    for (int a = 0; a < run->edges.count; a++)
        for (int c = 0; c < p; c++) {
            bool real_change = truth[a * p + c] != 0;
            o->changes_true += real_change;
            o->changes_right += real_change && match[c] >= 0 && fabs((double)found->value[a * k + match[c]]) > least;
        }
    free(truth);
    return STATUS_OK;
}

static enum status identify(const struct method_run *run, const float *z, struct outcome *o, struct error *err)
{
    const struct environments *e = run->test;
    int p = e->latent, k = tree_fit_of(run)->model->setup.latent, *match = malloc((size_t)p * sizeof *match);
    if (!match)
        return error_memory(err, "an evaluation");
    enum status status = identify_mcc(e->z, p, z, k, e->rows, match, &o->mcc, run->base.env.pool, err);
    if (!status)
        status = identify_linear_r2(e->z, p, z, k, e->rows, &o->linear_r2, run->base.env.pool, err);
    if (!status && run->edges.shape == EDGES_TREE)
        status = count_changes(run, match, o, err);
    free(match);
    return status;
}

static enum status measure_unseen(struct method_run *run, const float *w, struct outcome *o, struct error *err)
{
    float *z;
    if (!run->unseen || run->unseen->rows == 0)
        return STATUS_OK;
    enum status status = codes_of(run, run->unseen, &z, err);
    if (!status) {
        int k = tree_fit_of(run)->model->setup.latent;
        o->mse_unseen = errors(run->unseen, z, w, k, &o->accuracy_unseen);
        if (run->config.fit_samples > 0)
            o->mse_unseen_fit = errors_fitted(run, z, w);
        status = thread_pool_check(run->base.env.pool, err);
    }
    free(z);
    return status;
}

enum status tree_run_evaluate(struct method_run *run, struct outcome *o, struct error *err)
{
    const struct tree_model *m = tree_fit_of(run)->model;
    int k = m->setup.latent;
    float *w = malloc((size_t)run->tree->nodes * (size_t)k * sizeof *w), *z = NULL;
    for (int i = 0; i < OUTCOME_REALS; i++)
        ((double *)o)[i] = NAN;
    if (run->edges.shape == EDGES_TREE)
        o->changes_found = tree_fit_found(tree_fit_of(run), run->config.found_above);
    o->train_loss = tree_fit_of(run)->last_loss;
    o->updates = tree_fit_of(run)->updates;
    o->samples = o->updates * run->config.batch;
    o->objective = run->multi_start.objective;
    o->worst_objective = run->multi_start.worst;
    o->restart = run->multi_start.chosen;
    enum status status = w ? STATUS_OK : error_memory(err, "an evaluation");
    if (!status && !run->base.alone)
        status = tree_fit_settle(tree_fit_of(run), environments_refits(&run->config), err);
    if (!status)
        status = codes_of(run, run->test, &z, err);
    if (!status) {
        tree_edges_weights(&run->edges, m->base, m->changes, k, w);
        o->mse = errors(run->test, z, w, k, &o->accuracy);
        status = measure_unseen(run, w, o, err);
    }
    if (!status && run->test->latent && run->test->rows > 1)
        status = identify(run, z, o, err);
    free(w);
    free(z);
    return status;
}
