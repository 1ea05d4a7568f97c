/* Queries of a checkpoint: the factors of a row of features, and the row's reconstruction. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/scale.h"
#include "core/data/tables/features.h"
#include "core/methods/factors/config.h"
#include "core/methods/factors/run.h"
#include "core/methods/shared/model_run.h"

enum { QUERY_FEATURES = 100000, QUERY_SETS = 1 << 30 }; /* QUERY_SETS equals FRESH_SETS of run_int.h */

struct method_model {
    const struct kernels *kernels;
    struct factors_config config;
    struct prior prior;
    struct latent_model *latent; /* either `latent` or `nmf` is the model; the other pointer is NULL */
    struct nmf *nmf;
    int features;
    struct scale scale;
    float *mask; /* NULL: the model has no mask */
};

static enum status read_width(struct method_model *m, const struct snapshot_reader *from, struct error *err)
{
    int64_t width = 0;
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("run.features", &width)};
    enum status status = snapshot_read_rows(from, SNAPSHOT_ROWS(rows), err);
    if (!status && (width < 1 || width > QUERY_FEATURES))
        status = error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's features cannot be counted");
    m->features = (int)width;
    return status;
}

static size_t mask_entries(const struct method_model *m)
{
    return (size_t)m->features * (size_t)m->config.latent;
}

