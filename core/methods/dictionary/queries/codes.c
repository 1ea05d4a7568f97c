/* Answers the queries "encode", "decode" and "steer". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/dictionary/queries/model.h"

enum { CHANGES_MOST = 64, SAMPLES_STREAM = 1 }; /* SAMPLES_STREAM equals STREAM_TEST of run_int.h */

/* ---- between samples and codes ------------------------------------------------------------------------------- */

static size_t encode_scratch(const struct method_model *m)
{
    return INFER_ROWS * (size_t)m->c.inputs + infer_scratch(&m->sae[0]->shape);
}

/* Computes the codes of samples in the units of the file. STATUS_INVALID: a count is negative. code: [count][width], x:
 * [count][inputs], scratch: encode_scratch() floats. count <= INFER_ROWS. */
static enum status codes_encode(const struct method_model *m, int seed, const float *x, int count, float *code,
                                float *scratch, struct error *err)
{
    size_t all = (size_t)count * (size_t)m->c.inputs;
    memcpy(scratch, x, all * sizeof *scratch);
    for (int r = 0; r < count; r++) {
        enum status status = scale_row(&m->columns, scratch + (ptrdiff_t)r * m->c.inputs, err);
        if (status)
            return status;
    }
    m->kernels->scale(all, (float)m->scale, scratch);
    infer_codes(&m->infer[seed], scratch, count, code, scratch + INFER_ROWS * (size_t)m->c.inputs);
    for (int r = 0; r < count; r++)
        for (int j = 0; j < m->c.width; j++)
            code[(ptrdiff_t)r * m->c.width + j] *= m->norm[seed][j] / (float)m->scale;
    return STATUS_OK;
}

/* Adds latent j to a sample: to += code row_j / |row_j|. */
static void add_latent(const struct method_model *m, int seed, int j, float code, float *to)
{
    const float *row = m->sae[seed]->decoder->value + (ptrdiff_t)j * m->c.inputs;
    float norm = m->norm[seed][j];
    if (code != 0 && norm > 0)
        m->kernels->axpy((size_t)m->c.inputs, code / norm, row, to);
}

/* Computes the reconstruction x with scaled columns. */
static void codes_decode(const struct method_model *m, int seed, const float *code, float *x)
{
    for (int k = 0; k < m->c.inputs; k++)
        x[k] = m->sae[seed]->bias->value[k] / (float)m->scale;
    for (int j = 0; j < m->c.width; j++)
        add_latent(m, seed, j, code[j], x);
}

/* Gives a sample with scaled columns the units of the file; row: as for scale_undo(). */
static void codes_undo(const struct method_model *m, const float *row, float *x)
{
    if (m->columns.columns > 0)
        scale_undo(&m->columns, row, x, x);
}

/* ---- inputs -------------------------------------------------------------------------------------------------- */

static enum status check_numbers(const float *values, int count, struct error *err)
{
    for (int k = 0; k < count; k++)
        if (!isfinite(values[k]))
            return error_set(err, STATUS_INVALID, "/array", "element %d is not a finite number", k);
    return STATUS_OK;
}

static enum status draw_sample(const struct method_model *m, int64_t number, float *x, struct error *err)
{
    struct thread_pool *pool = NULL;
    struct planted_codes codes = {0};
    const struct planted_samples one = {SAMPLES_STREAM, number, 0, 1};
    enum status status = planted_codes_create(&m->planted.shape, 1, 1, &codes, err);
    if (!status)
        status = thread_pool_create(1, &pool, err);
    if (!status && !planted_draw(&m->planted, pool, &one, x, &codes))
        status = thread_pool_check(pool, err);
    thread_pool_destroy(pool);
    planted_codes_close(&codes);
    return status;
}

static enum status take_sample(const struct method_model *m, int64_t number, float *x, struct error *err)
{
    bool rows = m->rows.count > 0;
    if (number < 0 || (rows && number >= m->rows.count))
        return error_set(err, STATUS_INVALID, "/sample/seed", "must be in [0, %lld); got %lld",
                         rows ? (long long)m->rows.count : INT64_MAX, (long long)number);
    if (rows)
        return rows_read(&m->rows, number, x, err);
    if (m->planted.directions)
        return draw_sample(m, number, x, err);
    return error_set(err, STATUS_INVALID, "/sample",
                     "the samples of this job cannot be read by their number (the data set is gone, or its generator "
                     "takes long to create); send an array of %d numbers",
                     m->c.inputs);
}

