/* Requests to the daemon: encodes reports, files and checkpoints, repeats a request until the daemon answers, and
 * reads the requested state from the answers. */
#include "trainer/remote/remote_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "protocol/json_sink.h"
#include "trainer/run.h"

#define PAUSE_FIRST_MS 100
#define PAUSE_MOST_MS 2000
#define REPORT_BYTES ((size_t)1 << 20)

/* ---- one request ------------------------------------------------------------------------------------- */

static void pause_ms(int ms)
{
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000}, NULL);
}

cJSON *message_json(const struct http_answer *answer)
{
    cJSON *root = NULL;
    if (answer->body.data == NULL || json_parse(answer->body.data, answer->body.size, &root, NULL))
        return NULL;
    return root;
}

static enum status refused(const struct http_answer *answer, struct error *err)
{
    cJSON *root = message_json(answer);
    const cJSON *detail = cJSON_GetObjectItemCaseSensitive(root, "detail");
    enum status status = error_set(err, answer->status == 404 ? STATUS_NOT_FOUND : STATUS_INVALID, NULL,
                                   "the daemon refuses (%ld): %.200s", answer->status,
                                   cJSON_IsString(detail) ? detail->valuestring : "no reason given");
    cJSON_Delete(root);
    return status;
}

static enum status give_up(struct remote *remote, const char *why, struct error *err)
{
    atomic_store(&remote->lost, true);
    return error_set(err, STATUS_CANCELLED, NULL, "%s", why);
}

static bool within_patience(struct remote *remote, const double *since)
{
    (void)pthread_mutex_lock(&remote->lock);
    bool yes = run_now() - *since < remote->options.patience_s && !remote->closing;
    (void)pthread_mutex_unlock(&remote->lock);
    return yes;
}

/* True for an answer after which the same request may succeed later. */
static bool is_temporary(long status)
{
    return status == 429 || status >= 500;
}

enum status remote_call(struct remote *remote, struct http *http, const struct http_request *request,
                        struct http_answer *answer, struct error *err)
{
    for (int pause = PAUSE_FIRST_MS;; pause = pause * 2 < PAUSE_MOST_MS ? pause * 2 : PAUSE_MOST_MS) {
        struct error failure = {0};
        if (atomic_load(&remote->lost)) {
            buf_init(&answer->body, 0);
            return error_set(err, STATUS_CANCELLED, NULL, "the lease is lost");
        }
        bool answered = !http_call(http, request, answer, &failure);
        if (answered && !is_temporary(answer->status)) {
            (void)pthread_mutex_lock(&remote->lock);
            remote->last_answer = run_now();
            (void)pthread_mutex_unlock(&remote->lock);
            if (answer->status == 401 || answer->status == 409)
                return give_up(remote, "another trainer has taken over, or the run was ended", err);
            return answer->status < 300 ? STATUS_OK : refused(answer, err);
        }
        if (!within_patience(remote, &remote->last_answer))
            return give_up(remote, "the daemon does not answer", err);
        http_answer_close(answer);
        pause_ms(pause);
    }
}

/* ---- messages ---------------------------------------------------------------------------------------- */

static void write_value(struct buf *out, double value)
{
    if (isinf(value))
        buf_text(out, value > 0 ? "\"inf\"" : "\"-inf\"");
    else
        json_write_number(out, value); /* NaN becomes null */
}

/* Groups the points of a report by series. The points are stored in the order in which they were measured. */
static void write_series(struct buf *out, const struct message *message)
{
    bool *written = calloc(message->count + 1, sizeof *written);
    out->failed = out->failed || written == NULL;
    buf_text(out, "{");
    for (size_t i = 0, series = 0; written != NULL && i < message->count; i++) {
        if (written[i])
            continue;
        buf_text(out, series++ > 0 ? "," : "");
        json_write_text(out, message->points[i].name);
        buf_text(out, ":[");
        for (size_t j = i; j < message->count; j++) {
            if (!written[j] && strcmp(message->points[j].name, message->points[i].name) == 0) {
                buf_format(out, "%s[%lld,", j > i ? "," : "", (long long)message->points[j].step);
                write_value(out, message->points[j].value);
                buf_text(out, "]");
                written[j] = true;
            }
        }
        buf_text(out, "]");
    }
    buf_text(out, "}");
    free(written);
}

