/* Describes the server and its models to clients of the Open Inference Protocol. */
#include <stdio.h>

#include "api/http/exchange.h"
#include "api/inference/inference.h"
#include "api/inference/request.h"
#include "api/documents/documents.h"
#include "api/models/model_cache.h"
#include "api/queries/queries.h"

const struct api_dialect inference_dialect = {
    .error = "error",
    .typeless = true,
    .header = INFERENCE_HEADER,
    .header_meaning = "bytes of the JSON at the beginning of a body that continues with binary data",
};

void inference_server(struct exchange *x)
{
    struct api_system system;
    api_facts(x->api, &system);
    sink_begin_object(x->out, NULL);
    sink_text(x->out, "name", "motifd");
    sink_text(x->out, "version", system.version);
    sink_begin_list(x->out, "extensions");
    sink_text(x->out, NULL, "binary_tensor_data");
    sink_end_list(x->out);
    sink_end_object(x->out);
    respond_json(x, 200);
}

static void respond_state(struct exchange *x, const char *name, const char *member)
{
    sink_begin_object(x->out, NULL);
    if (name != NULL)
        sink_text(x->out, "name", name);
    sink_boolean(x->out, member, true);
    sink_end_object(x->out);
    response_header(x->response, "Cache-Control", "no-store");
    respond_json(x, 200);
}

void inference_live(struct exchange *x)
{
    respond_state(x, NULL, "live");
}

void inference_ready(struct exchange *x)
{
    if (health_check(x))
        respond_state(x, NULL, "ready");
}

void inference_model_ready(struct exchange *x)
{
    struct inference_target target;
    if (inference_find(x, &target))
        respond_state(x, target.job.id, "ready");
}

static void write_shape(const struct sink *out, const int64_t *dim, int rank)
{
    sink_begin_list(out, "shape");
    sink_integer(out, NULL, -1);
    for (int d = 0; d < rank; d++)
        sink_integer(out, NULL, dim[d]);
    sink_end_list(out);
}

static void write_tensor(const struct sink *out, const char *name, const char *datatype, const int64_t *dim, int rank)
{
    sink_begin_object(out, NULL);
    sink_text(out, "name", name);
    sink_text(out, "datatype", datatype);
    write_shape(out, dim, rank);
    sink_end_object(out);
}

static void write_tensors(const struct sink *out, const struct method *method, const struct method_model *model)
{
    struct inference_output offers[INFERENCE_OUTPUTS];
    size_t count = inference_offers(method, offers);
    int64_t dim[METHOD_TENSOR_RANK];
    int rank;
    sink_begin_list(out, "inputs");
    method->input->shape(model, &rank, dim);
    write_tensor(out, method->input->name, "FP32", dim, rank);
    sink_end_list(out);
    sink_begin_list(out, "outputs");
    for (size_t i = 0; i < count; i++) {
        method->outputs[offers[i].tensor].shape(model, &rank, dim);
        if (rank < 0) /* this model does not have the output */
            continue;
        if (offers[i].part != PART_DENSE) {
            dim[0] = rank + 1; /* number of coordinates of a value: the index of its input, and `rank` indices in the
                                  output for this input */
            rank = offers[i].part == PART_COORDINATES ? 1 : 0;
        }
        write_tensor(out, offers[i].name, inference_datatype(method, &offers[i]), dim, rank);
    }
    sink_end_list(out);
}

/* Writes the sequence numbers of the job's checkpoints, which are the versions of the model. */
static enum status write_versions(struct exchange *x, const char *job, struct error *err)
{
    struct storage_checkpoint *checkpoints;
    size_t count;
    enum status status = storage_checkpoint_list(x->api->options.storage, job, &x->arena, &checkpoints, &count, err);
    if (status)
        return status;
    sink_begin_list(x->out, "versions");
    for (size_t i = 0; i < count; i++) {
        char text[24];
        (void)snprintf(text, sizeof text, "%lld", (long long)checkpoints[i].seq);
        sink_text(x->out, NULL, text);
    }
    sink_end_list(x->out);
    return STATUS_OK;
}

void inference_model(struct exchange *x)
{
    struct inference_target target;
    struct model_lease lease;
    struct query_run run;
    struct error err;
    error_clear(&err);
    if (!inference_find(x, &target) || !queries_enter(x, false, &run))
        return;
    enum status status =
        model_cache_get(x->api->models, target.method, &target.job, target.checkpoint.seq, &lease, &err);
    if (!status) {
        char platform[80];
        (void)snprintf(platform, sizeof platform, "motifd_%.60s", target.job.kind);
        sink_begin_object(x->out, NULL);
        sink_text(x->out, "name", target.job.id);
        status = write_versions(x, target.job.id, &err);
        sink_text(x->out, "platform", platform);
        write_tensors(x->out, target.method, lease.model);
        sink_end_object(x->out);
        model_cache_release(x->api->models, &lease);
    }
    queries_leave(&run);
    if (!status)
        respond_json(x, 200);
    else
        respond_error(x, &err);
}
