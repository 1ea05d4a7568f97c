/* Requests over libcurl: bodies from memory or a file, answers to memory, to a file or to a callback. */
#include "protocol/http_client.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <strings.h>

#define BODY_LIMIT (256u << 20)

struct http {
    CURL *curl;
    char *server, *authorization;
    bool local;              /* set by http_local() */
    const char *authorities; /* file with certificates of authorities; borrowed; NULL: those of the system */
};

struct transfer {
    struct http *http;
    const struct http_request *request;
    struct http_answer *answer;
    /* begun: the body has begun; write_failed: the file cannot be written; stopped: moving() or piece() of the request
     * has returned false */
    bool begun, write_failed, stopped;
};

static const char *authorities_file; /* file of http_trust(), or NULL */

void http_trust(const char *file)
{
    authorities_file = file;
}

/* Returns the file that http_trust() has set. If there is none and the server uses TLS, returns the value of the first
 * environment variable in `variables` that is set. Without TLS, the variables are not read, because they may be set for
 * other programs. */
static const char *find_authorities(bool tls)
{
    static const char *const variables[] = {"MOTIFD_CACERT", "CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    const char *file = authorities_file;
    for (size_t i = 0; tls && i < sizeof(variables) / sizeof(variables[0]) && !(file && file[0]); i++)
        file = getenv(variables[i]);
    return file && file[0] ? file : NULL;
}

/* Fills the members of `http`, which the caller destroys after a failure too. */
static enum status open_http(struct http *http, const char *server, const char *token, struct error *err)
{
    http->curl = curl_easy_init();
    http->server = strdup(server);
    if (!http->curl || !http->server)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    for (size_t end = strlen(http->server); end > 0 && http->server[end - 1] == '/'; end--)
        http->server[end - 1] = 0;
    bool tls = strncmp(http->server, "https://", 8) == 0;
    if (!tls && strncmp(http->server, "http://", 7) != 0)
        return error_set(err, STATUS_INVALID, NULL, "the server must be a URL such as http://127.0.0.1:8080; got %.80s",
                         server);
    http->authorities = find_authorities(tls);
    if (http->authorities && access(http->authorities, R_OK) != 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "%.200s cannot be read; --cacert, MOTIFD_CACERT, CURL_CA_BUNDLE or SSL_CERT_FILE must name a "
                         "PEM file of certificate authorities",
                         http->authorities);
    if (token && token[0] && asprintf(&http->authorization, "Authorization: Bearer %s", token) < 0) {
        http->authorization = NULL;
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    }
    return STATUS_OK;
}

enum status http_create(const char *server, const char *token, struct http **out, struct error *err)
{
    *out = NULL;
    struct http *http = calloc(1, sizeof(*http));
    if (!http || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(http);
        return error_set(err, STATUS_NO_MEMORY, NULL, "libcurl cannot be initialised");
    }
    enum status status = open_http(http, server, token, err);
    if (status) {
        http_destroy(http);
        return status;
    }
    *out = http;
    return STATUS_OK;
}

void http_destroy(struct http *http)
{
    if (!http)
        return;
    if (http->curl)
        curl_easy_cleanup(http->curl);
    curl_global_cleanup();
    free(http->server);
    free(http->authorization);
    free(http);
}

enum status http_second(const struct http *http, struct http **second, struct error *err)
{
    static const char scheme[] = "Authorization: Bearer ";
    return http_create(http->server, http->authorization ? http->authorization + sizeof(scheme) - 1 : NULL, second,
                       err);
}

void http_local(struct http *http)
{
    http->local = true;
}

bool http_succeeded(long status)
{
    return status / 100 == 2;
}

const char *http_server(const struct http *http)
{
    return http->server;
}

/* Copies the value of a header line to `out` if the header is called `name`. */
static void http_client_keep(const char *line, size_t length, const char *name, char *out, size_t bytes)
{
    size_t at = strlen(name);
    if (length <= at || strncasecmp(line, name, at) != 0 || line[at] != ':')
        return;
    at++;
    while (at < length && (line[at] == ' ' || line[at] == '\t'))
        at++;
    while (length > at && (line[length - 1] == '\r' || line[length - 1] == '\n' || line[length - 1] == ' '))
        length--;
    snprintf(out, bytes, "%.*s", (int)(length - at), line + at);
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
    struct http_answer *answer = ((struct transfer *)context)->answer;
    size_t length = size * count;
    char retry[32] = "";
    http_client_keep(line, length, "ETag", answer->etag, sizeof(answer->etag));
    http_client_keep(line, length, "Location", answer->location, sizeof(answer->location));
    http_client_keep(line, length, "Content-Type", answer->content_type, sizeof(answer->content_type));
    http_client_keep(line, length, "Content-Range", answer->content_range, sizeof(answer->content_range));
    http_client_keep(line, length, "Retry-After", retry, sizeof(retry));
    if (retry[0])
        answer->retry_after = strtod(retry, NULL);
    return length;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    size_t length = size * count;
    long status = 0;
    curl_easy_getinfo(transfer->http->curl, CURLINFO_RESPONSE_CODE, &status);
    if ((transfer->request->piece || transfer->request->file) && http_succeeded(status) && !transfer->begun) {
        transfer->begun = true;
        if (transfer->request->begins)
            transfer->request->begins(transfer->request->context, transfer->answer);
    }
    if (transfer->request->piece && http_succeeded(status)) {
        transfer->stopped = !transfer->request->piece(transfer->request->context, bytes, length);
        return transfer->stopped ? 0 : length;
    }
    if (transfer->request->file && http_succeeded(status)) {
        if (fwrite(bytes, 1, length, transfer->request->file) != length) {
            transfer->write_failed = true;
            return 0;
        }
        transfer->answer->file_bytes += (int64_t)length;
        return length;
    }
    buf_append(&transfer->answer->body, bytes, length);
    return transfer->answer->body.failed ? 0 : length;
}

static int on_progress(void *context, curl_off_t expected, curl_off_t received, curl_off_t to_send, curl_off_t sent)
{
    struct transfer *transfer = context;
    (void)to_send;
    (void)sent;
    return transfer->request->moving(transfer->request->context, received, expected) ? 0 : 1;
}

/* Appends a header line. False: there is no memory, and the list is as before. */
static bool add_header(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    *list = longer ? longer : *list;
    return longer != NULL;
}

/* Appends the header traceparent with the value of the environment variable TRACEPARENT. The daemon sets this variable
 * for a trainer, so that the logs of the daemon and of the trainer contain the same trace. */
static bool add_trace(struct curl_slist **list)
{
    char line[80];
    const char *trace = getenv("TRACEPARENT");
    if (!trace || strlen(trace) != 55 || strspn(trace, "0123456789abcdef-") != 55)
        return true;
    snprintf(line, sizeof(line), "traceparent: %s", trace);
    return add_header(list, line);
}

/* Returns the headers of a request, which the caller frees; NULL without memory. */
static struct curl_slist *headers_of(const struct http *http, const struct http_request *request)
{
    struct curl_slist *list = NULL;
    char accept[160], type[160];
    snprintf(accept, sizeof(accept), "Accept: %s", request->accept ? request->accept : "application/json");
    snprintf(type, sizeof(type), "Content-Type: %s", request->type ? request->type : "application/json");
    bool complete = add_header(&list, accept) && add_header(&list, "Expect:");
    complete = complete && ((!request->body && !request->from) || add_header(&list, type));
    complete = complete && (!http->authorization || add_header(&list, http->authorization));
    complete = complete && add_trace(&list);
    for (size_t i = 0; i < sizeof(request->headers) / sizeof(request->headers[0]) && request->headers[i]; i++)
        complete = complete && add_header(&list, request->headers[i]);
    if (!complete) {
        curl_slist_free_all(list);
        return NULL;
    }
    return list;
}

enum status http_call(struct http *http, const struct http_request *request, struct http_answer *answer,
                      struct error *err)
{
    struct transfer transfer = {.http = http, .request = request, .answer = answer};
    char reason[CURL_ERROR_SIZE] = "", *url = NULL;
    CURL *curl = http->curl;
    memset(answer, 0, sizeof(*answer));
    buf_init(&answer->body, BODY_LIMIT);
    if (asprintf(&url, "%s%s", http->server, request->path) < 0)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    struct curl_slist *headers = headers_of(http, request);
    if (!headers) {
        free(url);
        return error_memory(err, "a request");
    }
    curl_easy_reset(curl); /* this does not close the connection */
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    if (http->authorities)
        curl_easy_setopt(curl, CURLOPT_CAINFO, http->authorities);
    if (http->local) {
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
    /* curl ends a transfer in which no byte arrives for CURLOPT_LOW_SPEED_TIME seconds. An upload gets 1800 seconds,
     * because the daemon answers only when it has stored the values, which takes minutes for gigabytes on a slow disk.
     * Keep-alive packets detect a server that is gone. */
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, request->from ? 1800L : 120L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "motifctl");
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
    if (request->from) {
        curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(curl, CURLOPT_READDATA, request->from);
        curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->from_bytes);
    } else if (request->body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)(request->body_bytes > 0 ? request->body_bytes : strlen(request->body)));
    } else if (strcmp(request->method, "POST") == 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, 0L);
    }
    if (request->moving) {
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
    }
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->status);
    curl_slist_free_all(headers);
    free(url);
    if (transfer.write_failed)
        return error_set(err, STATUS_IO, NULL, "the file cannot be written");
    if (answer->body.failed)
        return error_set(err, STATUS_LIMIT, NULL, "the answer is larger than %u MiB", BODY_LIMIT >> 20);
    if (code != CURLE_OK && !transfer.stopped)
        return error_set(err, STATUS_UNAVAILABLE, NULL, "%s: %s", http->server,
                         reason[0] ? reason : curl_easy_strerror(code));
    return STATUS_OK;
}

void http_answer_close(struct http_answer *answer)
{
    buf_close(&answer->body);
}

void http_escape(struct buf *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
                     strchr("-._~", *at);
        if (plain)
            buf_append(out, at, 1);
        else
            buf_format(out, "%%%02X", *at);
    }
}