static void write_report(struct buf *out, const struct message *message)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    buf_format(out,
               "{\"sequence\":%lld,\"steps\":%llu,\"samples\":%llu,\"step_seconds\":", (long long)message->sequence,
               (unsigned long long)message->steps, (unsigned long long)message->samples);
    json_write_number(out, message->step_seconds);
    buf_text(out, ",\"gflops\":");
    json_write_number(out, message->gflops);
    if (message->progress != NULL) {
        buf_text(out, ",\"progress\":");
        json_write_text(out, message->progress);
    }
    buf_text(out, ",\"lines\":[");
    for (int i = 0; i < message->line_count; i++) {
        buf_format(out, "%s[\"%s\",", i > 0 ? "," : "", levels[message->lines[i].level]);
        json_write_text(out, message->lines[i].text);
        buf_text(out, "]");
    }
    buf_text(out, "],\"series\":");
    write_series(out, message);
    buf_text(out, "}");
}

/* Reads the requested state from the answer to a report; null means that the run continues. */
static void read_request(struct remote *remote, const struct http_answer *answer)
{
    cJSON *root = message_json(answer);
    const cJSON *requested = cJSON_GetObjectItemCaseSensitive(root, "requested_state");
    if (cJSON_IsString(requested) || cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "draining")))
        atomic_store(&remote->yield, true);
    if (cJSON_IsString(requested) && strcmp(requested->valuestring, "cancelled") == 0)
        atomic_store(&remote->cancelled, true);
    cJSON_Delete(root);
}

static enum status send_report(struct remote *remote, const struct message *message, struct error *err)
{
    struct http_answer answer;
    struct buf body;
    char path[128];
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/run/reports?epoch=%lld", remote->options.job,
                   (long long)remote->epoch);
    buf_init(&body, REPORT_BYTES);
    write_report(&body, message);
    if (body.failed) {
        bool full = body.full;
        buf_close(&body);
        return error_set(err, full ? STATUS_LIMIT : STATUS_NO_MEMORY, NULL,
                         full ? "a report is too large" : "not enough memory for a report");
    }
    struct http_request request = {.method = "POST", .path = path, .body = body.data, .body_bytes = body.size};
    enum status status = remote_call(remote, remote->sender_http, &request, &answer, err);
    if (!status)
        read_request(remote, &answer);
    http_answer_close(&answer);
    buf_close(&body);
    return status;
}

