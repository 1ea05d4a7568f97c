/* The thread that delivers notices of ended jobs (notices.h). */
#include "server/notices/notices.h"

#include <curl/curl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/http/uri.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/parallel/timed_cond.h"
#include "server/process/journal.h"
#include "storage/storage.h"

#define KEY_MIN 16
#define KEY_MAX 1024
#define CONNECT_SECONDS 10L
#define DELIVER_SECONDS 30L /* longest time of a delivery, answer included */
#define RETRY_MS 1000       /* pause of the thread after a failure, and wait before the second try of a notice */
#define LOOK_MS 1000        /* the thread looks at least this often whether a notice has become due */
#define NOTICE_BYTES (64u << 10)
#define WHSEC "whsec_"

struct notices {
    struct notices_options options;
    unsigned char key[KEY_MAX];
    size_t key_bytes;
    char source[192]; /* the member `source` of the events */
    const char *authorities;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool started, wake;
    atomic_bool ending;
    atomic_ullong delivered, failed;
};

static int64_t wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the event ------------------------------------------------------------------------------------------- */

static void write_event(const struct notices *n, const struct storage_notice *notice, struct buf *out)
{
    char time[40];
    struct tm parts;
    const time_t seconds = (time_t)(notice->time / 1000);
    (void)gmtime_r(&seconds, &parts);
    (void)strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &parts);
    buf_format(
        out,
        "{\"specversion\":\"1.0\",\"id\":\"%s\",\"source\":\"%s\",\"type\":\"motifd.job.%s\","
        "\"subject\":\"/v1/jobs/%s\",\"time\":\"%s.%03dZ\",\"datacontenttype\":\"application/json\",\"data\":%s}",
        notice->job, n->source, notice->state, notice->job, time, (int)(notice->time % 1000), notice->data);
}

/* Signs "ID.TIMESTAMP.BODY". `out` needs sodium_base64_ENCODED_LEN(32) bytes. */
static void sign(const struct notices *n, const char *id, const char *timestamp, const struct buf *body, char *out,
                 size_t room)
{
    crypto_auth_hmacsha256_state state;
    unsigned char mac[crypto_auth_hmacsha256_BYTES];
    const char *parts[] = {id, ".", timestamp, "."};
    (void)crypto_auth_hmacsha256_init(&state, n->key, n->key_bytes);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)parts[i], strlen(parts[i]));
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)body->data, body->size);
    (void)crypto_auth_hmacsha256_final(&state, mac);
    (void)sodium_bin2base64(out, room, mac, sizeof mac, sodium_base64_VARIANT_ORIGINAL);
}

/* ---- a delivery ------------------------------------------------------------------------------------------ */

static bool add_header(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    *list = longer != NULL ? longer : *list;
    return longer != NULL;
}

static bool make_headers(const struct notices *n, const char *id, const struct buf *body, struct curl_slist **list)
{
    char timestamp[24], signature[64], line[128];
    (void)snprintf(timestamp, sizeof timestamp, "%lld", (long long)(wall_ms() / 1000));
    sign(n, id, timestamp, body, signature, sizeof signature);
    if (!add_header(list, "Content-Type: application/cloudevents+json; charset=UTF-8"))
        return false;
    (void)snprintf(line, sizeof line, "webhook-id: %s", id);
    if (!add_header(list, line))
        return false;
    (void)snprintf(line, sizeof line, "webhook-timestamp: %s", timestamp);
    if (!add_header(list, line))
        return false;
    (void)snprintf(line, sizeof line, "webhook-signature: v1,%s", signature);
    return add_header(list, line);
}

/* Discards the body of the answer. */
static size_t take_nothing(char *bytes, size_t size, size_t count, void *context)
{
    return size * count;
}

static int stop_transfer(void *context, curl_off_t to_get, curl_off_t got, curl_off_t to_send, curl_off_t sent)
{
    return atomic_load(&((struct notices *)context)->ending) ? 1 : 0;
}

