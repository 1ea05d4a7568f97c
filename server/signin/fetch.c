/* Fetches documents from an issuer with protocol/http_client.h. */
#include "server/signin/fetch.h"

#include <stdio.h>
#include <string.h>

#include "core/base/work.h"
#include "protocol/http_client.h"

#define SECONDS 10

struct transfer {
    const atomic_bool *ending;
    int64_t until;
    bool stopped;
};

/* Splits a URL into "https://host:port" and the path. False: it is no URL of this form. */
static bool split(const char *url, char *origin, size_t room, const char **path)
{
    const char *host = strstr(url, "://");
    if (host == NULL || strpbrk(url, "@# \\\"<>") != NULL || strlen(url) >= FETCH_URL)
        return false;
    size_t length = (size_t)(host + 3 - url) + strcspn(host + 3, "/?");
    if (length >= room || length == (size_t)(host + 3 - url) || url[length] == '?')
        return false;
    memcpy(origin, url, length);
    origin[length] = '\0';
    *path = url[length] != '\0' ? url + length : "/";
    return true;
}

bool fetch_loopback(const char *url)
{
    static const char *const hosts[] = {"localhost", "127.", "[::1]"};
    const char *host = strstr(url, "://");
    if (host == NULL)
        return false;
    size_t length = strcspn(host + 3, host[3] == '[' ? "/?" : ":/?");
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        size_t bytes = strlen(hosts[i]);
        if (length < bytes || strncmp(host + 3, hosts[i], bytes) != 0)
            continue;
        if (i == 0)
            return length == bytes;
        if (i == 1)
            return strspn(host + 3, "0123456789.") == length;
        return host[3 + bytes] == '\0' || strchr(":/?", host[3 + bytes]) != NULL;
    }
    return false;
}

bool fetch_allowed(const char *url, bool loopback)
{
    char origin[FETCH_URL];
    const char *path;
    if (!split(url, origin, sizeof origin, &path))
        return false;
    return strncmp(url, "https://", 8) == 0 || (loopback && strncmp(url, "http://", 7) == 0 && fetch_loopback(url));
}

static bool moving(void *context, int64_t received, int64_t expected)
{
    struct transfer *transfer = context;
    transfer->stopped = transfer->stopped || received > (int64_t)FETCH_BYTES || expected > (int64_t)FETCH_BYTES ||
                        work_now_ms() > transfer->until || (transfer->ending != NULL && atomic_load(transfer->ending));
    return !transfer->stopped;
}

static enum status call(struct http *http, const char *path, const char *body, const atomic_bool *ending,
                        struct buf *out, struct error *err)
{
    struct transfer transfer = {.ending = ending, .until = work_now_ms() + SECONDS * 1000};
    struct http_answer answer;
    const struct http_request request = {
        .method = body != NULL ? "POST" : "GET",
        .path = path,
        .body = body,
        .type = "application/x-www-form-urlencoded",
        .moving = moving,
        .context = &transfer,
    };
    enum status status = http_call(http, &request, &answer, err);
    if (transfer.stopped)
        status = error_set(err, STATUS_UNAVAILABLE, NULL, "%s does not answer within %d seconds and 1 MiB",
                           http_server(http), SECONDS);
    if (!status)
        buf_append(out, answer.body.data, answer.body.size);
    if (!status && answer.status != 200)
        status = error_set(err, STATUS_INVALID, NULL, "%s answers %ld", http_server(http), answer.status);
    http_answer_close(&answer);
    return status;
}

enum status fetch(const char *url, const char *body, const atomic_bool *ending, struct buf *out, struct error *err)
{
    char origin[FETCH_URL];
    const char *path;
    struct http *http;
    if (!split(url, origin, sizeof origin, &path))
        return error_set(err, STATUS_INVALID, NULL, "%.200s is no URL with a host and a path", url);
    enum status status = http_create(origin, NULL, &http, err);
    if (status)
        return status;
    status = call(http, path, body, ending, out, err);
    http_destroy(http);
    return status ? status : buf_status(out, "an answer of the issuer", err);
}
