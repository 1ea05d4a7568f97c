/* Answers queries with the model in a checkpoint. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/kernels/hadamard.h"
#include "core/superposed/data.h"
#include "core/methods/superposition/run.h"
#include "core/methods/superposition/run_int.h"

enum { LISTED_FEATURES = 65536, LISTED_FALSE = 64 };

struct method_model {
    const struct kernels *kernels;
    struct superposition_setup c;
    struct autoencoder *trained; /* the model is either `trained` or `rug`; only that one is open */
    struct rug rug;
    double scale, offset;
    int64_t seed;
    bool uploaded; /* whether features come from a data set */
    double unit;   /* factor by which uploaded features are multiplied before the model reads them (features.h); 1 if
                      features are drawn */
    struct scale columns;     /* of uploaded features, applied before `unit` */
    struct features features; /* uploaded features; not open if the data set is gone */
};

static enum status read_unit(const struct snapshot_reader *from, double *unit, struct error *err)
{
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("data.unit", unit)};
    enum status status = snapshot_read_rows(from, SNAPSHOT_ROWS(rows), err);
    if (status)
        return status;
    return *unit > 0 && isfinite(*unit)
               ? STATUS_OK
               : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint has no factor of its features");
}

/* Refuses a checkpoint whose weights do not have the shapes that the configuration gives. Allocates no weights. */
static enum status check_shapes(struct method_model *m, const struct superposition_config *config,
                                const struct snapshot_reader *from, struct error *err)
{
    struct autoencoder_shape shape = superposition_shape(config, &m->c);
    struct snapshot *snapshot = NULL;
    if (m->c.model == MODEL_TRAINED)
        return autoencoder_fit(&shape, from, err);
    enum status status = snapshot_create(&snapshot, err);
    if (!status)
        status = rug_snapshot(m->c.n_d, NULL, &m->scale, &m->offset, snapshot, err);
    if (!status)
        status = snapshot_fits(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    snapshot_destroy(snapshot);
    return status;
}

static enum status open_trained(struct method_model *m, const struct superposition_config *config,
                                struct snapshot *snapshot, struct error *err)
{
    struct autoencoder_shape shape = superposition_shape(config, &m->c);
    enum status status = autoencoder_create(&shape, false, &m->trained, err);
    return status ? status : params_snapshot(m->trained->params, snapshot, err);
}

static enum status open_rug(struct method_model *m, const struct superposition_config *config,
                            struct snapshot *snapshot, struct error *err)
{
    enum status status = m->c.model == MODEL_LINEAR
                             ? rug_create_projector(m->c.n_s, m->c.n_d, &m->rug, err)
                             : rug_create(m->c.n_s, m->c.n_d, (uint64_t)config->seed, 0, &m->rug, err);
    return status ? status : rug_snapshot(m->c.n_d, m->rug.rows, &m->scale, &m->offset, snapshot, err);
}

/* Opens the data set from which samples are taken. A data set that is gone or has changed is no error: queries with
 * arrays need none. */
static void open_features(struct method_model *m, const struct superposition_config *c, const char *data)
{
    struct error unused = {0};
    if (!superposition_uploaded(c) || !data)
        return;
    const struct rows_request request = superposition_rows(c, data);
    if (rows_open(&request, &m->features.rows, &unused) || m->features.rows.inputs != m->c.n_s)
        features_close(&m->features);
}

enum status superposition_open(const void *config, const struct kernels *kernels, const char *data,
                               const struct snapshot_reader *from, struct method_model **model, struct error *err)
{
    const struct superposition_config *c = config;
    struct snapshot *snapshot = NULL;
    struct method_model *m = calloc(1, sizeof *m);
    if (!m)
        return error_memory(err, "a model");
    m->kernels = kernels;
    m->seed = c->seed;
    m->uploaded = superposition_uploaded(c);
    m->c = superposition_setup(c);
    enum status status = read_unit(from, &m->unit, err);
    if (!status && m->uploaded)
        status = scale_load(from, "", (enum collection_scale)c->scaling, m->c.n_s, &m->columns, err);
    if (!status)
        status = check_shapes(m, c, from, err);
    if (!status)
        status = snapshot_create(&snapshot, err);
    if (!status)
        status = m->c.model == MODEL_TRAINED ? open_trained(m, c, snapshot, err) : open_rug(m, c, snapshot, err);
    if (!status)
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    if (!status)
        status = m->trained ? params_check(m->trained->params, err) : rug_fill(&m->rug, err);
    snapshot_destroy(snapshot);
    if (status) {
        superposition_close(m);
        return status;
    }
    open_features(m, c, data);
    *model = m;
    return STATUS_OK;
}

void superposition_close(struct method_model *model)
{
    if (!model)
        return;
    autoencoder_destroy(model->trained);
    rug_close(&model->rug);
    features_close(&model->features);
    scale_close(&model->columns);
    free(model);
}

uint64_t superposition_model_bytes(const struct method_model *model)
{
    uint64_t rug = (uint64_t)model->rug.n_s * sizeof(float) + (uint64_t)model->rug.n_d * sizeof(int64_t);
    return sizeof *model + (model->trained ? params_bytes(model->trained->params) : rug);
}

/* ---- predict ------------------------------------------------------------------------------------------ */

static enum status take_sample(const struct method_model *m, int64_t seed, float *x, struct error *err)
{
    const struct rows *rows = &m->features.rows;
    if (seed < 0)
        return error_set(err, STATUS_INVALID, "/sample/seed", "must not be below 0; got %lld", (long long)seed);
    if (!m->uploaded) {
        sample_draw((uint64_t)m->seed, STREAM_TEST, seed, m->c.p, m->c.n_s, x);
        return STATUS_OK;
    }
    if (rows->count == 0)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "the data set of the job is gone or has changed; send the features as an array");
    if (seed >= rows_test_count(rows))
        return error_set(err, STATUS_INVALID, "/sample/seed", "must be below %lld, the number of test rows; got %lld",
                         (long long)rows_test_count(rows), (long long)seed);
    return features_test(&m->features, seed, x, err);
}

