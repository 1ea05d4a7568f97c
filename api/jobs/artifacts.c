/* Artifacts: pictures and tables that a method has stored in addition to its result. */
#include <stdio.h>

#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/jobs/jobs.h"
#include "core/base/hash.h"
#include "storage/storage.h"

void artifacts_list(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    struct storage_job job;
    struct storage_artifact *artifacts;
    size_t count;
    if (!exchange_job(x, &job))
        return;
    if (storage_artifact_list(x->api->options.storage, job.id, &x->arena, &artifacts, &count, &err)) {
        respond_error(x, &err);
        return;
    }
    const struct sink *out = x->out;
    sink_begin_object(out, NULL);
    sink_begin_list(out, "artifacts");
    for (size_t i = 0; i < count; i++) {
        char path[192];
        (void)snprintf(path, sizeof path, "/v1/jobs/%s/artifacts/%s", job.id, artifacts[i].name);
        sink_begin_object(out, NULL);
        sink_text(out, "name", artifacts[i].name);
        sink_text(out, "media_type", artifacts[i].media_type);
        sink_integer(out, "bytes", artifacts[i].bytes);
        sink_time(out, "created_at", artifacts[i].created_at);
        sink_text(out, "href", path);
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_end_object(out);
    respond_json(x, 200);
}

void artifacts_get(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    struct storage_job job;
    struct storage_artifact artifact;
    const void *bytes;
    const char *name = exchange_param(x, "name");
    if (!exchange_job(x, &job))
        return;
    enum status status =
        storage_artifact_get(x->api->options.storage, job.id, name, &x->arena, &artifact, &bytes, &err);
    if (status == STATUS_NOT_FOUND || status == STATUS_INVALID) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Job %s has no artifact '%s'.", job.id, name);
        return;
    }
    if (status) {
        respond_error(x, &err);
        return;
    }
    buf_append(&x->response->body, bytes, (size_t)artifact.bytes);
    /* An SVG may contain scripts. This policy stops browsers from running them. */
    response_header(x->response, "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'");
    respond_body(x, 200, artifact.media_type);
}
