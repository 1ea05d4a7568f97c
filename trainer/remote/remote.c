/* The coordinator of a run whose daemon is another process: translates the run's calls into messages (remote.h). */
#include "trainer/remote/remote_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium/utils.h>

#include "core/base/grown.h"
#include "protocol/json_sink.h"
#include "core/base/parallel/timed_cond.h"
#include "trainer/run.h"

#define CHECKPOINT_MOST ((size_t)1 << 36)

/* ---- what a run sends -------------------------------------------------------------------------------- */

static enum status grow_points(struct message *report, struct error *err)
{
    struct remote_point *points = grown(report->points, report->count, sizeof *points);
    if (points == NULL)
        return error_memory(err, "points");
    report->points = points;
    return STATUS_OK;
}

static enum status take_metrics(void *context, const struct storage_metric *points, size_t count, struct error *err)
{
    struct remote *remote = context;
    enum status status = STATUS_OK;
    (void)pthread_mutex_lock(&remote->lock);
    for (size_t i = 0; !status && i < count; i++) {
        if (remote->pending->count == REMOTE_POINTS)
            status = remote_flush(remote, err);
        if (!status)
            status = grow_points(remote->pending, err);
        if (!status) {
            struct remote_point *point = &remote->pending->points[remote->pending->count++];
            (void)snprintf(point->name, sizeof point->name, "%s", points[i].name);
            point->step = points[i].point.step;
            point->value = points[i].point.value;
        }
    }
    while (!status && (int64_t)remote->queued_bytes > remote->options.buffer_bytes && !atomic_load(&remote->lost) &&
           !remote->failure.code)
        (void)pthread_cond_wait(&remote->change, &remote->lock);
    if (!status && remote->failure.code)
        status = error_set(err, remote->failure.code, NULL, "%s", remote->failure.message);
    (void)pthread_mutex_unlock(&remote->lock);
    return status;
}

static enum status take_progress(void *context, const char *document, struct error *err)
{
    struct remote *remote = context;
    char *copy = strdup(document);
    if (copy == NULL)
        return error_memory(err, "progress");
    (void)pthread_mutex_lock(&remote->lock);
    free(remote->pending->progress);
    remote->pending->progress = copy;
    (void)pthread_mutex_unlock(&remote->lock);
    return STATUS_OK;
}

static enum status take_artifact(void *context, const char *name, const char *media_type, const void *bytes,
                                 size_t count, struct error *err)
{
    struct message *message = calloc(1, sizeof *message);
    if (message == NULL)
        return error_memory(err, "a file");
    message->kind = MESSAGE_ARTIFACT;
    message->bytes = sizeof *message + count;
    (void)snprintf(message->name, sizeof message->name, "%s", name);
    (void)snprintf(message->type, sizeof message->type, "%s", media_type);
    buf_init(&message->body, STORAGE_ARTIFACT_BYTES);
    buf_append(&message->body, bytes, count);
    enum status status = buf_status(&message->body, "a file", err);
    if (status) {
        message_free(message);
        return status;
    }
    return remote_post(context, message, err);
}

static void remote_line(void *context, enum log_level level, const char *text)
{
    struct remote *remote = context;
    (void)pthread_mutex_lock(&remote->lock);
    struct message *report = remote->pending;
    if (report->line_count < REMOTE_LINES) { /* the other lines of this half second are dropped */
        report->lines[report->line_count].level = level;
        (void)snprintf(report->lines[report->line_count++].text, sizeof report->lines[0].text, "%s", text);
    }
    (void)pthread_mutex_unlock(&remote->lock);
}

static void remote_stepped(void *context, int64_t samples, double seconds, double gflops)
{
    struct remote *remote = context;
    (void)pthread_mutex_lock(&remote->lock);
    struct message *report = remote->pending;
    report->steps++;
    report->samples += (uint64_t)samples;
    report->step_seconds = seconds > report->step_seconds ? seconds : report->step_seconds;
    report->gflops = gflops > 0 ? gflops : report->gflops;
    (void)pthread_mutex_unlock(&remote->lock);
}

