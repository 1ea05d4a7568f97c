/* Computes the outputs that a client of the Open Inference Protocol wants, and sends them as JSON, as binary data, or
 * both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/inference/inference.h"
#include "api/inference/request.h"
#include "api/models/model_cache.h"
#include "api/queries/queries.h"

#define OUTPUT_BYTES (API_DOCUMENT_MAX / 4) /* upper limit of the bytes of one output */

/* The outputs of a request while they are computed. */
struct inference {
    struct exchange *x;
    const struct inference_request *r;
    const struct method_model *model;
    /* values of each output: for all inputs if the client wants all values of the output, else only for the current
     * input */
    struct buf whole[METHOD_OUTPUTS];
    bool keeps[METHOD_OUTPUTS]; /* the client wants all values of this output */
    struct buf coordinates[METHOD_OUTPUTS],
        values[METHOD_OUTPUTS]; /* for sparse outputs: positions and values of the elements that are not zero */
    int rank[METHOD_OUTPUTS];   /* rank: number of dimensions of an output for one input; dim: their sizes */
    int64_t dim[METHOD_OUTPUTS][METHOD_TENSOR_RANK];
};

static bool wants(const struct inference_request *r, size_t tensor, bool dense)
{
    for (size_t i = 0; i < r->output_count; i++)
        if (r->outputs[i].tensor == tensor && (r->outputs[i].part == PART_DENSE) == dense)
            return true;
    return false;
}

/* Lists the values that are not zero in the output for one input; this output begins at index `from` of the tensor.
 * Stores the coordinates of each value: the index of the input, and then the position in the output. */
static void inference_infer_gather(struct inference *f, size_t tensor, size_t input, size_t from)
{
    const struct buf *whole = &f->whole[tensor];
    for (size_t i = from; i < whole->size / sizeof(float); i++) {
        float value;
        memcpy(&value, whole->data + i * sizeof value, sizeof value);
        if (value == 0)
            continue;
        int64_t at[1 + METHOD_TENSOR_RANK] = {(int64_t)input};
        int64_t rest = (int64_t)(i - from);
        for (int d = f->rank[tensor]; d > 0; d--) {
            at[d] = rest % f->dim[tensor][d - 1];
            rest /= f->dim[tensor][d - 1];
        }
        buf_append(&f->coordinates[tensor], at, (size_t)(1 + f->rank[tensor]) * sizeof at[0]);
        buf_append(&f->values[tensor], &value, sizeof value);
    }
}

static enum status infer_one(struct inference *f, struct query_run *run, size_t input, struct error *err)
{
    const struct method *method = f->r->target.method;
    struct buf *outputs[METHOD_OUTPUTS] = {NULL};
    size_t before[METHOD_OUTPUTS] = {0};
    for (size_t t = 0; t < method->output_count; t++) {
        if (wants(f->r, t, true) || wants(f->r, t, false))
            outputs[t] = &f->whole[t];
        before[t] = f->whole[t].size / sizeof(float);
    }
    const struct method_question question = {
        .model = f->model, .input = &f->r->inputs.items[input], .item = -1, .work = &run->x->work};
    enum status status = method->infer(&question, outputs, err);
    for (size_t t = 0; t < method->output_count && !status; t++) {
        if (outputs[t] == NULL || !wants(f->r, t, false))
            continue;
        inference_infer_gather(f, t, input, before[t]);
        if (!f->keeps[t])
            buf_clear(&f->whole[t]);
    }
    return status;
}