/* Writes the features of the question's input to x: not scaled, as the client or the data set has them. */
static enum status take_input(const struct method_model *m, const struct method_input *input, float *x,
                              struct error *err)
{
    int64_t n = m->c.n_s;
    if (input->kind == METHOD_INPUT_SAMPLE)
        return take_sample(m, input->seed, x, err);
    if (input->rank != 1 || input->dim[0] != n)
        return error_set(err, STATUS_INVALID, "/array", "must be a list of %lld features", (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (!(input->values[i] >= 0 && (m->uploaded ? isfinite(input->values[i]) : input->values[i] <= 1)))
            return error_set(err, STATUS_INVALID, "/array",
                             m->uploaded ? "element %lld must be at least 0; got %g"
                                         : "element %lld must be in [0, 1]; got %g",
                             (long long)i, (double)input->values[i]);
    memcpy(x, input->values, (size_t)n * sizeof *x);
    return STATUS_OK;
}

void superposition_warn(const struct method_model *m, const struct method_input *input, const struct sink *out)
{
    if (input->kind == METHOD_INPUT_ARRAY && input->rank == 1 && input->dim[0] == m->columns.columns)
        scale_warn(&m->columns, input->values, NULL, out);
}

static enum status superposition_query_apply(const struct method_question *question, const float *x, float *y,
                                             float *scratch, struct error *err)
{
    const struct method_model *m = question->model;
    struct thread_pool *pool = NULL;
    if (m->trained) {
        autoencoder_apply(m->trained, m->kernels, x, y, scratch);
        return STATUS_OK;
    }
    enum status status = thread_pool_create(1, &pool, err);
    if (status)
        return status;
    thread_pool_stop_when(pool, work_stopped, question->work);
    memcpy(y, x, (size_t)m->c.n_s * sizeof *y);
    if (!rug_apply(&m->rug, pool, m->kernels, y, scratch))
        status = thread_pool_check(pool, err);
    thread_pool_destroy(pool);
    if (status)
        return status;
    for (int i = 0; i < m->c.n_s && m->c.model == MODEL_RUG; i++)
        y[i] = (float)fmax(0, m->scale * ((double)y[i] + m->offset));
    return STATUS_OK;
}

static void write_features(const struct method_model *m, const float *x, const float *y, const struct sink *out)
{
    int falsely = 0, missed = 0;
    sink_begin_list(out, "features");
    for (int i = 0; i < m->c.n_s; i++) {
        falsely += x[i] <= 0 && y[i] != 0;
        missed += x[i] > 0 && y[i] == 0;
        if (x[i] <= 0 && (y[i] == 0 || falsely > LISTED_FALSE))
            continue;
        sink_begin_object(out, NULL);
        sink_integer(out, "feature", i);
        sink_number(out, "value", (double)x[i]);
        sink_number(out, "output", (double)y[i]);
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_integer(out, "false_features", falsely);
    sink_integer(out, "missed_features", missed);
}

/* Computes the output *y of the autoencoder for the question's input *x; both point into *block and are in the units of
 * the input. *loss: mean squared error of a scaled feature (features.h), as in training. The caller frees *block, also
 * after an error. */
static enum status read_input(const struct method_question *question, float **block, float **x, float **y, double *loss,
                              struct error *err)
{
    const struct method_model *model = question->model;
    size_t n = (size_t)model->c.n_s;
    *block = n > LISTED_FEATURES ? NULL : malloc((6 * n + (size_t)model->c.n_d + 16384) * sizeof **block);
    if (!*block)
        return error_set(err, n > LISTED_FEATURES ? STATUS_LIMIT : STATUS_NO_MEMORY, NULL,
                         "a model of %d features is too large for queries", model->c.n_s);
    *x = *block;
    *y = *block + n;
    *loss = 0;
    float *own = *block + 2 * n;
    enum status status = take_input(model, question->input, *x, err);
    memcpy(own, *x, n * sizeof *own);
    if (!status)
        status = scale_row(&model->columns, own, err);
    for (size_t i = 0; !status && model->uploaded && i < n; i++)
        own[i] *= (float)model->unit;
    if (!status)
        status = superposition_query_apply(question, own, *y, own + n, err);
    for (size_t i = 0; !status && i < n; i++)
        *loss += ((double)(*y)[i] - (double)own[i]) * ((double)(*y)[i] - (double)own[i]) / (double)n;
    for (size_t i = 0; !status && model->uploaded && i < n; i++)
        (*y)[i] /= (float)model->unit;
    if (!status && model->columns.columns > 0)
        scale_undo(&model->columns, *x, *y, *y);
    return status;
}

/* The query "predict". */
enum status superposition_predict(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct method_model *model = question->model;
    float *block, *x = NULL, *y = NULL;
    double loss = 0;
    enum status status = read_input(question, &block, &x, &y, &loss, err);
    if (!status) {
        sink_integer(out, "n_s", model->c.n_s);
        sink_integer(out, "n_d", model->c.n_d);
        sink_number(out, "loss", loss);
        sink_number(out, "expected_loss", setup_predicted(&model->c));
        write_features(model, x, y, out);
    }
    free(block);
    return status;
}

/* The query "predict" as an array: the output of the autoencoder, [features]. */
enum status superposition_predict_array(const struct method_question *question, struct buf *values, int *rank,
                                        int64_t dim[4], struct error *err)
{
    float *block, *x = NULL, *y = NULL;
    double loss;
    enum status status = read_input(question, &block, &x, &y, &loss, err);
    *rank = 1;
    dim[0] = question->model->c.n_s;
    if (!status)
        buf_append(values, y, (size_t)dim[0] * sizeof *y);
    free(block);
    return status;
}

/* The shape of the input and of the output as tensors of the Open Inference Protocol. */
static void features_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = 1;
    dim[0] = model->c.n_s;
}

const struct method_tensor superposition_input = {"input", "A sample of features", METHOD_FP32, false, features_shape};
const struct method_tensor superposition_outputs[SUPERPOSITION_OUTPUTS] = {
    {"reconstruction", "The output of the autoencoder", METHOD_FP32, false, features_shape},
};

enum status superposition_infer(const struct method_question *question, struct buf *const outputs[], struct error *err)
{
    int rank;
    int64_t dim[4];
    return outputs[0] ? superposition_predict_array(question, outputs[0], &rank, dim, err) : STATUS_OK;
}