/* Sends a notice. Returns whether the receiver took it; otherwise `why` says why not. */
static bool post(struct notices *n, const char *id, const struct buf *body, char *why, size_t room)
{
    struct curl_slist *headers = NULL;
    CURL *curl = curl_easy_init();
    char reason[CURL_ERROR_SIZE] = "";
    long status = 0;
    bool ready = curl != NULL && make_headers(n, id, body, &headers);
    CURLcode code = CURLE_OUT_OF_MEMORY;
    if (ready) {
        curl_easy_setopt(curl, CURLOPT_URL, n->options.url);
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->data);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
        curl_easy_setopt(curl, CURLOPT_TIMEOUT, DELIVER_SECONDS);
        curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
        curl_easy_setopt(curl, CURLOPT_USERAGENT, "motifd");
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_nothing);
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, stop_transfer);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, n);
        if (n->authorities != NULL)
            curl_easy_setopt(curl, CURLOPT_CAINFO, n->authorities);
        code = curl_easy_perform(curl);
        (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    }
    if (code != CURLE_OK)
        (void)snprintf(why, room, "%s", reason[0] != '\0' ? reason : curl_easy_strerror(code));
    else
        (void)snprintf(why, room, "the receiver answered %ld", status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return code == CURLE_OK && status >= 200 && status < 300;
}

static int64_t delay_ms(int tries)
{
    int64_t delay = tries < 12 ? (int64_t)RETRY_MS << tries : STORAGE_NOTICE_DELAY_MAX;
    return delay < STORAGE_NOTICE_DELAY_MAX ? delay : STORAGE_NOTICE_DELAY_MAX;
}

/* Delivers the notice that is due first. Returns false if none is due, or if the thread must wait after a failure. */
static bool deliver_next(struct notices *n)
{
    struct error err = {0};
    struct arena arena;
    struct storage_notice notice;
    struct buf body;
    char why[CURL_ERROR_SIZE];
    bool delivered = false;
    arena_init(&arena, 4096, NOTICE_BYTES);
    buf_init(&body, NOTICE_BYTES);
    enum status status = storage_notice_next(n->options.storage, wall_ms(), &arena, &notice, &err);
    if (!status)
        write_event(n, &notice, &body);
    if (!status)
        status = buf_status(&body, "a notice", &err);
    if (!status) {
        delivered = post(n, notice.job, &body, why, sizeof why);
        if (delivered) {
            atomic_fetch_add(&n->delivered, 1);
            status = storage_notice_delivered(n->options.storage, notice.id, &err);
        } else if (!atomic_load(&n->ending)) {
            int64_t delay = delay_ms(notice.tries);
            atomic_fetch_add(&n->failed, 1);
            journal_line(n->options.journal, LOG_LEVEL_WARN, JOURNAL_NOTICES, NULL, notice.job,
                         "the notice was not delivered, next attempt in %lld s: %s", (long long)(delay / 1000), why);
            status = storage_notice_failed(n->options.storage, notice.id, wall_ms() + delay, &err);
        }
    }
    if (status && status != STATUS_NOT_FOUND)
        journal_line(n->options.journal, LOG_LEVEL_ERROR, JOURNAL_NOTICES, NULL, NULL, "%s", err.message);
    buf_close(&body);
    arena_close(&arena);
    return delivered && !status;
}

/* ---- the thread ------------------------------------------------------------------------------------------ */

/* Waits for a wake-up, but not longer than `ms`. After a failure, a wake-up does not end the wait. */
static void wait_for_work(struct notices *n, int64_t ms, bool failed)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nanoseconds = until.tv_nsec + ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    (void)pthread_mutex_lock(&n->lock);
    int late = 0;
    while ((!n->wake || failed) && !atomic_load(&n->ending) && late == 0)
        late = pthread_cond_timedwait(&n->woken, &n->lock, &until);
    n->wake = false;
    (void)pthread_mutex_unlock(&n->lock);
}