/* Returns whether all outputs fit into memory and into the limit; if not, the function has responded. */
static bool all_fit(struct inference *f)
{
    bool failed = false, full = false;
    for (size_t t = 0; t < METHOD_OUTPUTS; t++) {
        const struct buf *const all[] = {&f->whole[t], &f->coordinates[t], &f->values[t]};
        for (size_t i = 0; i < 3; i++) {
            failed = failed || all[i]->failed;
            full = full || all[i]->full;
        }
    }
    if (full) {
        respond_problem(f->x, PROBLEM_TOO_LARGE,
                        "An output would be larger than %u MiB; send fewer inputs or ask for coordinates.",
                        OUTPUT_BYTES >> 20);
    } else if (failed) {
        respond_problem(f->x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
    }
    return !failed;
}

/* Computes the outputs for all inputs. Returns false after it has sent an error. */
static bool infer_all(struct inference *f, struct query_run *run)
{
    struct error err;
    error_clear(&err);
    for (size_t i = 0; i < f->r->inputs.count; i++) {
        if (i > 0 && work_yield(&f->x->work, NULL)) {
            queries_respond_stopped(run);
            return false;
        }
        enum status status = infer_one(f, run, i, &err);
        if (status == STATUS_CANCELLED) {
            queries_respond_stopped(run);
            return false;
        }
        if (status == STATUS_INVALID && err.pointer[0] != '\0') {
            struct error full;
            error_clear(&full);
            (void)error_set(&full, status, "/inputs/0", "does not fit the model (input %zu): %s", i, err.message);
            err = full;
        }
        if (status) {
            respond_error(f->x, &err);
            return false;
        }
    }
    return all_fit(f);
}

/* ---- the answer ---------------------------------------------------------------------------------------------- */

static const struct buf *bytes_of(const struct inference *f, const struct inference_output *output)
{
    return output->part == PART_DENSE         ? &f->whole[output->tensor]
           : output->part == PART_COORDINATES ? &f->coordinates[output->tensor]
                                              : &f->values[output->tensor];
}

static void write_shape(const struct sink *out, const struct inference *f, const struct inference_output *output)
{
    size_t t = output->tensor;
    sink_begin_list(out, "shape");
    if (output->part == PART_DENSE) {
        sink_integer(out, NULL, (int64_t)f->r->inputs.count);
        for (int d = 0; d < f->rank[t]; d++)
            sink_integer(out, NULL, f->dim[t][d]);
    } else {
        sink_integer(out, NULL, (int64_t)(f->values[t].size / sizeof(float)));
        if (output->part == PART_COORDINATES)
            sink_integer(out, NULL, 1 + f->rank[t]);
    }
    sink_end_list(out);
}

/* Writes texts, each of which begins with its length. Returns false if there is not enough memory. */
static bool write_texts(const struct sink *out, const struct buf *bytes)
{
    for (size_t at = 0; at < bytes->size;) {
        const unsigned char *from = (const unsigned char *)bytes->data + at;
        size_t length = (size_t)from[0] | (size_t)from[1] << 8 | (size_t)from[2] << 16 | (size_t)from[3] << 24;
        char *text = strndup((const char *)from + 4, length);
        if (text == NULL)
            return false;
        sink_text(out, NULL, text);
        free(text);
        at += 4 + length;
    }
    return true;
}

static bool write_data(const struct sink *out, const struct inference *f, const struct inference_output *output)
{
    const struct buf *bytes = bytes_of(f, output);
    bool texts = f->r->target.method->outputs[output->tensor].datatype == METHOD_BYTES, complete = true;
    sink_begin_list(out, "data");
    if (texts) {
        complete = write_texts(out, bytes);
    } else if (output->part == PART_COORDINATES) {
        for (size_t i = 0; i < bytes->size / sizeof(int64_t); i++) {
            int64_t value;
            memcpy(&value, bytes->data + i * sizeof value, sizeof value);
            sink_integer(out, NULL, value);
        }
    } else {
        for (size_t i = 0; i < bytes->size / sizeof(float); i++) {
            float value;
            memcpy(&value, bytes->data + i * sizeof value, sizeof value);
            sink_number(out, NULL, (double)value);
        }
    }
    sink_end_list(out);
    return complete;
}

static bool write_output(const struct sink *out, const struct inference *f, const struct inference_output *output)
{
    bool complete = true;
    sink_begin_object(out, NULL);
    sink_text(out, "name", output->name);
    sink_text(out, "datatype", inference_datatype(f->r->target.method, output));
    write_shape(out, f, output);
    if (output->binary) {
        sink_begin_object(out, "parameters");
        sink_integer(out, "binary_data_size", (int64_t)bytes_of(f, output)->size);
        sink_end_object(out);
    } else {
        complete = write_data(out, f, output);
    }
    sink_end_object(out);
    return complete;
}

/* Writes the JSON, and behind it the binary data in the order of the outputs. */
static void respond_outputs(const struct inference *f)
{
    struct exchange *x = f->x;
    char version[24];
    bool binary = false, complete = true;
    (void)snprintf(version, sizeof version, "%lld", (long long)f->r->target.checkpoint.seq);
    sink_begin_object(x->out, NULL);
    sink_text(x->out, "model_name", f->r->target.job.id);
    sink_text(x->out, "model_version", version);
    if (f->r->id != NULL)
        sink_text(x->out, "id", f->r->id);
    sink_begin_list(x->out, "outputs");
    for (size_t i = 0; i < f->r->output_count; i++) {
        complete = write_output(x->out, f, &f->r->outputs[i]) && complete;
        binary = binary || f->r->outputs[i].binary;
    }
    sink_end_list(x->out);
    sink_end_object(x->out);
    if (!complete) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        return;
    }
    if (!binary) {
        respond_json(x, 200);
        return;
    }
    response_header(x->response, INFERENCE_HEADER, "%zu", x->response->body.size);
    for (size_t i = 0; i < f->r->output_count; i++)
        if (f->r->outputs[i].binary)
            buf_append(&x->response->body, bytes_of(f, &f->r->outputs[i])->data, bytes_of(f, &f->r->outputs[i])->size);
    respond_body(x, 200, "application/octet-stream");
}