/* ---- writing checkpoints ----------------------------------------------------------------------------- */

static enum status write_bytes(void *context, const void *bytes, size_t count, struct error *err)
{
    struct message *message = context;
    buf_append(&message->body, bytes, count);
    return message->body.failed ? error_memory(err, "a checkpoint") : STATUS_OK;
}

static enum status save_begin(void *context, const struct storage_checkpoint_new *what, struct snapshot_writer *to,
                              struct error *err)
{
    struct remote *remote = context;
    struct message *message = remote->saving = calloc(1, sizeof *message);
    if (message == NULL)
        return error_memory(err, "a checkpoint");
    message->kind = MESSAGE_CHECKPOINT;
    message->what = *what;
    buf_init(&message->body, CHECKPOINT_MOST);
    *to = (struct snapshot_writer){.context = message, .write = write_bytes};
    return STATUS_OK;
}

static enum status save_commit(void *context, int64_t *seq, struct error *err)
{
    struct remote *remote = context;
    struct message *message = remote->saving;
    remote->saving = NULL;
    message->bytes = sizeof *message + message->body.size;
    *seq = 0;
    return remote_post(remote, message, err);
}

static void save_abandon(void *context, const struct error *why)
{
    struct remote *remote = context;
    message_free(remote->saving);
    remote->saving = NULL;
}

/* ---- reading checkpoints ----------------------------------------------------------------------------- */

/* Returns a value as an integer; 0 if it is not a 64-bit integer. */
static int64_t integer(const cJSON *value)
{
    return cJSON_IsNumber(value) && fabs(value->valuedouble) < 0x1p63 ? (int64_t)value->valuedouble : 0;
}

static void read_entry(const cJSON *item, struct storage_checkpoint *out)
{
    static const struct storage_checkpoint none = {.density = NAN, .accuracy = NAN};
    const cJSON *hex = cJSON_GetObjectItemCaseSensitive(item, "sha256"), *value;
    *out = none;
    const struct {
        const char *name;
        int64_t *to;
    } integers[] = {{"seq", &out->seq}, {"step", &out->step}, {"samples", &out->samples}, {"bytes", &out->bytes}};
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        value = cJSON_GetObjectItemCaseSensitive(item, integers[i].name);
        *integers[i].to = integer(value);
    }
    value = cJSON_GetObjectItemCaseSensitive(item, "density");
    out->density = cJSON_IsNumber(value) ? value->valuedouble : NAN;
    value = cJSON_GetObjectItemCaseSensitive(item, "accuracy");
    out->accuracy = cJSON_IsNumber(value) ? value->valuedouble : NAN;
    out->stage_end = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "stage_end"));
    if (cJSON_IsString(hex)) {
        (void)sodium_hex2bin(out->sha256, sizeof out->sha256, hex->valuestring, strlen(hex->valuestring), NULL, NULL,
                             NULL);
    }
}

static const char *of_name(enum run_of of)
{
    return of == RUN_OF_SOURCE ? "source" : "job";
}

static enum status remote_list(void *context, enum run_of of, struct arena *arena, struct storage_checkpoint **out,
                               size_t *count, struct error *err)
{
    struct remote *remote = context;
    struct http_answer answer;
    char path[128];
    enum status status = remote_settle(remote, err); /* wait until the daemon has stored all checkpoints */
    if (status)
        return status;
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/run/checkpoints?epoch=%lld&of=%s", remote->options.job,
                   (long long)remote->epoch, of_name(of));
    status = remote_call(remote, remote->http, &(struct http_request){.method = "GET", .path = path}, &answer, err);
    cJSON *root = status ? NULL : message_json(&answer);
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(root, "checkpoints"), *item;
    if (!status && !cJSON_IsArray(items))
        status = error_set(err, STATUS_CORRUPT, NULL, "the daemon's list of checkpoints is not understood");
    *count = 0;
    *out = status ? NULL : arena_zalloc(arena, (size_t)cJSON_GetArraySize(items) + 1, sizeof **out);
    if (!status && *out == NULL)
        status = error_memory(err, "a list of checkpoints");
    if (!status)
        cJSON_ArrayForEach (item, items)
            read_entry(item, &(*out)[(*count)++]);
    cJSON_Delete(root);
    http_answer_close(&answer);
    return status;
}

