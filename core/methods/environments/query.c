/* Queries of a checkpoint: the latent variables of an input, and the outcome that each environment predicts from them.
 *
 * The tree and its edges follow from the configuration and, for a table, from the data set, which is read again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/environments/run.h"
#include "core/methods/environments/run_int.h"

enum {
    QUERY_SET = 1 << 20
}; /* number of the set of simulated rows that queries use; training, tests and evaluations use other sets */

struct method_model {
    struct method_run *run; /* a run that takes no steps; it owns the case, the tree and the model */
    struct thread_pool *pool;
    const struct kernels *kernels;
    float *weights; /* [nodes][latent] */
};

static enum status read_model(struct method_model *m, const struct snapshot_reader *from, struct error *err)
{
    struct method_run *run = m->run;
    enum status status = case_sweep_load(run, from, err);
    const struct tree_model *model = status ? NULL : case_fit(run)->model;
    m->weights = status ? NULL : malloc((size_t)run->tree->nodes * (size_t)model->setup.latent * sizeof *m->weights);
    if (!status && !m->weights)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "no memory for heads");
    if (!status)
        tree_edges_weights(&run->edges, model->base, model->changes, model->setup.latent, m->weights);
    return status ? status : params_check(model->params, err);
}

enum status environments_open(const void *config, const struct kernels *kernels, const char *data,
                              const struct snapshot_reader *from, struct method_model **model, struct error *err)
{
    struct method_model *m = calloc(1, sizeof *m);
    if (!m)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a model");
    m->kernels = kernels;
    enum status status = thread_pool_create(1, &m->pool, err);
    if (!status) {
        const struct method_env env = {.pool = m->pool, .kernels = kernels, .data = data};
        status = environments_create(config, &env, &m->run, err);
    }
    if (!status)
        status = read_model(m, from, err);
    if (status) {
        environments_close(m);
        return status;
    }
    *model = m;
    return STATUS_OK;
}

void environments_close(struct method_model *model)
{
    if (!model)
        return;
    case_sweep_destroy(model->run);
    thread_pool_destroy(model->pool);
    free(model->weights);
    free(model);
}

uint64_t environments_model_bytes(const struct method_model *model)
{
    const struct method_run *run = model->run;
    uint64_t rows = (uint64_t)run->train->rows + (uint64_t)run->test->rows;
    return sizeof *model + 3 * params_bytes(case_fit(run)->model->params) +
           rows * 4 * ((uint64_t)run->train->features + (uint64_t)run->train->latent + 2);
}

static enum status take_input(const struct method_model *m, const struct method_input *input, float *x,
                              struct error *err)
{
    const struct method_run *run = m->run;
    int d = run->train->features;
    if (input->kind == METHOD_INPUT_ARRAY) {
        if (input->rank != 1 || input->dim[0] != d)
            return error_set(err, STATUS_INVALID, "/array", "must be a list of %d features", d);
        for (int j = 0; j < d; j++)
            if (!isfinite(input->values[j]))
                return error_set(err, STATUS_INVALID, "/array", "element %d is not a finite number", j);
        memcpy(x, input->values, (size_t)d * sizeof *x);
        return STATUS_OK;
    }
    if (run->own.data != DATA_SIMULATED)
        return error_set(err, STATUS_INVALID, "/sample",
                         "the rows of a table cannot be drawn by a seed; send an array of %d features", d);
    if (input->seed < 0 || input->seed > 1000000000)
        return error_set(err, STATUS_INVALID, "/sample/seed", "must be in [0, 1000000000]; got %lld",
                         (long long)input->seed);
    const struct environments_outcome outcome = {(uint64_t)run->own.seed, (int)run->own.factors, 0, 0, 0};
    struct environments *one;
    int root = 0;
    enum status status = environments_simulate(run->tree, &outcome, (enum environments_psi)run->own.psi, d, &root, 1, 1,
                                               QUERY_SET + (uint32_t)input->seed, &one, err);
    if (status)
        return status;
    memcpy(x, one->x, (size_t)d * sizeof *x);
    environments_free(one);
    return STATUS_OK;
}

/* Computes on the calling thread only, because several threads may query one model. */
static enum status codes_of(const struct method_model *m, const float *x, float *z, struct error *err)
{
    struct arena arena;
    struct exec e;
    struct thread_pool *pool = NULL;
    arena_init(&arena, (size_t)1 << 16, 0);
    enum status status = thread_pool_create(1, &pool, err);
    if (!status) {
        exec_init(&e, m->kernels, pool, &arena, 0);
        status = tree_model_encode(case_fit(m->run)->model, &e, x, NULL, 1, z, err);
    }
    thread_pool_destroy(pool);
    arena_close(&arena);
    return status;
}

static void write_answer(const struct method_model *m, const float *z, const struct sink *out)
{
    const struct method_run *run = m->run;
    int k = case_fit(run)->model->setup.latent;
    sink_begin_list(out, "latent");
    for (int c = 0; c < k; c++)
        sink_number(out, NULL, (double)z[c]);
    sink_end_list(out);
    sink_begin_list(out, "environments");
    for (int v = 0; v < run->tree->nodes; v++) {
        double y = 0;
        if (!tree_leaf(run->tree, v) && !(run->edges.seen && run->edges.seen[v]))
            continue;
        for (int c = 0; c < k; c++)
            y += (double)m->weights[(ptrdiff_t)v * k + c] * (double)z[c];
        sink_begin_object(out, NULL);
        sink_text(out, "name", run->tree->names[v]);
        sink_boolean(out, "trained", run->edges.seen && run->edges.seen[v]);
        sink_number(out, "outcome", y);
        sink_end_object(out);
    }
    sink_end_list(out);
}

/* The query "predict". */
enum status environments_predict(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct method_model *model = question->model;
    const struct method_input *input = question->input;
    const struct tree_model *m = case_fit(model->run)->model;
    size_t d = (size_t)model->run->train->features, k = (size_t)m->setup.latent;
    if (m->setup.encoder == ENCODER_GIVEN)
        return error_set(err, STATUS_INVALID, "", "the oracle has no encoder, so it cannot answer queries");
    float *x = malloc((d + k) * sizeof *x);
    enum status status =
        x ? take_input(model, input, x, err) : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a row");
    if (!status)
        status = codes_of(model, x, x + d, err);
    if (!status)
        write_answer(model, x + d, out);
    free(x);
    return status;
}
