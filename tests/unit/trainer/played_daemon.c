/* The played daemon (played_daemon.h). */
#include "tests/unit/trainer/played_daemon.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "protocol/http_client.h"
#include "protocol/json.h"
#include "core/base/hash.h"

struct http {
    int unused;
};

struct played_daemon played = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static pthread_t run_thread;

void played_begin(void)
{
    buf_close(&played.stored);
    buf_close(&played.part);
    played = (struct played_daemon){.lock = PTHREAD_MUTEX_INITIALIZER,
                                    .change = PTHREAD_COND_INITIALIZER,
                                    .fails_at = -1,
                                    .refuses_at = -1,
                                    .hold_from = -1};
    buf_init(&played.stored, 1 << 24);
    buf_init(&played.part, 1 << 24);
    /* makes both buffers allocate now, so that no allocation fails later, when the daemon stores a checkpoint */
    static const char zeros[4096];
    buf_append(&played.stored, zeros, sizeof zeros);
    buf_append(&played.part, zeros, sizeof zeros);
    buf_clear(&played.stored);
    buf_clear(&played.part);
    run_thread = pthread_self();
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
/* Takes the place of the pause before a request is repeated: counts the pause and does not wait. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    played.pauses++;
    return 0;
}

static void note_wait(void)
{
    if (!pthread_equal(pthread_self(), run_thread))
        return;
    (void)pthread_mutex_lock(&played.lock);
    played.run_waits = true;
    (void)pthread_cond_broadcast(&played.change);
    (void)pthread_mutex_unlock(&played.lock);
}

int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
    note_wait();
    return __real_pthread_cond_wait(cond, lock);
}

int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until)
{
    note_wait();
    return __real_pthread_cond_timedwait(cond, lock, until);
}

enum status http_create(const char *server, const char *token, struct http **http, struct error *err)
{
    *http = calloc(1, sizeof **http);
    return *http != NULL ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a client");
}

void http_destroy(struct http *http)
{
    free(http);
}

void http_answer_close(struct http_answer *answer)
{
    buf_close(&answer->body);
}

void http_escape(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        buf_format(out, *text == '/' ? "%%2F" : "%c", *text);
}

static void take_report(const struct http_request *request, struct buf *out)
{
    cJSON *root = NULL;
    const cJSON *series, *point;
    played.reports++;
    buf_format(out, played.wants != NULL ? "{\"requested_state\":\"%s\"}" : "{\"requested_state\":null}", played.wants);
    if (json_parse(request->body, request->body_bytes, &root, NULL) != STATUS_OK)
        return; /* no memory for the parser; only the test of failed allocations comes here, and it counts no points */
    cJSON_ArrayForEach (series, cJSON_GetObjectItemCaseSensitive(root, "series")) {
        cJSON_ArrayForEach (point, series) {
            const cJSON *value = cJSON_GetArrayItem(point, 1);
            played.points++;
            played.last_value = cJSON_IsNumber(value)   ? value->valuedouble
                                : cJSON_IsString(value) ? value->valuestring[0] == '-' ? -INFINITY : INFINITY
                                                        : (double)NAN;
        }
    }
    played.lines += cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "lines"));
    const cJSON *progress = cJSON_GetObjectItemCaseSensitive(root, "progress");
    if (cJSON_IsString(progress))
        (void)snprintf(played.progress, sizeof played.progress, "%s", progress->valuestring);
    cJSON_Delete(root);
}

static void take_piece(const struct http_request *request, struct buf *out)
{
    buf_append(&played.part, request->body, request->body_bytes);
    if ((int64_t)played.part.size == played.announced) {
        buf_clear(&played.stored);
        buf_append(&played.stored, played.part.data, played.part.size);
        played.seq++;
        buf_format(out, "{\"received\":%lld,\"seq\":%lld}", (long long)played.announced, (long long)played.seq);
    } else {
        buf_format(out, "{\"received\":%zu,\"seq\":0}", played.part.size);
    }
}

static void write_list(struct buf *out)
{
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    if (played.list != NULL || played.seq == 0) {
        buf_text(out, played.list != NULL ? played.list : "{\"checkpoints\":[]}");
        return;
    }
    hash_bytes(played.stored.data, played.stored.size, digest);
    hash_hex(digest, hex);
    buf_format(out,
               "{\"checkpoints\":[{\"seq\":%lld,\"step\":3,\"samples\":30,\"bytes\":%zu,\"density\":0.5,\"accuracy\":1,"
               "\"stage_end\":true,\"sha256\":\"%s\"}]}",
               (long long)played.seq, played.stored.size, hex);
}