/* Discards the bytes that an interrupted transfer has delivered. */
static void discard_bytes(void *context, const struct http_answer *answer)
{
    (void)answer;
    buf_clear(context);
}

static bool keep_piece(void *context, const char *bytes, size_t count)
{
    struct buf *to = context;
    buf_append(to, bytes, count);
    return !to->failed;
}

static enum status read_bytes(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct buf *from = context;
    if (offset > from->size || count > from->size - offset)
        return error_set(err, STATUS_CORRUPT, NULL, "the checkpoint ends early");
    memcpy(bytes, from->data + offset, count);
    return STATUS_OK;
}

static void close_bytes(void *context, void *reader)
{
    struct buf *buf = reader;
    if (buf != NULL) {
        buf_close(buf);
        free(buf);
    }
}

/* Fetches all bytes of a checkpoint and compares them with the hash. Starts again if the transfer is interrupted. */
static enum status remote_fetch(struct remote *remote, enum run_of of, const struct storage_checkpoint *info,
                                struct buf *to, struct error *err)
{
    char path[160];
    unsigned char digest[HASH_BYTES];
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/run/checkpoints/%lld?epoch=%lld&of=%s", remote->options.job,
                   (long long)info->seq, (long long)remote->epoch, of_name(of));
    struct http_request request = {.method = "GET",
                                   .path = path,
                                   .accept = "application/octet-stream",
                                   .begins = discard_bytes,
                                   .piece = keep_piece,
                                   .context = to};
    for (int attempt = 0; attempt < 5; attempt++) {
        struct http_answer answer;
        buf_clear(to);
        enum status status = remote_call(remote, remote->http, &request, &answer, err);
        http_answer_close(&answer);
        if (status)
            return status;
        if (to->failed) {
            return to->full ? error_set(err, STATUS_CORRUPT, NULL, "checkpoint %lld is longer than announced",
                                        (long long)info->seq)
                            : error_memory(err, "a checkpoint");
        }
        hash_bytes(to->data != NULL ? to->data : "", to->size, digest);
        if (memcmp(digest, info->sha256, sizeof digest) == 0)
            return STATUS_OK;
    }
    return error_set(err, STATUS_CORRUPT, NULL, "checkpoint %lld arrived with other bytes than were stored",
                     (long long)info->seq);
}

static const struct storage_checkpoint *pick_from(const struct storage_checkpoint *entries, size_t count,
                                                  struct storage_checkpoint_pick pick)
{
    for (size_t i = count; i-- > 0;)
        if (pick.by == STORAGE_LATEST || (pick.by == STORAGE_SEQ && entries[i].seq == pick.seq))
            return &entries[i];
    return NULL;
}

static enum status open_checkpoint(void *context, enum run_of of, struct storage_checkpoint_pick pick, void **reader,
                                   struct snapshot_reader *from, struct storage_checkpoint *info, struct error *err)
{
    struct storage_checkpoint *entries;
    struct arena arena;
    size_t count;
    *reader = NULL;
    arena_init(&arena, 16384, 0);
    enum status status = remote_list(context, of, &arena, &entries, &count, err);
    const struct storage_checkpoint *found = status ? NULL : pick_from(entries, count, pick);
    struct buf *buf = found != NULL ? calloc(1, sizeof *buf) : NULL;
    if (!status && found == NULL)
        status = error_set(err, STATUS_NOT_FOUND, NULL, "no such checkpoint");
    else if (!status && buf == NULL)
        status = error_memory(err, "a checkpoint");
    if (!status) {
        buf_init(buf, (size_t)found->bytes);
        status = remote_fetch(context, of, found, buf, err);
    }
    if (!status) {
        *reader = buf;
        *from = (struct snapshot_reader){.context = buf, .total_bytes = (uint64_t)found->bytes, .read = read_bytes};
        if (info != NULL)
            *info = *found;
    } else {
        close_bytes(context, buf);
    }
    arena_close(&arena);
    return status;
}

