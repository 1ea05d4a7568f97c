/* Queries of a checkpoint: the latent variables of an input, and the outcome that each environment predicts from them.
 *
 * The tree and its edges follow from the configuration and, for a table, from the data set, which is read again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/environments/run.h"
#include "core/methods/environments/run_int.h"

/* Describes each latent variable of a table by the columns that correlate with it most. */

struct moments {
    double mean, deviation;
};

static struct moments moments_of(const float *values, int rows, int stride)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < rows; i++)
        sum += (double)values[(ptrdiff_t)i * stride];
    for (int i = 0; i < rows; i++) {
        double d = (double)values[(ptrdiff_t)i * stride] - sum / rows;
        squares += d * d;
    }
    return (struct moments){sum / rows, sqrt(squares / rows)};
}

static double columns_correlation(const float *a, int a_stride, const float *b, int b_stride, int rows)
{
    struct moments x = moments_of(a, rows, a_stride), y = moments_of(b, rows, b_stride);
    double sum = 0;
    for (int i = 0; i < rows; i++)
        sum += ((double)a[(ptrdiff_t)i * a_stride] - x.mean) * ((double)b[(ptrdiff_t)i * b_stride] - y.mean) / rows;
    return x.deviation > 0 && y.deviation > 0 ? sum / (x.deviation * y.deviation) : 0;
}

/* Inserts a link into the list of the strongest links, which is sorted by |correlation|, the largest first. */
static void columns_insert(struct column_link *best, struct column_link link)
{
    for (int i = 0; i < COLUMNS_SHOWN; i++)
        if (best[i].column < 0 || fabs(link.correlation) > fabs(best[i].correlation)) {
            struct column_link next = best[i];
            best[i] = link;
            link = next;
        }
}

enum status environments_columns(struct method_run *run, struct column_link *links, struct error *err)
{
    struct tree_fit *fit = tree_fit_of(run);
    const struct environments *e = run->test->rows > 1 ? run->test : run->train;
    int k = fit->model->setup.latent;
    float *z = malloc((size_t)e->rows * (size_t)k * sizeof *z + 1);
    enum status status = z ? tree_model_encode(fit->model, &fit->exec, e->x, e->z, e->rows, z, err)
                           : error_memory(err, "latent variables");
    for (int i = 0; i < k * COLUMNS_SHOWN; i++)
        links[i] = (struct column_link){-1, 0};
    for (int c = 0; !status && c < k; c++)
        for (int j = 0; j < e->features; j++)
            columns_insert(links + (ptrdiff_t)c * COLUMNS_SHOWN,
                           (struct column_link){j, columns_correlation(z + c, k, e->x + j, e->features, e->rows)});
    free(z);
    return status;
}

/* Index of the set of simulated rows that queries use. Training, tests and evaluations use other sets. */
enum { QUERY_SET = 1 << 20 };

struct method_model {
    struct method_run *run; /* a run that takes no steps; it owns the data, the tree and the model */
    struct thread_pool *pool;
    const struct kernels *kernels;
    float *weights;                    /* [nodes][latent] */
    struct scale scale, outcome_scale; /* those of the checkpoint */
};

/* Refuses a checkpoint whose encoder has other shapes, before the run opens its data. The shapes of the heads follow
 * from the data, so the run compares them when it loads. */
static enum status check_shapes(const struct environments_config *config, const struct snapshot_reader *from,
                                struct error *err)
{
    int64_t features = 0, most = config->data == DATA_TABLE ? config->features : config->inputs;
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("run.features", &features)};
    enum status status = snapshot_read_rows(from, SNAPSHOT_ROWS(rows), err);
    if (status)
        return status;
    if (features < 1 || features > most)
        return error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's features cannot be counted");
    struct fit_setup setup = environments_setup(config, (int)(config->data == DATA_TABLE ? features : most), 0);
    return tree_model_fit(&setup, from, err);
}

static enum status read_model(struct method_model *m, const struct snapshot_reader *from, struct error *err)
{
    struct method_run *run = m->run;
    enum status status = model_run_load(run, from, err);
    const struct tree_model *model = status ? NULL : tree_fit_of(run)->model;
    m->weights = status ? NULL : malloc((size_t)run->tree->nodes * (size_t)model->setup.latent * sizeof *m->weights);
    if (!status && !m->weights)
        status = error_memory(err, "heads");
    if (!status)
        status = scale_load(from, "", run->scale.kind, run->train->features, &m->scale, err);
    if (!status)
        status = scale_load(from, "outcome.", SCALE_STANDARD, 1, &m->outcome_scale, err);
    if (!status)
        tree_edges_weights(&run->edges, model->base, model->changes, model->setup.latent, m->weights);
    return status ? status : params_check(model->params, err);
}