static void deliver(const struct http_request *request, struct http_answer *answer)
{
    const struct buf *from = played.sent != NULL ? played.sent : &played.stored;
    request->begins(request->context, answer);
    for (size_t at = 0, some; at < from->size; at += some) {
        some = from->size - at < 7 ? from->size - at : 7;
        if (!request->piece(request->context, from->data + at, some))
            return;
    }
}

static void take_end(const struct http_request *request)
{
    cJSON *root = NULL;
    if (json_parse(request->body, request->body_bytes, &root, NULL) != STATUS_OK)
        return;
    const cJSON *document = cJSON_GetObjectItemCaseSensitive(root, "document");
    (void)snprintf(played.end, sizeof played.end, "%s",
                   cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "end")));
    if (cJSON_IsString(document))
        (void)snprintf(played.document, sizeof played.document, "%s", document->valuestring);
    cJSON_Delete(root);
}

static void answer_usual(const struct http_request *request, struct http_answer *answer)
{
    struct buf *out = &answer->body;
    if (strstr(request->path, "/run/reports?") != NULL) {
        take_report(request, out);
    } else if (strstr(request->path, "/run/artifacts/") != NULL) {
        played.files++;
        (void)snprintf(played.file, sizeof played.file, "%.*s", (int)request->body_bytes, request->body);
        (void)snprintf(played.type, sizeof played.type, "%s", strstr(request->path, "&type="));
    } else if (strstr(request->path, "/run/upload?") != NULL) {
        take_piece(request, out);
    } else if (strstr(request->path, "/run/checkpoints/") != NULL) {
        deliver(request, answer);
    } else if (strstr(request->path, "/run/checkpoints?") != NULL && strcmp(request->method, "POST") == 0) {
        played.announcements++;
        played.announced = strtoll(strstr(request->body, "\"bytes\":") + 8, NULL, 10);
        buf_clear(&played.part);
        buf_text(out, "{\"received\":0,\"seq\":0}");
    } else if (strstr(request->path, "/run/checkpoints?") != NULL) {
        write_list(out);
    } else if (strstr(request->path, "/run/end?") != NULL) {
        take_end(request);
    } else {
        played.registrations++;
        buf_text(out, played.registration != NULL
                          ? played.registration
                          : "{\"epoch\":3,\"kind\":\"fake\",\"config\":\"{}\",\"source_job\":\"\",\"threads\":2,"
                            "\"ranks\":1,\"task\":\"evaluate\",\"params\":\"{}\",\"progress\":null}");
    }
}

enum status http_call(struct http *http, const struct http_request *request, struct http_answer *answer,
                      struct error *err)
{
    enum status status = STATUS_OK;
    *answer = (struct http_answer){.status = 200};
    buf_init(&answer->body, 1 << 20);
    (void)pthread_mutex_lock(&played.lock);
    int number = played.requests++;
    bool held = played.hold_from >= 0 && number >= played.hold_from && !pthread_equal(pthread_self(), run_thread);
    while (held && !played.run_waits)
        (void)__real_pthread_cond_wait(&played.change, &played.lock);
    if (number == played.fails_at) {
        status = error_set(err, STATUS_UNAVAILABLE, NULL, "the connection broke");
    } else if (number == played.refuses_at) {
        answer->status = played.refusal;
        buf_text(&answer->body, "{\"detail\":\"not this\"}");
    } else {
        answer_usual(request, answer);
    }
    (void)pthread_mutex_unlock(&played.lock);
    if (status == STATUS_OK && answer->body.failed)
        status = error_set(err, STATUS_UNAVAILABLE, NULL, "not enough memory for an answer");
    return status;
}

/* Makes the next request to the daemon get `status`; 0: no answer. */
void played_refuse_next(long status)
{
    (void)pthread_mutex_lock(&played.lock);
    *(status == 0 ? &played.fails_at : &played.refuses_at) = played.requests;
    played.refusal = status;
    (void)pthread_mutex_unlock(&played.lock);
}

/* Holds all requests of the sender from now on, until the run waits for the queue. */
void played_hold_sender(void)
{
    (void)pthread_mutex_lock(&played.lock);
    played.run_waits = false;
    played.hold_from = 0;
    (void)pthread_mutex_unlock(&played.lock);
}