static enum status take_input(const struct method_question *question, float *x, struct error *err)
{
    const struct method_model *m = question->model;
    const struct method_input *input = question->input;
    if (input->kind == METHOD_INPUT_SAMPLE)
        return take_sample(m, input->seed, x, err);
    if (input->rank != 1 || input->dim[0] != m->c.inputs)
        return error_set(err, STATUS_INVALID, "/array", "must be a list of %d numbers", m->c.inputs);
    memcpy(x, input->values, (size_t)m->c.inputs * sizeof *x);
    return check_numbers(x, m->c.inputs, err);
}

/* A sample and its code. The members point into `block`, which the caller frees, also after an error. */
struct coded {
    int seed;
    /* x: [inputs], in the units of the file; own: [inputs] with scaled columns; code: [width]; back: [inputs]
     * reconstruction from the code, with scaled columns */
    float *block, *x, *own, *code, *back;
};

static enum status read_coded(const struct method_question *question, struct coded *c, struct error *err)
{
    const struct method_model *m = question->model;
    size_t d = (size_t)m->c.inputs, width = (size_t)m->c.width;
    *c = (struct coded){.block = malloc((3 * d + width + encode_scratch(m)) * sizeof *c->block)};
    if (!c->block)
        return error_memory(err, "a sample");
    c->x = c->block;
    c->back = c->x + d;
    c->own = c->back + d;
    c->code = c->own + d;
    enum status status = dictionary_seed(question, &c->seed, err);
    if (!status)
        status = take_input(question, c->x, err);
    if (status)
        return status;
    status = codes_encode(m, c->seed, c->x, 1, c->code, c->code + width, err);
    memcpy(c->own, c->x, d * sizeof *c->own);
    if (!status)
        status = scale_row(&m->columns, c->own, err);
    if (!status)
        codes_decode(m, c->seed, c->code, c->back);
    return status;
}

static enum status codes_append(struct buf *values, const float *from, int count, int *rank, int64_t dim[4])
{
    *rank = 1;
    dim[0] = count;
    buf_append(values, from, (size_t)count * sizeof *from);
    return STATUS_OK;
}

void dictionary_warn(const struct method_model *m, const struct method_input *input, const struct sink *out)
{
    if (input->kind == METHOD_INPUT_ARRAY && input->rank == 1 && input->dim[0] == m->columns.columns)
        scale_warn(&m->columns, input->values, NULL, out);
}

/* ---- encode -------------------------------------------------------------------------------------------------- */

static double explained(const struct method_model *m, const struct coded *c)
{
    double error = 0, power = 0;
    for (int k = 0; k < m->c.inputs; k++) {
        double centre = (double)m->sae[c->seed]->bias->value[k] / m->scale;
        error += ((double)c->back[k] - (double)c->own[k]) * ((double)c->back[k] - (double)c->own[k]);
        power += ((double)c->own[k] - centre) * ((double)c->own[k] - centre);
    }
    return power > 0 ? 1 - error / power : NAN;
}

enum status dictionary_encode(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct method_model *m = question->model;
    struct coded c;
    int active = 0;
    enum status status = read_coded(question, &c, err);
    if (!status) {
        sink_integer(out, "dictionary", c.seed);
        sink_begin_list(out, "latents");
        for (int j = 0; j < m->c.width; j++) {
            if (c.code[j] == 0)
                continue;
            active++;
            sink_begin_object(out, NULL);
            sink_integer(out, "latent", j);
            sink_number(out, "value", (double)c.code[j]);
            sink_end_object(out);
        }
        sink_end_list(out);
        sink_integer(out, "l0", active);
        sink_number(out, "explained", explained(m, &c));
    }
    free(c.block);
    return status;
}

enum status dictionary_encode_array(const struct method_question *question, struct buf *values, int *rank,
                                    int64_t dim[4], struct error *err)
{
    struct coded c;
    enum status status = read_coded(question, &c, err);
    if (!status)
        status = codes_append(values, c.code, question->model->c.width, rank, dim);
    free(c.block);
    return status;
}

void dictionary_encode_widths(const struct method_model *m, int *from, int *to)
{
    *from = m->c.inputs;
    *to = m->c.width;
}