enum status environments_open(const void *config, const struct kernels *kernels, const char *data,
                              const struct snapshot_reader *from, struct method_model **model, struct error *err)
{
    struct method_model *m = calloc(1, sizeof *m);
    if (!m)
        return error_memory(err, "a model");
    m->kernels = kernels;
    enum status status = check_shapes(config, from, err);
    if (!status)
        status = thread_pool_create(1, &m->pool, err);
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
    model_run_destroy(model->run);
    scale_close(&model->scale);
    scale_close(&model->outcome_scale);
    thread_pool_destroy(model->pool);
    free(model->weights);
    free(model);
}

uint64_t environments_model_bytes(const struct method_model *model)
{
    const struct method_run *run = model->run;
    uint64_t rows = (uint64_t)run->train->rows + (uint64_t)run->test->rows;
    return sizeof *model + 3 * params_bytes(tree_fit_of(run)->model->params) +
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
    if (run->config.data != DATA_SIMULATED)
        return error_set(err, STATUS_INVALID, "/sample",
                         "the rows of a table cannot be drawn by a seed; send an array of %d features", d);
    if (input->seed < 0 || input->seed > 1000000000)
        return error_set(err, STATUS_INVALID, "/sample/seed", "must be in [0, 1000000000]; got %lld",
                         (long long)input->seed);
    const struct environments_outcome outcome = {(uint64_t)run->config.seed, (int)run->config.factors, 0, 0, 0};
    struct environments *one;
    int root = 0;
    enum status status = environments_simulate(run->tree, &outcome, (enum environments_psi)run->config.psi, d, &root, 1,
                                               1, QUERY_SET + (uint32_t)input->seed, NULL, &one, err);
    if (status)
        return status;
    memcpy(x, one->x, (size_t)d * sizeof *x);
    environments_free(one);
    return STATUS_OK;
}

void environments_warn(const struct method_model *model, const struct method_input *input, const struct sink *out)
{
    if (input->kind == METHOD_INPUT_ARRAY && input->rank == 1 && input->dim[0] == model->run->train->features)
        scale_warn(&model->scale, input->values, model->run->names, out);
}

/* Computes the latent variables z of the input x, on the calling thread only, because several threads may query one
 * model. */
static enum status codes_of(const struct method_question *question, const float *x, float *z, struct error *err)
{
    const struct method_model *m = question->model;
    struct arena arena;
    struct exec e;
    struct thread_pool *pool = NULL;
    arena_init(&arena, (size_t)1 << 16, 0);
    enum status status = thread_pool_create(1, &pool, err);
    if (!status) {
        thread_pool_stop_when(pool, work_stopped, question->work);
        exec_init(&e, m->kernels, pool, &arena, 0);
        status = tree_model_encode(tree_fit_of(m->run)->model, &e, x, NULL, 1, z, err);
    }
    thread_pool_destroy(pool);
    arena_close(&arena);
    return status;
}

static void write_latent(const struct method_model *m, const float *z, const struct sink *out)
{
    sink_begin_list(out, "latent");
    for (int c = 0; c < tree_fit_of(m->run)->model->setup.latent; c++)
        sink_number(out, NULL, (double)z[c]);
    sink_end_list(out);
}

/* Whether answers contain a node: all leaves, and the inner nodes that have training rows. */
static bool answered(const struct method_run *run, int node)
{
    return tree_leaf(run->tree, node) || (run->edges.seen && run->edges.seen[node]);
}

static double outcome_of(const struct method_model *m, int node, const float *z)
{
    int k = tree_fit_of(m->run)->model->setup.latent;
    double y = 0;
    for (int c = 0; c < k; c++)
        y += (double)m->weights[(ptrdiff_t)node * k + c] * (double)z[c];
    return m->outcome_scale.columns > 0 ? y * m->outcome_scale.unit[0] + m->outcome_scale.shift[0] : y;
}

static void write_outcomes(const struct method_model *m, const float *z, const struct sink *out)
{
    const struct method_run *run = m->run;
    sink_begin_list(out, "environments");
    for (int v = 0; v < run->tree->nodes; v++) {
        if (!answered(run, v))
            continue;
        sink_begin_object(out, NULL);
        sink_text(out, "name", run->tree->names[v]);
        sink_boolean(out, "trained", run->edges.seen && run->edges.seen[v]);
        sink_number(out, "outcome", outcome_of(m, v, z));
        sink_end_object(out);
    }
    sink_end_list(out);
}