/* Removes from the request all outputs that this model does not have. If the client listed such an output, responds
 * with an error and returns false. */
static bool leave_out(struct inference *f, struct inference_request *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->output_count; i++) {
        bool there = f->rank[r->outputs[i].tensor] >= 0;
        if (!there && r->listed) {
            struct error err;
            error_clear(&err);
            (void)error_set(&err, STATUS_INVALID, "/outputs", "must not contain %s, which this model does not have",
                            r->outputs[i].name);
            respond_error(f->x, &err);
            return false;
        }
        if (there)
            r->outputs[kept++] = r->outputs[i];
    }
    r->output_count = kept;
    return true;
}

static void inference_infer_compute(struct exchange *x, struct inference_request *r, struct inference *f)
{
    struct error err;
    struct model_lease lease;
    struct query_run run;
    error_clear(&err);
    if (!queries_enter(x, r->inputs.count > 1, &run))
        return;
    if (model_cache_get(x->api->models, r->target.method, &r->target.job, r->target.checkpoint.seq, &lease, &err)) {
        respond_error(x, &err);
        queries_leave(&run);
        return;
    }
    f->model = lease.model;
    for (size_t t = 0; t < r->target.method->output_count; t++)
        r->target.method->outputs[t].shape(lease.model, &f->rank[t], f->dim[t]);
    bool done = leave_out(f, r);
    for (size_t t = 0; t < r->target.method->output_count; t++)
        f->keeps[t] = wants(r, t, true);
    done = done && infer_all(f, &run);
    model_cache_release(x->api->models, &lease);
    queries_leave(&run);
    if (done)
        respond_outputs(f);
}

void inference_infer(struct exchange *x)
{
    struct inference_request *r = calloc(1, sizeof *r);
    struct inference f = {.x = x, .r = r};
    if (r == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        return;
    }
    for (size_t t = 0; t < METHOD_OUTPUTS; t++) {
        buf_init(&f.whole[t], OUTPUT_BYTES);
        buf_init(&f.coordinates[t], OUTPUT_BYTES);
        buf_init(&f.values[t], OUTPUT_BYTES);
    }
    if (inference_read(x, r))
        inference_infer_compute(x, r, &f);
    for (size_t t = 0; t < METHOD_OUTPUTS; t++) {
        buf_close(&f.whole[t]);
        buf_close(&f.coordinates[t]);
        buf_close(&f.values[t]);
    }
    inference_close(r);
    free(r);
}
