/* GET /v1/jobs/{id}/bundle: builds the file of a job (bundle.h) in memory. */
#include "api/transfer/bundle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/jobs/checkpoint_pick.h"
#include "api/jobs/job_document.h"
#include "api/transfer/attestation.h"
#include "api/transfer/transfer.h"
#include "api/rights/caller.h"
#include "core/base/hash.h"

#define PIECE (1u << 20)
#define SLACK (1u << 20) /* bytes that the list of members in the manifest may take */

struct making {
    struct exchange *x;
    struct storage_job job;
    struct storage_checkpoint *checkpoints; /* the checkpoints of the bundle */
    size_t count;
    struct buf metrics, manifest;
};

static enum status bundle_choose(struct making *m, struct error *err)
{
    struct exchange *x = m->x;
    const char *wanted = exchange_query(x, "checkpoints");
    struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
    if (wanted != NULL && strcmp(wanted, "all") == 0)
        return storage_checkpoint_list(x->api->options.storage, m->job.id, &x->arena, &m->checkpoints, &m->count, err);
    (void)(wanted != NULL && checkpoint_pick_text(wanted, &pick)); /* bundle_show() has checked `wanted` */
    m->count = 1;
    m->checkpoints = arena_zalloc(&x->arena, 1, sizeof *m->checkpoints);
    if (m->checkpoints == NULL)
        return error_memory(err, "a bundle");
    return storage_checkpoint_find(x->api->options.storage, m->job.id, pick, m->checkpoints, err);
}

/* Checks that a document of the bundle is complete. large: the error message for a document that exceeds its limit. */
static enum status bundle_text(const struct json_sink *json, const struct buf *out, const char *large,
                               struct error *err)
{
    if (json_sink_done(json))
        return STATUS_OK;
    return out->failed && !out->full ? error_memory(err, "a bundle")
                                     : error_set(err, STATUS_CONFLICT, NULL, "%s", large);
}

static enum status write_metrics(struct making *m, struct error *err)
{
    struct exchange *x = m->x;
    struct storage_metric_query query = {.since = INT64_MIN};
    struct storage_series *series;
    size_t count;
    struct json_sink json;
    enum status status =
        storage_metric_read(x->api->options.storage, m->job.id, &query, &x->arena, &series, &count, err);
    if (status)
        return status;
    json_sink_init(&json, &m->metrics);
    sink_begin_object(&json.sink, NULL);
    for (size_t i = 0; i < count; i++)
        series_write(&json.sink, &series[i]);
    sink_end_object(&json.sink);
    return bundle_text(&json, &m->metrics, "the job has too many metrics for a bundle", err);
}

static void write_member(const struct sink *out, const char *name, int64_t bytes,
                         const unsigned char digest[HASH_BYTES], double accuracy)
{
    char hex[HASH_TEXT];
    hash_hex(digest, hex);
    sink_begin_object(out, NULL);
    sink_text(out, "name", name);
    sink_integer(out, "bytes", bytes);
    sink_text(out, "sha256", hex);
    sink_number(out, "accuracy", accuracy);
    sink_end_object(out);
}

static void name_stream(const struct storage_checkpoint *checkpoint, char name[SNAPSHOT_NAME])
{
    (void)snprintf(name, SNAPSHOT_NAME, "checkpoint.%lld", (long long)checkpoint->seq);
}

/* Writes the newest evaluation of the job, or null. */
static enum status write_evaluation(struct making *m, struct error *err)
{
    const struct viewer viewer = caller_viewer(m->x);
    struct storage_job_filter filter = {.viewer = &viewer,
                                        .by_state = true,
                                        .state = JOB_SUCCEEDED,
                                        .by_task = true,
                                        .task = JOB_EVALUATE,
                                        .source_job = m->job.id,
                                        .limit = 1};
    struct storage_job *jobs;
    size_t count;
    bool more;
    enum status status = storage_job_list(m->x->api->options.storage, &filter, &m->x->arena, &jobs, &count, &more, err);
    if (!status)
        stored_json(&m->x->json, "evaluation", count > 0 ? jobs[0].result : NULL);
    return status;
}

static enum status write_manifest(struct making *m, struct error *err)
{
    struct exchange *x = m->x;
    unsigned char digest[HASH_BYTES];
    char name[SNAPSHOT_NAME];
    const struct sink *out = x->out;
    json_sink_init(&x->json, &m->manifest);
    sink_begin_object(out, NULL);
    enum status status = attestation_write(x, "attestation", &m->job, err);
    if (!status)
        status = write_evaluation(m, err);
    sink_text(out, "name", m->job.name);
    stored_json(&x->json, "result", m->job.result);
    sink_begin_list(out, "members");
    hash_bytes(m->metrics.data, m->metrics.size, digest);
    write_member(out, "metrics", (int64_t)m->metrics.size, digest, NAN);
    for (size_t i = 0; i < m->count; i++) {
        name_stream(&m->checkpoints[i], name);
        write_member(out, name, m->checkpoints[i].bytes, m->checkpoints[i].sha256, m->checkpoints[i].accuracy);
    }
    sink_end_list(out);
    sink_end_object(out);
    if (!status)
        status = bundle_text(&x->json, &m->manifest, "the manifest of the job is too large for a bundle", err);
    json_sink_init(&x->json, &x->response->body);
    return status;
}