/* Nothing to do: the daemon removed the points when the trainer registered. */
static enum status rewind_points(void *context, int64_t last_samples, struct error *err)
{
    return STATUS_OK;
}

/* ---- control and end ---------------------------------------------------------------------------------------------
 */

static bool must_yield(void *context)
{
    struct remote *remote = context;
    return atomic_load(&remote->yield) || atomic_load(&remote->lost) || atomic_load(remote->options.stop_requested);
}

static bool must_stop(void *context)
{
    struct remote *remote = context;
    return atomic_load(&remote->cancelled) || atomic_load(&remote->lost);
}

static bool remote_draining(void *context)
{
    struct remote *remote = context;
    return atomic_load(&remote->lost);
}

static void remote_leave(void *context, enum job_event event, const char *result, const char *error, double seconds)
{
    struct remote *remote = context;
    struct error err = {0};
    struct http_answer answer;
    struct buf body;
    char path[128];
    const char *document = event == JOB_EVENT_SUCCEED ? result : event == JOB_EVENT_FAIL ? error : NULL;
    if (atomic_load(&remote->cancelled))
        remote_drop_checkpoints(remote);
    (void)pthread_mutex_lock(&remote->lock);
    /* if the daemon has refused a message, the run has failed; this end must still be sent to the daemon */
    bool refused = remote->failure.code != STATUS_OK;
    (void)pthread_mutex_unlock(&remote->lock);
    if (remote_settle(remote, &err) && !refused)
        return;
    if (event == JOB_EVENT_YIELD && remote->options.requeued && !atomic_load(&remote->yield))
        return;
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/run/end?epoch=%lld", remote->options.job, (long long)remote->epoch);
    buf_init(&body, (size_t)16 << 20);
    buf_format(&body, "{\"end\":\"%s\"",
               event == JOB_EVENT_SUCCEED ? "succeeded"
               : event == JOB_EVENT_FAIL  ? "failed"
                                          : "yielded");
    if (document != NULL) {
        buf_text(&body, ",\"document\":");
        json_write_text(&body, document);
    }
    buf_text(&body, "}");
    struct http_request request = {.method = "POST", .path = path, .body = body.data, .body_bytes = body.size};
    if (!body.failed) {
        atomic_store(&remote->ended, !remote_call(remote, remote->http, &request, &answer, &err));
        http_answer_close(&answer);
    }
    buf_close(&body);
}

struct coordinator remote_coordinator(struct remote *remote)
{
    return (struct coordinator){
        .context = remote,
        .metrics = take_metrics,
        .progress = take_progress,
        .artifact = take_artifact,
        .save_begin = save_begin,
        .save_commit = save_commit,
        .save_abandon = save_abandon,
        .list = remote_list,
        .open = open_checkpoint,
        .close = close_bytes,
        .rewind = rewind_points,
        .must_yield = must_yield,
        .must_stop = must_stop,
        .draining = remote_draining,
        .stepped = remote_stepped,
        .line = remote_line,
        .leave = remote_leave,
    };
}

/* ---- registration
 * --------------------------------------------------------------------------------------------------------- */

static const char *copy_text(const cJSON *root, const char *name, struct arena *arena, bool *ok)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
    if (!cJSON_IsString(item))
        return NULL;
    size_t bytes = strlen(item->valuestring) + 1;
    char *copy = arena_zalloc(arena, bytes, 1);
    *ok = *ok && copy != NULL;
    return copy != NULL ? memcpy(copy, item->valuestring, bytes) : NULL;
}