static enum status send_artifact(struct remote *remote, const struct message *message, struct error *err)
{
    struct http_answer answer;
    struct buf path;
    buf_init(&path, 1024);
    buf_format(&path, "/v1/jobs/%s/run/artifacts/%s?epoch=%lld&type=", remote->options.job, message->name,
               (long long)remote->epoch);
    http_escape(&path, message->type);
    enum status status = buf_status(&path, "the name of a file", err);
    if (status)
        return status;
    struct http_request request = {.method = "PUT",
                                   .path = path.data,
                                   .body = message->body.data,
                                   .body_bytes = message->body.size,
                                   .type = "application/octet-stream"};
    status = remote_call(remote, remote->sender_http, &request, &answer, err);
    http_answer_close(&answer);
    buf_close(&path);
    return status;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------- */

struct upload {
    int64_t received, seq; /* from the daemon's last answer: number of bytes that have arrived; sequence number of the
                              checkpoint, 0 until it is stored */
    double moved;          /* monotonic seconds of the last answer that accepted bytes */
    int pause;             /* milliseconds before the next try, if the last try made no progress */
};

/* Reads from an answer how many bytes the daemon has received. The answer is invalid if it reports more than `most`
 * bytes, or if it reports all bytes but not the sequence number of the stored checkpoint. */
static bool read_received(const struct http_answer *answer, size_t most, struct upload *upload)
{
    cJSON *root = message_json(answer);
    const cJSON *got = cJSON_GetObjectItemCaseSensitive(root, "received"),
                *number = cJSON_GetObjectItemCaseSensitive(root, "seq");
    bool ok = cJSON_IsNumber(got) && cJSON_IsNumber(number) && got->valuedouble >= 0 && number->valuedouble >= 0 &&
              number->valuedouble < 0x1p53 &&
              (number->valuedouble > 0 ? got->valuedouble <= (double)most : got->valuedouble < (double)most);
    upload->received = ok ? (int64_t)got->valuedouble : 0;
    upload->seq = ok ? (int64_t)number->valuedouble : 0;
    cJSON_Delete(root);
    return ok;
}

static void write_announcement(struct buf *out, const struct message *message)
{
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    hash_bytes(message->body.data, message->body.size, digest);
    hash_hex(digest, hex);
    buf_format(out, "{\"step\":%lld,\"samples\":%lld,\"stage_end\":%s,\"bytes\":%zu,\"sha256\":\"%s\",\"density\":",
               (long long)message->what.step, (long long)message->what.samples,
               message->what.stage_end ? "true" : "false", message->body.size, hex);
    json_write_number(out, message->what.density);
    buf_text(out, ",\"accuracy\":");
    json_write_number(out, message->what.accuracy);
    buf_text(out, "}");
}

/* Sends one message of an upload: the announcement, or a piece of the bytes. */
static enum status send_part(struct remote *remote, const struct http_request *request, size_t most,
                             struct upload *upload, struct error *err)
{
    struct http_answer answer;
    int64_t before = upload->received;
    enum status status = remote_call(remote, remote->sender_http, request, &answer, err);
    if (!status && !read_received(&answer, most, upload))
        status = error_set(err, STATUS_CORRUPT, NULL, "the daemon's answer to a checkpoint is not understood");
    if (!status && (upload->seq > 0 || upload->received > before)) {
        upload->moved = run_now();
        upload->pause = PAUSE_FIRST_MS;
    }
    http_answer_close(&answer);
    return status;
}

/* Waits before the next try. Fails if the daemon has accepted no bytes for patience_s seconds. remote_call() does not
 * notice this case, because the daemon still answers. */
static enum status wait_for_progress(struct remote *remote, struct upload *upload, struct error *err)
{
    if (!within_patience(remote, &upload->moved))
        return give_up(remote, "the daemon accepts no bytes of a checkpoint", err);
    pause_ms(upload->pause);
    upload->pause = upload->pause * 2 < PAUSE_MOST_MS ? upload->pause * 2 : PAUSE_MOST_MS;
    return STATUS_OK;
}

static enum status send_pieces(struct remote *remote, const struct message *message, struct upload *upload,
                               struct error *err)
{
    while (upload->seq == 0) {
        char path[160];
        int64_t before = upload->received;
        size_t left = message->body.size - (size_t)before;
        (void)snprintf(path, sizeof path, "/v1/jobs/%s/run/upload?epoch=%lld&offset=%lld", remote->options.job,
                       (long long)remote->epoch, (long long)before);
        struct http_request request = {.method = "PUT",
                                       .path = path,
                                       .body = message->body.data + before,
                                       .body_bytes = left < REMOTE_PIECE ? left : REMOTE_PIECE,
                                       .type = "application/octet-stream"};
        struct error failure = {0};
        enum status status = send_part(remote, &request, message->body.size, upload, &failure);
        if (status == STATUS_NOT_FOUND) /* the daemon was restarted and no longer has the announcement */
            return wait_for_progress(remote, upload, err);
        if (status)
            return error_set(err, status, NULL, "%s", failure.message);
        if (upload->seq == 0 && upload->received <= before && wait_for_progress(remote, upload, err))
            return STATUS_CANCELLED;
    }
    return STATUS_OK;
}

static enum status send_checkpoint(struct remote *remote, const struct message *message, struct error *err)
{
    struct buf body;
    char path[128];
    struct upload upload = {.moved = run_now(), .pause = PAUSE_FIRST_MS};
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/run/checkpoints?epoch=%lld", remote->options.job,
                   (long long)remote->epoch);
    buf_init(&body, 4096);
    write_announcement(&body, message);
    struct http_request request = {.method = "POST", .path = path, .body = body.data, .body_bytes = body.size};
    enum status status =
        body.failed ? error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to announce a checkpoint") : STATUS_OK;
    while (!status && upload.seq == 0) {
        status = send_part(remote, &request, message->body.size, &upload, err);
        if (!status)
            status = send_pieces(remote, message, &upload, err);
    }
    buf_close(&body);
    return status;
}

enum status message_send(struct remote *remote, const struct message *message, struct error *err)
{
    switch (message->kind) {
    case MESSAGE_REPORT:
        return send_report(remote, message, err);
    case MESSAGE_ARTIFACT:
        return send_artifact(remote, message, err);
    default:
        return send_checkpoint(remote, message, err);
    }
}