static enum status write_head(const struct making *m, struct buf *out, struct error *err)
{
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    struct snapshot_entry *entries = arena_zalloc(&m->x->arena, m->count + 1, sizeof *entries);
    if (entries == NULL)
        return error_memory(err, "a bundle");
    for (size_t i = 0; i <= m->count; i++) {
        entries[i] = (struct snapshot_entry){.name = "metrics",
                                             .type = SNAPSHOT_U8,
                                             .role = SNAPSHOT_WEIGHT,
                                             .rank = 1,
                                             .bytes = i == 0 ? m->metrics.size : (uint64_t)m->checkpoints[i - 1].bytes};
        entries[i].dim[0] = entries[i].bytes;
        if (i > 0)
            name_stream(&m->checkpoints[i - 1], entries[i].name);
    }
    hash_bytes(m->manifest.data, m->manifest.size, digest);
    hash_hex(digest, hex);
    const struct safetensors_note notes[] = {
        {"format", BUNDLE_FORMAT}, {"manifest", m->manifest.data}, {"manifest_sha256", hex}};
    return safetensors_head(entries, m->count + 1, notes, sizeof notes / sizeof notes[0], out, err);
}

static enum status append_stream(const struct making *m, const struct storage_checkpoint *checkpoint, struct buf *out,
                                 struct error *err)
{
    struct storage_checkpoint_reader *reader = NULL;
    struct storage_checkpoint_pick pick = {.by = STORAGE_SEQ, .seq = checkpoint->seq};
    char *piece = arena_alloc(&m->x->arena, PIECE);
    if (piece == NULL)
        return error_memory(err, "a bundle");
    enum status status = storage_checkpoint_open(m->x->api->options.storage, m->job.id, pick, &reader, NULL, err);
    for (int64_t at = 0; !status && at < checkpoint->bytes; at += PIECE) {
        size_t some = checkpoint->bytes - at < PIECE ? (size_t)(checkpoint->bytes - at) : PIECE;
        status = storage_checkpoint_read(reader, (uint64_t)at, piece, some, err);
        buf_append(out, piece, !status ? some : 0);
    }
    storage_checkpoint_close(reader);
    return status;
}

static enum status make(struct making *m, struct buf *out, struct error *err)
{
    int64_t bytes = SLACK, most = m->x->api->options.import_bytes;
    most = most < API_DOCUMENT_MAX ? most : API_DOCUMENT_MAX;
    enum status status = bundle_choose(m, err);
    for (size_t i = 0; !status && i < m->count; i++)
        bytes += m->checkpoints[i].bytes;
    if (!status && m->count == 0)
        status = error_set(err, STATUS_CONFLICT, NULL, "the job has no checkpoint yet");
    if (!status && bytes > most) {
        status = error_set(err, STATUS_CONFLICT, NULL,
                           "the checkpoints together exceed the size of a bundle (%lld MiB): export one checkpoint",
                           (long long)(most >> 20));
    }
    if (!status)
        status = write_metrics(m, err);
    if (!status)
        status = write_manifest(m, err);
    if (!status)
        status = write_head(m, out, err);
    if (!status)
        buf_append(out, m->metrics.data, m->metrics.size);
    for (size_t i = 0; !status && i < m->count; i++)
        status = append_stream(m, &m->checkpoints[i], out, err);
    return !status && out->failed ? error_memory(err, "a bundle") : status;
}

void bundle_show(struct exchange *x)
{
    struct making m = {.x = x};
    struct error err;
    error_clear(&err);
    struct storage_checkpoint_pick pick;
    const char *wanted = exchange_query(x, "checkpoints");
    if (wanted != NULL && strcmp(wanted, "all") != 0 && !checkpoint_pick_text(wanted, &pick)) {
        respond_problem(x, PROBLEM_BAD_QUERY, "checkpoints: must be all, or one checkpoint: " CHECKPOINT_PICK_RULE ".");
        return;
    }
    if (!exchange_job(x, &m.job))
        return;
    buf_init(&m.metrics, 32u << 20);
    buf_init(&m.manifest, 8u << 20);
    if (m.job.task == JOB_EVALUATE) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Job %s is an evaluation and has no bundle; job %s has one.", m.job.id,
                        m.job.source_job);
    } else if (make(&m, &x->response->body, &err)) {
        buf_clear(&x->response->body);
        respond_error(x, &err);
    } else {
        response_header(x->response, "Content-Disposition", "attachment; filename=\"%s.bundle\"", m.job.id);
        respond_body(x, 200, "application/octet-stream");
    }
    buf_close(&m.metrics);
    buf_close(&m.manifest);
}