enum status dictionary_encode_rows(const struct method_question *question, const float *in, int count, float *out,
                                   struct error *err)
{
    const struct method_model *m = question->model;
    float *scratch = malloc(encode_scratch(m) * sizeof *scratch);
    int seed = 0;
    enum status status = scratch ? dictionary_seed(question, &seed, err) : error_memory(err, "rows");
    for (int at = 0; !status && at < count; at += INFER_ROWS) {
        int rows = count - at < INFER_ROWS ? count - at : INFER_ROWS;
        status = codes_encode(m, seed, in + (ptrdiff_t)at * m->c.inputs, rows, out + (ptrdiff_t)at * m->c.width,
                              scratch, err);
    }
    free(scratch);
    return status;
}

/* ---- decode -------------------------------------------------------------------------------------------------- */

/* Reads the code that a question contains, or computes the code of its sample. Writes the reconstruction from this code
 * to *x, [inputs], which the caller frees, also after an error. */
static enum status read_code(const struct method_question *question, int *seed, float **x, struct error *err)
{
    const struct method_model *m = question->model;
    const struct method_input *input = question->input;
    *x = malloc((size_t)m->c.inputs * sizeof **x);
    if (!*x)
        return error_memory(err, "a reconstruction");
    if (input->kind == METHOD_INPUT_SAMPLE) { /* the reconstruction of the sample */
        struct coded c;
        enum status status = read_coded(question, &c, err);
        *seed = c.seed;
        if (!status)
            memcpy(*x, c.back, (size_t)m->c.inputs * sizeof **x);
        if (!status)
            codes_undo(m, c.x, *x);
        free(c.block);
        return status;
    }
    if (input->rank != 1 || input->dim[0] != m->c.width)
        return error_set(err, STATUS_INVALID, "/array", "must be a list of %d codes, one for each latent", m->c.width);
    enum status status = dictionary_seed(question, seed, err);
    if (!status)
        status = check_numbers(input->values, m->c.width, err);
    if (!status) {
        codes_decode(m, *seed, input->values, *x);
        codes_undo(m, NULL, *x);
    }
    return status;
}

static void write_numbers(const struct sink *out, const char *name, const float *x, int count)
{
    sink_begin_list(out, name);
    for (int k = 0; k < count; k++)
        sink_number(out, NULL, (double)x[k]);
    sink_end_list(out);
}

enum status dictionary_decode(const struct method_question *question, const struct sink *out, struct error *err)
{
    float *x;
    int seed = 0;
    enum status status = read_code(question, &seed, &x, err);
    if (!status) {
        sink_integer(out, "dictionary", seed);
        write_numbers(out, "reconstruction", x, question->model->c.inputs);
    }
    free(x);
    return status;
}

enum status dictionary_decode_array(const struct method_question *question, struct buf *values, int *rank,
                                    int64_t dim[4], struct error *err)
{
    float *x;
    int seed = 0;
    enum status status = read_code(question, &seed, &x, err);
    if (!status)
        status = codes_append(values, x, question->model->c.inputs, rank, dim);
    free(x);
    return status;
}

void dictionary_decode_widths(const struct method_model *m, int *from, int *to)
{
    *from = m->c.width;
    *to = m->c.inputs;
}

enum status dictionary_decode_rows(const struct method_question *question, const float *in, int count, float *out,
                                   struct error *err)
{
    const struct method_model *m = question->model;
    int seed = 0;
    enum status status = dictionary_seed(question, &seed, err);
    for (int r = 0; !status && r < count; r++) {
        codes_decode(m, seed, in + (ptrdiff_t)r * m->c.width, out + (ptrdiff_t)r * m->c.inputs);
        codes_undo(m, NULL, out + (ptrdiff_t)r * m->c.inputs);
    }
    return status;
}

/* ---- steer --------------------------------------------------------------------------------------------------- */

struct changes {
    int count, latent[CHANGES_MOST];
    float code[CHANGES_MOST];
};

/* Parses "12=3.5,40=0". */
static bool parse_changes(const char *text, int width, struct changes *out)
{
    for (const char *at = text; *at;) {
        char *end;
        long latent = strtol(at, &end, 10);
        if (end == at || *end != '=' || latent < 0 || latent >= width || out->count == CHANGES_MOST)
            return false;
        at = end + 1;
        double code = strtod(at, &end);
        if (end == at || (*end && *end != ',') || (*end && !end[1]) || !(fabs(code) <= 1e30))
            return false;
        for (int i = 0; i < out->count; i++)
            if (out->latent[i] == latent)
                return false;
        out->latent[out->count] = (int)latent;
        out->code[out->count++] = (float)code;
        at = end + (*end != 0);
    }
    return true;
}

