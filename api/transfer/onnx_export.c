/* GET /v1/jobs/{id}/onnx: a job's model as an ONNX graph, for other runtimes. An export counts as a query: it shares
 * the limits and the deadline of queries. */
#include <stdio.h>
#include <string.h>

#include "api/formats/onnx.h"
#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/models/model_cache.h"
#include "api/queries/queries.h"
#include "api/transfer/transfer.h"
#include "core/base/hash.h"
#include "storage/storage.h"

static enum status onnx_export_check(struct query_run *run, struct error *err)
{
    return queries_stopped(run) ? error_set(err, STATUS_CANCELLED, NULL, "the export was stopped") : STATUS_OK;
}

/* Copies the model into a graph, and then encodes the graph as a second copy. A copy has at most 512 MB and takes
 * little time, so the query's deadline is checked only before each copy. */
static enum status onnx_export_encode(struct exchange *x, struct query_run *run, const struct storage_job *job,
                                      const struct storage_checkpoint *checkpoint, const struct method *method,
                                      struct error *err)
{
    struct model_lease lease;
    struct onnx *onnx = NULL;
    char seq[24];
    enum status status = model_cache_get(x->api->models, method, job, checkpoint->seq, &lease, err);
    if (status != STATUS_OK)
        return status;
    status = onnx_export_check(run, err);
    if (status == STATUS_OK)
        status = onnx_create(&onnx, err);
    if (status == STATUS_OK)
        status = method->graph(lease.model, onnx_writer(onnx), err);
    model_cache_release(x->api->models, &lease);
    if (status == STATUS_OK)
        status = onnx_export_check(run, err);
    (void)snprintf(seq, sizeof seq, "%lld", (long long)checkpoint->seq);
    if (status == STATUS_OK) {
        onnx_note(onnx, "kind", job->kind);
        onnx_note(onnx, "job", job->id);
        onnx_note(onnx, "checkpoint", seq);
        onnx_note(onnx, "config", job->config);
        status = onnx_encode(onnx, job->kind, &x->response->body, err);
    }
    onnx_destroy(onnx);
    return status;
}

static void respond_model(struct exchange *x, const struct storage_job *job,
                          const struct storage_checkpoint *checkpoint, const struct method *method)
{
    struct error err;
    char hex[HASH_TEXT], etag[HASH_TEXT + 8];
    error_clear(&err);
    hash_hex(checkpoint->sha256, hex);
    (void)snprintf(etag, sizeof etag, "\"%s\"", hex);
    if (respond_not_modified(x, etag))
        return;
    struct query_run run;
    if (!queries_enter(x, false, &run))
        return;
    enum status status = onnx_export_encode(x, &run, job, checkpoint, method, &err);
    queries_leave(&run);
    if (status != STATUS_OK) {
        buf_clear(&x->response->body);
        if (status == STATUS_CANCELLED)
            queries_respond_stopped(&run);
        else
            respond_error(x, &err);
        return;
    }
    response_header(x->response, "X-Checkpoint", "%lld", (long long)checkpoint->seq);
    response_header(x->response, "Content-Disposition", "attachment; filename=\"%s-%lld.onnx\"", job->id,
                    (long long)checkpoint->seq);
    respond_body(x, 200, "application/octet-stream");
}

void onnx_show(struct exchange *x)
{
    struct storage_job job;
    struct storage_checkpoint checkpoint;
    if (!exchange_job(x, &job))
        return;
    const struct method *method = api_method(x->api, job.kind);
    if (method == NULL || method->graph == NULL || method->open == NULL) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Models of kind %s cannot be exported as ONNX.", job.kind);
        return;
    }
    if (exchange_checkpoint(x, &job, &checkpoint))
        respond_model(x, &job, &checkpoint, method);
}