static int64_t integer_of(const cJSON *root, const char *name)
{
    return integer(cJSON_GetObjectItemCaseSensitive(root, name));
}

static enum status read_job(struct remote *remote, const cJSON *root, struct arena *arena, struct storage_job *job,
                            struct error *err)
{
    bool ok = true;
    memset(job, 0, sizeof *job);
    (void)snprintf(job->id, sizeof job->id, "%s", remote->options.job);
    remote->epoch = integer_of(root, "epoch");
    job->state = JOB_RUNNING;
    job->kind = copy_text(root, "kind", arena, &ok);
    job->config = copy_text(root, "config", arena, &ok);
    job->params = copy_text(root, "params", arena, &ok);
    job->progress = copy_text(root, "progress", arena, &ok);
    job->source_job = copy_text(root, "source_job", arena, &ok);
    job->source_checkpoint = integer_of(root, "source_checkpoint");
    job->threads = (int)integer_of(root, "threads");
    job->ranks = (int)integer_of(root, "ranks");
    const cJSON *task = cJSON_GetObjectItemCaseSensitive(root, "task");
    job->task = cJSON_IsString(task) && strcmp(task->valuestring, "evaluate") == 0 ? JOB_EVALUATE : JOB_TRAIN;
    if (!ok)
        return error_memory(err, "the job");
    if (remote->epoch < 1 || job->kind == NULL || job->config == NULL || job->source_job == NULL)
        return error_set(err, STATUS_CORRUPT, NULL, "the daemon's answer is not understood");
    return STATUS_OK;
}

static enum status register_trainer(struct remote *remote, struct arena *arena, struct storage_job *job,
                                    struct error *err)
{
    struct http_answer answer;
    char path[96];
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/run", remote->options.job);
    enum status status =
        remote_call(remote, remote->http, &(struct http_request){.method = "POST", .path = path}, &answer, err);
    if (!status) {
        cJSON *root = message_json(&answer);
        status = read_job(remote, root, arena, job, err);
        cJSON_Delete(root);
    }
    http_answer_close(&answer);
    return status;
}

/* Makes the empty queue. */
static bool make_queue(struct remote *remote)
{
    remote->tail = &remote->head;
    remote->pending = calloc(1, sizeof *remote->pending);
    if (remote->pending != NULL && timed_lock_init(&remote->lock, &remote->work, &remote->change))
        return true;
    free(remote->pending);
    return false;
}

enum status remote_open(const struct remote_options *options, struct arena *arena, struct remote **out,
                        struct storage_job *job, struct error *err)
{
    struct remote *remote = *out = calloc(1, sizeof *remote);
    if (remote == NULL || !make_queue(remote)) {
        free(remote);
        *out = NULL;
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    }
    remote->options = *options;
    remote->last_answer = run_now();
    enum status status = http_create(options->server, options->token, &remote->http, err);
    if (!status)
        status = http_create(options->server, options->token, &remote->sender_http, err);
    if (!status)
        status = register_trainer(remote, arena, job, err);
    return status ? status : remote_start(remote, err);
}

bool remote_ended(struct remote *remote)
{
    return atomic_load(&remote->ended);
}

void remote_close(struct remote *remote)
{
    if (remote == NULL)
        return;
    remote_stop(remote);
    while (remote->head != NULL) {
        struct message *message = remote->head;
        remote->head = message->next;
        message_free(message);
    }
    message_free(remote->pending);
    message_free(remote->saving);
    http_destroy(remote->http);
    http_destroy(remote->sender_http);
    (void)pthread_cond_destroy(&remote->work);
    (void)pthread_cond_destroy(&remote->change);
    (void)pthread_mutex_destroy(&remote->lock);
    free(remote);
}