static void *notices_run(void *context)
{
    struct notices *n = context;
    while (!atomic_load(&n->ending)) {
        uint64_t failures = atomic_load(&n->failed);
        if (deliver_next(n))
            continue;
        bool failed = failures != atomic_load(&n->failed);
        wait_for_work(n, failed ? RETRY_MS : LOOK_MS, failed);
    }
    return NULL;
}

static enum status read_key(struct notices *n, struct error *err)
{
    const char *secret = n->options.secret;
    size_t length = strlen(secret);
    if (strncmp(secret, WHSEC, strlen(WHSEC)) == 0) {
        secret += strlen(WHSEC);
        if (sodium_base642bin(n->key, sizeof n->key, secret, strlen(secret), NULL, &n->key_bytes, NULL,
                              sodium_base64_VARIANT_ORIGINAL) != 0)
            return error_set(err, STATUS_INVALID, NULL, "--notify-secret: the text behind whsec_ is not base64");
    } else {
        n->key_bytes = length < sizeof n->key ? length : sizeof n->key;
        memcpy(n->key, secret, n->key_bytes);
    }
    if (n->key_bytes < KEY_MIN)
        return error_set(err, STATUS_INVALID, NULL, "--notify-url needs MOTIFD_NOTIFY_SECRET of at least %d characters",
                         KEY_MIN);
    return STATUS_OK;
}

/* Sets the source to urn:motifd:HOST, where HOST is the name of this machine. */
static void name_source(struct notices *n)
{
    char host[64] = "";
    struct buf name;
    (void)gethostname(host, sizeof host - 1);
    buf_init(&name, 1024);
    uri_encode(&name, host);
    (void)snprintf(n->source, sizeof n->source, "urn:motifd:%s", name.size > 0 ? name.data : "unknown");
    buf_close(&name);
}

static enum status open_notices(struct notices *n, struct error *err)
{
    static const char *const variables[] = {"MOTIFD_CACERT", "CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (n->authorities == NULL || n->authorities[0] == '\0')
            n->authorities = getenv(variables[i]);
    if (n->authorities != NULL && n->authorities[0] == '\0')
        n->authorities = NULL;
    enum status status = read_key(n, err);
    if (status)
        return status;
    if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return error_set(err, STATUS_INTERNAL, NULL, "libsodium or libcurl cannot start");
    name_source(n);
    n->started = pthread_create(&n->thread, NULL, notices_run, n) == 0;
    return n->started ? STATUS_OK : error_memory(err, "the thread of notices");
}

enum status notices_start(const struct notices_options *options, struct notices **notices, struct error *err)
{
    struct notices *n = calloc(1, sizeof *n);
    if (n == NULL || !timed_lock_init(&n->lock, &n->woken, NULL)) {
        free(n);
        return error_memory(err, "notices");
    }
    n->options = *options;
    enum status status = open_notices(n, err);
    if (status) {
        notices_destroy(n);
        return status;
    }
    *notices = n;
    return STATUS_OK;
}

void notices_stop(struct notices *n)
{
    if (n == NULL)
        return;
    atomic_store(&n->ending, true);
    notices_wake(n);
    if (n->started)
        (void)pthread_join(n->thread, NULL);
    n->started = false;
}

void notices_destroy(struct notices *n)
{
    if (n == NULL)
        return;
    (void)pthread_cond_destroy(&n->woken);
    (void)pthread_mutex_destroy(&n->lock);
    sodium_memzero(n->key, sizeof n->key);
    free(n);
}

void notices_wake(struct notices *n)
{
    if (n == NULL)
        return;
    (void)pthread_mutex_lock(&n->lock);
    n->wake = true;
    (void)pthread_cond_signal(&n->woken);
    (void)pthread_mutex_unlock(&n->lock);
}

void notices_stats_read(struct notices *n, struct notices_stats *out)
{
    *out = (struct notices_stats){atomic_load(&n->delivered), atomic_load(&n->failed)};
}
