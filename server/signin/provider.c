/* The issuer: a thread with its configuration and keys, and the verification of tokens. */
#include "server/signin/provider.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/parallel/timed_cond.h"
#include "core/base/work.h"
#include "server/signin/jwt.h"

#define FRESH_MS INT64_C(3600000) /* time after which keys are fetched again */
#define RETRY_MS INT64_C(5000)    /* wait after the first failure; it doubles with each further one */
#define CONFIGURATION "/.well-known/openid-configuration"

struct provider {
    struct provider_options options;
    bool loopback; /* the issuer is on this machine, so http:// is allowed */
    pthread_t thread;
    bool started;
    atomic_bool ending;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    /* The lock protects these members: */
    struct jwt_keys *keys; /* NULL: never fetched */
    struct provider_endpoints endpoints;
    bool wanted; /* a token named an unknown key */
};

/* ---- fetching --------------------------------------------------------------------------------------------- */

static enum status fetch_json(struct provider *p, const char *url, struct buf *out, struct error *err)
{
    if (!fetch_allowed(url, p->loopback))
        return error_set(err, STATUS_INVALID, NULL, "%.200s is not an https:// address", url);
    return fetch(url, NULL, &p->ending, out, err);
}

/* Keeps an address of the configuration if it may be used; "" otherwise. */
static void read_endpoint(const struct provider *p, const char *text, const char *name, char out[FETCH_URL])
{
    if (!json_member_text(text, name, out, FETCH_URL) || !fetch_allowed(out, p->loopback))
        out[0] = '\0';
}

/* Reads the addresses of the keys and of the sign-in from the configuration, which must be that of the issuer. */
static enum status read_configuration(struct provider *p, const struct buf *text, char *keys_url, struct error *err)
{
    char issuer[FETCH_URL];
    enum status status = json_scan(text->data, text->size, err);
    if (status)
        return status;
    if (!json_member_text(text->data, "issuer", issuer, sizeof issuer) || strcmp(issuer, p->options.issuer) != 0)
        return error_set(err, STATUS_INVALID, NULL, "the configuration is that of the issuer %.200s", issuer);
    if (!json_member_text(text->data, "jwks_uri", keys_url, FETCH_URL))
        return error_set(err, STATUS_INVALID, NULL, "the configuration has no jwks_uri");
    (void)pthread_mutex_lock(&p->lock);
    read_endpoint(p, text->data, "authorization_endpoint", p->endpoints.authorization);
    read_endpoint(p, text->data, "token_endpoint", p->endpoints.token);
    (void)pthread_mutex_unlock(&p->lock);
    return STATUS_OK;
}

static enum status fetch_configuration(struct provider *p, char *keys_url, struct error *err)
{
    char url[FETCH_URL];
    struct buf text;
    size_t length = strlen(p->options.issuer);
    bool slash = p->options.issuer[length - 1] == '/';
    (void)snprintf(url, sizeof url, "%.*s" CONFIGURATION, (int)(length - slash), p->options.issuer);
    buf_init(&text, FETCH_BYTES);
    enum status status = fetch_json(p, url, &text, err);
    if (!status)
        status = read_configuration(p, &text, keys_url, err);
    buf_close(&text);
    return status;
}

static enum status fetch_keys(struct provider *p, struct error *err)
{
    char url[FETCH_URL];
    struct jwt_keys *keys = NULL, *old = NULL;
    struct buf text;
    enum status status = fetch_configuration(p, url, err);
    if (status)
        return status;
    buf_init(&text, FETCH_BYTES);
    status = fetch_json(p, url, &text, err);
    if (!status)
        status = jwt_keys_read(text.data, text.size, &keys, err);
    buf_close(&text);
    if (status)
        return status;
    (void)pthread_mutex_lock(&p->lock);
    old = p->keys;
    p->keys = keys;
    (void)pthread_mutex_unlock(&p->lock);
    jwt_keys_free(old);
    return STATUS_OK;
}

/* ---- the thread ------------------------------------------------------------------------------------------- */

/* Waits until `due`, or until a token names an unknown key and `soonest` has passed. */
static void wait_until(struct provider *p, int64_t due, int64_t soonest)
{
    (void)pthread_mutex_lock(&p->lock);
    for (;;) {
        int64_t now = work_now_ms(), until = p->wanted && soonest < due ? soonest : due;
        if (atomic_load(&p->ending) || now >= until)
            break;
        const struct timespec at = {.tv_sec = (time_t)(until / 1000), .tv_nsec = (long)(until % 1000) * 1000000};
        (void)pthread_cond_timedwait(&p->woken, &p->lock, &at);
    }
    p->wanted = false;
    (void)pthread_mutex_unlock(&p->lock);
}

