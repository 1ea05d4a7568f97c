/* The checkpoints of a job: their list, and the download of one checkpoint's weights as safetensors, with ranges. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/formats/safetensors.h"
#include "api/http/exchange.h"
#include "api/jobs/checkpoint_pick.h"
#include "api/jobs/job_document.h"
#include "api/jobs/jobs.h"
#include "core/base/hash.h"
#include "storage/storage.h"

void checkpoints_list(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    struct storage_job job;
    struct storage_checkpoint *checkpoints;
    size_t count;
    if (!exchange_job(x, &job))
        return;
    if (storage_checkpoint_list(x->api->options.storage, job.id, &x->arena, &checkpoints, &count, &err)) {
        respond_error(x, &err);
        return;
    }
    const struct sink *out = x->out;
    sink_begin_object(out, NULL);
    sink_begin_list(out, "checkpoints");
    for (size_t i = 0; i < count; i++) {
        const struct storage_checkpoint *c = &checkpoints[i];
        char hex[HASH_TEXT], path[96];
        hash_hex(c->sha256, hex);
        (void)snprintf(path, sizeof path, "/v1/jobs/%s/checkpoints/%lld", job.id, (long long)c->seq);
        sink_begin_object(out, NULL);
        sink_integer(out, "seq", c->seq);
        sink_integer(out, "step", c->step);
        sink_integer(out, "samples", c->samples);
        sink_number(out, "density", c->density);
        sink_number(out, "accuracy", c->accuracy);
        sink_integer(out, "bytes", c->bytes);
        sink_text(out, "sha256", hex);
        sink_boolean(out, "stage_end", c->stage_end);
        sink_boolean(out, "pinned", c->pinned);
        sink_time(out, "created_at", c->created_at);
        sink_text(out, "href", path);
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_end_object(out);
    respond_json(x, 200);
}

/* The state of a response that streams weights; it exists until the response is closed. */
struct download {
    struct log_hook log;
    struct storage_checkpoint_reader *reader;
    struct safetensors *file;
    uint64_t first; /* offset of the response's body in the file */
    uint64_t bytes; /* length of the response's body */
    char id[API_REQUEST_ID];
};

static size_t download_read(void *context, uint64_t offset, void *to, size_t count)
{
    struct download *download = context;
    struct error err;
    error_clear(&err);
    if (offset >= download->bytes)
        return 0;
    uint64_t left = download->bytes - offset;
    count = left < count ? (size_t)left : count;
    if (safetensors_read(download->file, download->first + offset, to, count, &err)) {
        log_line(&download->log, LOG_LEVEL_ERROR, "request %s: reading a checkpoint failed: %s", download->id,
                 err.message);
        return 0;
    }
    return count;
}

static void download_close(void *context)
{
    struct download *download = context;
    if (download != NULL) {
        safetensors_close(download->file);
        storage_checkpoint_close(download->reader);
        free(download);
    }
}

static enum status open_download(struct exchange *x, const struct storage_job *job, int64_t seq, struct download **out,
                                 struct error *err)
{
    struct download *download = *out = calloc(1, sizeof *download);
    if (download == NULL)
        return error_memory(err, "a download");
    download->log = x->api->options.log;
    memcpy(download->id, x->response->id, sizeof download->id);
    struct storage_checkpoint info;
    struct storage_checkpoint_pick pick = {.by = STORAGE_SEQ, .seq = seq};
    enum status status = storage_checkpoint_open(x->api->options.storage, job->id, pick, &download->reader, &info, err);
    if (status)
        return status;
    char number[24], step[24], samples[24], density[32], accuracy[32];
    (void)snprintf(number, sizeof number, "%lld", (long long)info.seq);
    (void)snprintf(step, sizeof step, "%lld", (long long)info.step);
    (void)snprintf(samples, sizeof samples, "%lld", (long long)info.samples);
    (void)snprintf(density, sizeof density, "%.17g", info.density);
    (void)snprintf(accuracy, sizeof accuracy, "%.17g", info.accuracy);
    struct safetensors_note notes[10] = {{"format", "motifd"},    {"kind", job->kind}, {"preset", job->preset},
                                         {"config", job->config}, {"job", job->id},    {"checkpoint", number},
                                         {"step", step},          {"samples", samples}};
    size_t count = 8;
    if (isfinite(info.density))
        notes[count++] = (struct safetensors_note){"density", density};
    if (isfinite(info.accuracy))
        notes[count++] = (struct safetensors_note){"accuracy", accuracy};
    struct snapshot_reader from = {download->reader, (uint64_t)info.bytes, storage_checkpoint_read};
    return safetensors_open(&from, notes, count, &download->file, err);
}

/* Sets status, range and body of the response from an open download. */
static void respond_download(struct exchange *x, struct download *download, const char *etag)
{
    struct api_response *response = x->response;
    uint64_t total = safetensors_bytes(download->file), first = 0, last = total - 1;
    const char *range = exchange_header(x, "Range"), *condition = exchange_header(x, "If-Range");
    if (condition != NULL && strcmp(condition, etag) != 0)
        range = NULL; /* the client has a part of another version of the file, so it gets the whole file */
    enum range kind = range_parse(range, total, &first, &last);
    if (kind == RANGE_NOT_SATISFIABLE) {
        download_close(download);
        respond_problem(x, PROBLEM_RANGE, "The file has %llu bytes.", (unsigned long long)total);
        response_header(response, "Content-Range", "bytes */%llu", (unsigned long long)total);
        return;
    }
    response->status = 200;
    if (kind == RANGE_PART) {
        response->status = 206;
        response_header(response, "Content-Range", "bytes %llu-%llu/%llu", (unsigned long long)first,
                        (unsigned long long)last, (unsigned long long)total);
    } else {
        first = 0;
        last = total - 1;
    }
    download->first = first;
    download->bytes = last - first + 1;
    response->read = download_read;
    response->read_close = download_close;
    response->read_context = download;
    response->read_bytes = download->bytes;
    response_header(response, "Content-Type", "application/octet-stream");
}

void checkpoints_get(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    struct storage_job job;
    struct storage_checkpoint info;
    struct storage_checkpoint_pick pick;
    const char *text = exchange_param(x, "seq");
    if (!exchange_job(x, &job))
        return;
    if (!checkpoint_pick_text(text, &pick)) {
        respond_problem(x, PROBLEM_NOT_FOUND, "A checkpoint is named by its sequence number or by latest.");
        return;
    }
    enum status status = storage_checkpoint_find(x->api->options.storage, job.id, pick, &info, &err);
    if (status == STATUS_NOT_FOUND) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Job %s has no checkpoint '%s'.", job.id, text);
        return;
    }
    if (status) {
        respond_error(x, &err);
        return;
    }
    char hex[HASH_TEXT], etag[HASH_TEXT + 8];
    hash_hex(info.sha256, hex);
    (void)snprintf(etag, sizeof etag, "\"%s\"", hex);
    response_header(x->response, "Accept-Ranges", "bytes");
    response_header(x->response, "Content-Location", "/v1/jobs/%s/checkpoints/%lld", job.id, (long long)info.seq);
    response_header(x->response, "Cache-Control", "%s",
                    pick.by == STORAGE_SEQ ? "private, max-age=31536000, immutable" : "no-cache");
    if (respond_not_modified(x, etag))
        return;
    struct download *download;
    if (open_download(x, &job, info.seq, &download, &err)) {
        download_close(download);
        respond_error(x, &err);
        return;
    }
    response_header(x->response, "Content-Disposition", "attachment; filename=\"%s-%lld.safetensors\"", job.id,
                    (long long)info.seq);
    respond_download(x, download, etag);
}