/* Changes the code of a sample as the question requests. Writes the reconstruction from the new code to c->back, and
 * moves the sample c->x along the rows of the changed latents. before: the old values of the changed entries. */
static enum status steer(const struct method_question *question, struct coded *c, struct changes *changes,
                         float before[CHANGES_MOST], struct error *err)
{
    const struct method_model *m = question->model;
    const struct dictionary_question *asked = question->parameters;
    enum status status = read_coded(question, c, err);
    if (status)
        return status;
    if (!parse_changes(asked->set, m->c.width, changes))
        return error_set(err, STATUS_INVALID, "/set",
                         "must be at most %d changes of different latents below %d, such as \"12=3.5,40=0\"; got "
                         "\"%.60s\"",
                         CHANGES_MOST, m->c.width, asked->set);
    for (int i = 0; i < changes->count; i++) {
        int j = changes->latent[i];
        before[i] = c->code[j];
        add_latent(m, c->seed, j, changes->code[i] - before[i], c->own);
        c->code[j] = changes->code[i];
    }
    codes_decode(m, c->seed, c->code, c->back);
    codes_undo(m, c->x, c->back);
    if (m->columns.columns > 0)
        scale_undo(&m->columns, c->x, c->own, c->x);
    else
        memcpy(c->x, c->own, (size_t)m->c.inputs * sizeof *c->x);
    return STATUS_OK;
}

enum status dictionary_steer(const struct method_question *question, const struct sink *out, struct error *err)
{
    struct coded c;
    struct changes changes = {0};
    float before[CHANGES_MOST];
    enum status status = steer(question, &c, &changes, before, err);
    if (!status) {
        sink_integer(out, "dictionary", c.seed);
        sink_begin_list(out, "changes");
        for (int i = 0; i < changes.count; i++) {
            sink_begin_object(out, NULL);
            sink_integer(out, "latent", changes.latent[i]);
            sink_number(out, "before", (double)before[i]);
            sink_number(out, "value", (double)changes.code[i]);
            sink_end_object(out);
        }
        sink_end_list(out);
        write_numbers(out, "reconstruction", c.back, question->model->c.inputs);
        write_numbers(out, "steered", c.x, question->model->c.inputs);
    }
    free(c.block);
    return status;
}

enum status dictionary_steer_array(const struct method_question *question, struct buf *values, int *rank,
                                   int64_t dim[4], struct error *err)
{
    struct coded c;
    struct changes changes = {0};
    float before[CHANGES_MOST];
    enum status status = steer(question, &c, &changes, before, err);
    if (!status)
        status = codes_append(values, c.x, question->model->c.inputs, rank, dim);
    free(c.block);
    return status;
}

/* ---- tensors of the Open Inference Protocol -------------------------------------------------------------------- */

static void sample_shape(const struct method_model *m, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = 1;
    dim[0] = m->c.inputs;
}

static void codes_shape(const struct method_model *m, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = 1;
    dim[0] = m->c.width;
}

const struct method_tensor dictionary_input = {"input", "A sample", METHOD_FP32, false, sample_shape};
const struct method_tensor dictionary_outputs[DICTIONARY_OUTPUTS] = {
    {"codes", "The codes of the sample in the first dictionary", METHOD_FP32, true, codes_shape},
    {"reconstruction", "The sample as the dictionary reconstructs it from its codes", METHOD_FP32, false, sample_shape},
};

enum status dictionary_infer(const struct method_question *question, struct buf *const outputs[], struct error *err)
{
    const struct dictionary_question first = {.dictionary = 0};
    struct method_question own = *question;
    struct coded c;
    own.parameters = &first;
    enum status status = read_coded(&own, &c, err);
    if (!status && outputs[0])
        buf_append(outputs[0], c.code, (size_t)question->model->c.width * sizeof *c.code);
    if (!status && outputs[1])
        buf_append(outputs[1], c.back, (size_t)question->model->c.inputs * sizeof *c.back);
    free(c.block);
    return status;
}