/* Before the model allocates memory, refuses a checkpoint whose weights have other shapes. */
static enum status check_shapes(const struct fit_setup *setup, const struct nmf_setup *parts, bool nmf,
                                const struct snapshot_reader *from, struct error *err)
{
    struct nmf empty = {.setup = *parts};
    struct latent_model *model = NULL;
    struct snapshot *snapshot = NULL;
    enum status status = STATUS_OK;
    if (nmf) {
        status = snapshot_create(&snapshot, err);
        if (!status)
            status = nmf_snapshot(&empty, SNAPSHOT_WEIGHT, snapshot, err);
        if (!status)
            status = snapshot_fits(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    } else {
        status = latent_declare(&setup->shape, "", &model, err);
        if (!status)
            status = params_fit(model->params, from, err);
    }
    latent_destroy(model);
    snapshot_destroy(snapshot);
    return status;
}

static enum status read_weights(struct method_model *m, const struct snapshot_reader *from, struct error *err)
{
    struct snapshot *snapshot = NULL;
    struct fit_setup setup = factors_setup(&m->config, m->features, 1, 0);
    struct nmf_setup parts = factors_nmf_setup(&m->config, m->features);
    bool nmf = m->config.model == MODEL_NMF;
    m->prior = setup.prior;
    enum status status = check_shapes(&setup, &parts, nmf, from, err);
    if (!status)
        status = nmf ? nmf_create(&parts, NULL, NULL, 0, m->kernels, NULL, &m->nmf, err)
                     : latent_create(&setup.shape, "", false, &m->latent, err);
    if (!status)
        status = snapshot_create(&snapshot, err);
    if (!status)
        status = nmf ? nmf_snapshot(m->nmf, SNAPSHOT_WEIGHT, snapshot, err)
                     : params_snapshot(m->latent->params, snapshot, err);
    if (!status)
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    if (!status && !nmf)
        status = params_check(m->latent->params, err);
    snapshot_destroy(snapshot);
    return status;
}

static enum status make_mask(struct method_model *m, struct error *err)
{
    if (!m->nmf && !latent_masked(m->latent))
        return STATUS_OK;
    m->mask = malloc(mask_entries(m) * sizeof *m->mask);
    if (!m->mask)
        return error_memory(err, "a mask");
    if (m->nmf)
        memcpy(m->mask, m->nmf->parts, mask_entries(m) * sizeof *m->mask);
    else
        prior_mask(&m->prior, m->latent, m->mask);
    return STATUS_OK;
}

enum status factors_open(const void *config, const struct kernels *kernels, const char *data,
                         const struct snapshot_reader *from, struct method_model **model, struct error *err)
{
    struct method_model *m = calloc(1, sizeof *m);
    if (!m)
        return error_memory(err, "a model");
    m->kernels = kernels;
    m->config = *(const struct factors_config *)config;
    enum status status = read_width(m, from, err);
    if (!status)
        status = scale_load(from, "", (enum collection_scale)m->config.scaling, m->features, &m->scale, err);
    if (!status)
        status = read_weights(m, from, err);
    if (!status)
        status = make_mask(m, err);
    if (status) {
        factors_close(m);
        return status;
    }
    *model = m;
    return STATUS_OK;
}

void factors_close(struct method_model *model)
{
    if (!model)
        return;
    latent_destroy(model->latent);
    nmf_destroy(model->nmf);
    scale_close(&model->scale);
    free(model->mask);
    free(model);
}

uint64_t factors_model_bytes(const struct method_model *model)
{
    return sizeof *model + (model->latent ? params_bytes(model->latent->params) : mask_entries(model) * sizeof(float)) +
           (model->mask ? mask_entries(model) * sizeof(float) : 0);
}

/* ---- predict ------------------------------------------------------------------------------------------ */

static enum status take_input(const struct method_model *m, const struct method_input *input, float *x,
                              struct error *err)
{
    int64_t g = m->features;
    if (input->kind == METHOD_INPUT_ARRAY) {
        if (input->rank != 1 || input->dim[0] != g)
            return error_set(err, STATUS_INVALID, "/array", "must be a list of %lld features", (long long)g);
        for (int64_t j = 0; j < g; j++)
            if (!isfinite(input->values[j]))
                return error_set(err, STATUS_INVALID, "/array", "element %lld is not a finite number", (long long)j);
        memcpy(x, input->values, (size_t)g * sizeof *x);
        return STATUS_OK;
    }
    if (m->config.data != DATA_SYNTHETIC)
        return error_set(err, STATUS_INVALID, "/sample",
                         "the rows of a table cannot be drawn by a seed; send an array of %lld features", (long long)g);
    if (input->seed < 0 || input->seed >= QUERY_SETS)
        return error_set(err, STATUS_INVALID, "/sample/seed", "must be in [0, %d); got %lld", QUERY_SETS,
                         (long long)input->seed);
    struct features *one;
    enum status status = synthetic_features((uint64_t)m->config.seed, (uint32_t)(QUERY_SETS + input->seed),
                                            m->config.rho, factors_deviation(&m->config), 1, NULL, &one, err);
    if (status)
        return status;
    memcpy(x, one->x, (size_t)g * sizeof *x);
    features_destroy(one);
    return STATUS_OK;
}

void factors_warn(const struct method_model *model, const struct method_input *input, const struct sink *out)
{
    if (input->kind == METHOD_INPUT_ARRAY && input->rank == 1 && input->dim[0] == model->features)
        scale_warn(&model->scale, input->values, NULL, out);
}

/* The results of the model for one row. The members point into `block`. */
struct reading {
    float *block;
    float *x, *y, *mean;   /* x, y: [features] the row and its reconstruction; mean: [latent] the code */
    float *scaled;         /* [features] the row as the model sees it */
    float *deviation, *on; /* [latent] deviation: set if `uncertain`; on: probability that the latent variable is on,
                              set if `uncertain` and `spiked` */
    bool uncertain, spiked;
};

static void write_factors(const struct method_model *m, const struct reading *r, const struct sink *out)
{
    sink_begin_list(out, "factors");
    for (int k = 0; k < (int)m->config.latent; k++) {
        sink_begin_object(out, NULL);
        sink_integer(out, "factor", k);
        sink_number(out, "mean", (double)r->mean[k]);
        if (r->uncertain)
            sink_number(out, "deviation", (double)r->deviation[k]);
        if (r->spiked)
            sink_number(out, "on", (double)r->on[k]);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static void write_features(const struct method_model *m, const float *x, const float *y, const struct sink *out)
{
    int k = (int)m->config.latent;
    sink_begin_list(out, "features");
    for (int j = 0; j < m->features; j++) {
        sink_begin_object(out, NULL);
        sink_integer(out, "feature", j);
        sink_number(out, "value", (double)x[j]);
        sink_number(out, "output", (double)y[j]);
        if (m->mask) {
            sink_begin_list(out, "fed_by");
            for (int c = 0; c < k; c++)
                if (m->mask[(ptrdiff_t)j * k + c] != 0)
                    sink_integer(out, NULL, c);
            sink_end_list(out);
        }
        sink_end_object(out);
    }
    sink_end_list(out);
}

/* Computes the encoder's means and the decoder's output for them. */
static enum status read_latent(const struct method_question *question, struct reading *r, float *share,
                               struct error *err)
{
    const struct method_model *m = question->model;
    struct arena arena;
    struct exec e;
    struct thread_pool *pool = NULL;
    struct latent_model view = *m->latent; /* a copy, because evaluation changes some members */
    bool shares = m->config.data == DATA_ABSTRACTS || m->config.data == DATA_SHIFTED;
    float *input = shares ? share : r->scaled, sum = 0;
    for (int j = 0; j < m->features; j++)
        sum += r->x[j];
    for (int j = 0; j < m->features && shares; j++)
        input[j] = sum > 0 ? r->x[j] / sum : 0;
    arena_init(&arena, (size_t)1 << 20, 0);
    enum status status = thread_pool_create(1, &pool, err);
    if (!status) {
        thread_pool_stop_when(pool, work_stopped, question->work);
        exec_init(&e, m->kernels, pool, &arena, 0);
        exec_begin(&e, false, 0);
        struct spike_code code = latent_encode(&view, &e, tensor_wrap_rows(&e, input, 1, m->features, false));
        struct tensor *y = latent_decode(&view, &e, latent_mean(&view, &e, &code));
        status = exec_status(&e, err);
        r->uncertain = true;
        r->spiked = !status && code.odds;
        for (int k = 0; !status && k < (int)m->config.latent; k++) {
            r->mean[k] = code.mean->data[k];
            r->deviation[k] = (float)exp(0.5 * (double)code.log_variance->data[k]);
            r->on[k] = code.odds ? code.odds->data[k] : 0;
        }
        if (!status)
            memcpy(r->y, y->data, (size_t)m->features * sizeof *r->y);
    }
    thread_pool_destroy(pool);
    arena_close(&arena);
    return status;
}

static enum status apply_nmf(const struct method_question *question, struct reading *r, struct error *err)
{
    struct thread_pool *pool = NULL;
    enum status status = thread_pool_create(1, &pool, err);
    if (status)
        return status;
    thread_pool_stop_when(pool, work_stopped, question->work);
    nmf_apply(question->model->nmf, pool, r->scaled, r->mean, r->y);
    status = thread_pool_check(pool, err);
    thread_pool_destroy(pool);
    return status;
}

/* Takes the row from a question, and computes its latent variables and its reconstruction. The caller frees r->block,
 * also after an error. */
static enum status read_row(const struct method_question *question, struct reading *r, struct error *err)
{
    const struct method_model *model = question->model;
    size_t g = (size_t)model->features, k = (size_t)model->config.latent;
    float *block = calloc(4 * g + 3 * k, sizeof *block);
    if (!block) {
        *r = (struct reading){.block = NULL};
        return error_memory(err, "a row");
    }
    *r = (struct reading){.block = block, .x = block + 2 * g, .y = block + g, .mean = block + 4 * g};
    r->scaled = block;
    r->deviation = r->mean + k;
    r->on = r->deviation + k;
    enum status status = take_input(model, question->input, r->x, err);
    memcpy(r->scaled, r->x, g * sizeof *r->x);
    if (!status)
        status = scale_row(&model->scale, r->scaled, err);
    if (!status)
        status = model->nmf ? apply_nmf(question, r, err) : read_latent(question, r, block + 3 * g, err);
    if (!status && model->scale.columns > 0)
        scale_undo(&model->scale, r->x, r->y, r->y);
    return status;
}

/* The query "predict". */
enum status factors_predict(const struct method_question *question, const struct sink *out, struct error *err)
{
    struct reading r;
    enum status status = read_row(question, &r, err);
    if (!status) {
        write_factors(question->model, &r, out);
        write_features(question->model, r.x, r.y, out);
    }
    free(r.block);
    return status;
}

/* The query "encode". */
enum status factors_encode(const struct method_question *question, const struct sink *out, struct error *err)
{
    struct reading r;
    enum status status = read_row(question, &r, err);
    if (!status)
        write_factors(question->model, &r, out);
    free(r.block);
    return status;
}

/* The query "predict" as an array: the reconstruction of the row, [features]. */
enum status factors_predict_array(const struct method_question *question, struct buf *values, int *rank, int64_t dim[4],
                                  struct error *err)
{
    struct reading r;
    enum status status = read_row(question, &r, err);
    *rank = 1;
    dim[0] = question->model->features;
    if (!status)
        buf_append(values, r.y, (size_t)dim[0] * sizeof *r.y);
    free(r.block);
    return status;
}

/* The query "encode" as an array: the means of the code, [latent]. */
enum status factors_encode_array(const struct method_question *question, struct buf *values, int *rank, int64_t dim[4],
                                 struct error *err)
{
    struct reading r;
    enum status status = read_row(question, &r, err);
    *rank = 1;
    dim[0] = question->model->config.latent;
    if (!status)
        buf_append(values, r.mean, (size_t)dim[0] * sizeof *r.mean);
    free(r.block);
    return status;
}

/* Write the shapes of tensors of the Open Inference Protocol. */
static void features_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = 1;
    dim[0] = model->features;
}

static void factors_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = 1;
    dim[0] = model->config.latent;
}

const struct method_tensor factors_input = {"input", "A row of features", METHOD_FP32, false, features_shape};
const struct method_tensor factors_outputs[FACTORS_OUTPUTS] = {
    {"factors", "The factors of the row", METHOD_FP32, false, factors_shape},
    {"reconstruction", "The row as the model reconstructs it from its factors", METHOD_FP32, false, features_shape},
};

enum status factors_infer(const struct method_question *question, struct buf *const outputs[], struct error *err)
{
    struct reading r;
    enum status status = read_row(question, &r, err);
    if (!status && outputs[0])
        buf_append(outputs[0], r.mean, (size_t)question->model->config.latent * sizeof *r.mean);
    if (!status && outputs[1])
        buf_append(outputs[1], r.y, (size_t)question->model->features * sizeof *r.y);
    free(r.block);
    return status;
}