/* Computes the latent variables *z of the question's input, which point into *block. The caller frees *block, also
 * after an error. */
static enum status read_input(const struct method_question *question, float **block, float **z, struct error *err)
{
    const struct method_model *model = question->model;
    const struct tree_model *m = tree_fit_of(model->run)->model;
    size_t d = (size_t)model->run->train->features, k = (size_t)m->setup.latent;
    *block = NULL;
    if (m->setup.encoder == ENCODER_GIVEN)
        return error_set(err, STATUS_INVALID, "", "the oracle has no encoder, so it cannot answer queries");
    *block = malloc((d + k) * sizeof **block);
    if (!*block)
        return error_memory(err, "a row");
    *z = *block + d;
    enum status status = take_input(model, question->input, *block, err);
    if (!status)
        status = scale_row(&model->scale, *block, err);
    return status ? status : codes_of(question, *block, *z, err);
}

/* The query "predict". */
enum status environments_predict(const struct method_question *question, const struct sink *out, struct error *err)
{
    float *block, *z = NULL;
    enum status status = read_input(question, &block, &z, err);
    if (!status) {
        write_latent(question->model, z, out);
        write_outcomes(question->model, z, out);
    }
    free(block);
    return status;
}

/* The query "encode". */
enum status environments_encode(const struct method_question *question, const struct sink *out, struct error *err)
{
    float *block, *z = NULL;
    enum status status = read_input(question, &block, &z, err);
    if (!status)
        write_latent(question->model, z, out);
    free(block);
    return status;
}

/* The query "predict" as an array: the outcome in each environment, in the order of the JSON answer, [environments]. */
enum status environments_predict_array(const struct method_question *question, struct buf *values, int *rank,
                                       int64_t dim[4], struct error *err)
{
    const struct method_run *run = question->model->run;
    float *block, *z = NULL;
    enum status status = read_input(question, &block, &z, err);
    *rank = 1;
    dim[0] = 0;
    for (int v = 0; v < run->tree->nodes && !status; v++) {
        if (!answered(run, v))
            continue;
        float y = (float)outcome_of(question->model, v, z);
        buf_append(values, &y, sizeof y);
        dim[0]++;
    }
    free(block);
    return status;
}

/* The query "encode" as an array: the latent variables, [latent]. */
enum status environments_encode_array(const struct method_question *question, struct buf *values, int *rank,
                                      int64_t dim[4], struct error *err)
{
    float *block, *z = NULL;
    enum status status = read_input(question, &block, &z, err);
    *rank = 1;
    dim[0] = tree_fit_of(question->model->run)->model->setup.latent;
    if (!status)
        buf_append(values, z, (size_t)dim[0] * sizeof *z);
    free(block);
    return status;
}

/* Write the shapes of tensors of the Open Inference Protocol. */
static void features_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = 1;
    dim[0] = model->run->train->features;
}

static void latent_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = 1;
    dim[0] = tree_fit_of(model->run)->model->setup.latent;
}

static void outcomes_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = 1;
    dim[0] = 0;
    for (int v = 0; v < model->run->tree->nodes; v++)
        dim[0] += answered(model->run, v);
}

const struct method_tensor environments_input = {"input", "A row of features", METHOD_FP32, false, features_shape};
const struct method_tensor environments_outputs[ENVIRONMENTS_OUTPUTS] = {
    {"latent", "The latent variables of the row", METHOD_FP32, false, latent_shape},
    {"outcomes", "The outcome in each environment, in the order of the query predict", METHOD_FP32, false,
     outcomes_shape},
};

enum status environments_infer(const struct method_question *question, struct buf *const outputs[], struct error *err)
{
    const struct method_run *run = question->model->run;
    float *block, *z = NULL;
    enum status status = read_input(question, &block, &z, err);
    if (!status && outputs[0])
        buf_append(outputs[0], z, (size_t)tree_fit_of(run)->model->setup.latent * sizeof *z);
    for (int v = 0; v < run->tree->nodes && !status && outputs[1]; v++) {
        float y = answered(run, v) ? (float)outcome_of(question->model, v, z) : 0;
        if (answered(run, v))
            buf_append(outputs[1], &y, sizeof y);
    }
    free(block);
    return status;
}