static void *provider_run(void *context)
{
    struct provider *p = context;
    const int64_t between = p->options.refetch_seconds * 1000;
    int64_t retry = RETRY_MS;
    bool good = false;
    while (!atomic_load(&p->ending)) {
        struct error err = {0};
        int64_t began = work_now_ms();
        enum status status = fetch_keys(p, &err);
        if (atomic_load(&p->ending))
            break;
        if (status)
            journal_line(p->options.journal, LOG_LEVEL_WARN, JOURNAL_SERVER, NULL, NULL,
                         "the keys of the issuer cannot be fetched, next attempt in %lld s: %s",
                         (long long)(retry / 1000), err.message);
        else if (!good)
            journal_line(p->options.journal, LOG_LEVEL_INFO, JOURNAL_SERVER, NULL, NULL,
                         "the keys of the issuer %s are known", p->options.issuer);
        good = !status;
        wait_until(p, began + (good ? FRESH_MS : retry), began + (good || between > retry ? between : retry));
        retry = good ? RETRY_MS : retry < FRESH_MS / 2 ? retry * 2 : FRESH_MS;
        retry = retry > 60000 ? 60000 : retry;
    }
    return NULL;
}

static enum status check_options(const struct provider_options *o, bool loopback, struct error *err)
{
    if (!fetch_allowed(o->issuer, loopback) || strchr(o->issuer, '?') != NULL ||
        strlen(o->issuer) + sizeof CONFIGURATION > FETCH_URL)
        return error_set(err, STATUS_INVALID, NULL,
                         "--oidc-issuer: must be an https:// address, or http:// on loopback, without a query");
    if (o->client[0] == '\0' && o->audiences[0] == '\0')
        return error_set(err, STATUS_INVALID, NULL,
                         "--oidc-issuer needs --oidc-audience or --oidc-client: without them, tokens for every other "
                         "service of the issuer would be accepted");
    return STATUS_OK;
}

static bool start_thread(struct provider *p)
{
    if (!timed_lock_init(&p->lock, &p->woken, NULL))
        return false;
    p->started = pthread_create(&p->thread, NULL, provider_run, p) == 0;
    if (!p->started) {
        (void)pthread_cond_destroy(&p->woken);
        (void)pthread_mutex_destroy(&p->lock);
    }
    return p->started;
}

enum status provider_start(const struct provider_options *options, struct provider **provider, struct error *err)
{
    bool loopback = fetch_loopback(options->issuer);
    enum status status = check_options(options, loopback, err);
    if (status)
        return status;
    struct provider *p = calloc(1, sizeof *p);
    if (p == NULL)
        return error_memory(err, "sign-in");
    p->options = *options;
    p->loopback = loopback;
    if (p->options.audiences[0] == '\0')
        p->options.audiences = p->options.client;
    if (sodium_init() < 0 || !start_thread(p)) {
        free(p);
        return error_memory(err, "sign-in");
    }
    *provider = p;
    return STATUS_OK;
}

void provider_stop(struct provider *p)
{
    if (p == NULL)
        return;
    (void)pthread_mutex_lock(&p->lock);
    atomic_store(&p->ending, true);
    (void)pthread_cond_signal(&p->woken);
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_join(p->thread, NULL);
    (void)pthread_cond_destroy(&p->woken);
    (void)pthread_mutex_destroy(&p->lock);
    jwt_keys_free(p->keys);
    free(p);
}

/* ---- tokens ----------------------------------------------------------------------------------------------- */

bool provider_endpoints_read(struct provider *p, struct provider_endpoints *out)
{
    (void)pthread_mutex_lock(&p->lock);
    *out = p->endpoints;
    (void)pthread_mutex_unlock(&p->lock);
    return out->authorization[0] != '\0' && out->token[0] != '\0';
}

const char *provider_verify(struct provider *p, const char *token, const char *audience, const char *nonce,
                            struct auth_caller *caller)
{
    const struct jwt_rules rules = {.issuer = p->options.issuer,
                                    .audiences = audience,
                                    .algorithms = p->options.algorithms,
                                    .skew = p->options.skew,
                                    .nonce = nonce};
    cJSON *claims = NULL;
    bool unknown;
    (void)pthread_mutex_lock(&p->lock);
    const char *fault = jwt_verify(p->keys, &rules, (int64_t)time(NULL), token, &claims, &unknown);
    if (unknown && !p->wanted) {
        p->wanted = true;
        (void)pthread_cond_signal(&p->woken);
    }
    (void)pthread_mutex_unlock(&p->lock);
    if (fault == NULL)
        fault = claims_identify(&p->options.claims, claims, caller);
    cJSON_Delete(claims);
    return fault;
}

bool provider_identify(void *provider, const char *token, struct auth_caller *caller)
{
    struct provider *p = provider;
    const char *fault = provider_verify(p, token, p->options.audiences, NULL, caller);
    if (fault != NULL)
        *caller = (struct auth_caller){.fault = fault};
    caller->signed_token = fault == NULL;
    return fault == NULL;
}
