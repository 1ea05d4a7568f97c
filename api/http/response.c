/* Reads requests and writes responses for handlers: parameters, headers, JSON bodies, problems, entity tags. api.c adds
 * the headers of every response afterwards. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "api/http/exchange.h"
#include "protocol/faults.h"

void response_init(struct api_response *response, const struct api_request *request)
{
    *response = (struct api_response){.route = ""};
    buf_init(&response->body, API_DOCUMENT_MAX);
    (void)snprintf(response->id, sizeof response->id, "%s", request->id);
}

/* Removes status, headers and body; the id stays. */
static void response_reset(struct api_response *response)
{
    if (response->read_close != NULL)
        response->read_close(response->read_context);
    response->read = NULL;
    response->read_close = NULL;
    response->read_context = NULL;
    response->read_bytes = 0;
    response->events = false;
    for (size_t i = 0; i < response->header_count; i++)
        free(response->headers[i].value);
    response->header_count = 0;
    response->status = 0;
    buf_clear(&response->body);
}

void api_request_caller(const struct api_request *request, char *out, size_t bytes)
{
    bool token = request->who != NULL && request->who[0] != '\0';
    const char *peer = request->peer != NULL ? request->peer : "";
    (void)snprintf(out, bytes, "%s%s", token ? "token/" : "", token ? request->who : peer);
}

void api_response_close(struct api_response *response)
{
    response_reset(response);
    buf_close(&response->body);
    ledger_close(&response->account);
}

const char *api_response_header(const struct api_response *response, const char *name)
{
    for (size_t i = 0; i < response->header_count; i++)
        if (strcasecmp(response->headers[i].name, name) == 0)
            return response->headers[i].value;
    return NULL;
}

void response_header(struct api_response *response, const char *name, const char *format, ...)
{
    char *value = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&value, format, args);
    va_end(args);
    if (length < 0)
        return; /* not enough memory: the response goes out without this header */
    for (char *c = value; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = ' '; /* a line break in a value would start a new header */
    for (size_t i = 0; i < response->header_count; i++) {
        if (strcasecmp(response->headers[i].name, name) == 0) {
            free(response->headers[i].value);
            response->headers[i].value = value;
            return;
        }
    }
    if (response->header_count == API_HEADERS_MAX) {
        free(value);
        return;
    }
    response->headers[response->header_count++] = (struct api_header){name, value};
}

const char *exchange_param(const struct exchange *x, const char *name)
{
    for (size_t i = 0; i < x->match.count; i++)
        if (strcmp(x->match.names[i], name) == 0)
            return x->match.values[i];
    return "";
}

const char *exchange_query(const struct exchange *x, const char *name)
{
    return query_get(&x->query, name);
}

int64_t exchange_query_integer(const struct exchange *x, const char *name, int64_t otherwise)
{
    const char *text = exchange_query(x, name);
    int64_t value = otherwise;
    return text != NULL && text_integer(text, &value) ? value : otherwise;
}

bool exchange_query_flag(const struct exchange *x, const char *name)
{
    const char *text = exchange_query(x, name);
    return text != NULL && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
}

const char *exchange_header(const struct exchange *x, const char *name)
{
    return x->request->header != NULL ? x->request->header(x->request->header_context, name) : NULL;
}

cJSON *exchange_object(struct exchange *x)
{
    return exchange_object_in(x, x->request->body_bytes);
}

cJSON *exchange_object_in(struct exchange *x, size_t bytes)
{
    struct error err;
    error_clear(&err);
    cJSON *root;
    const char *text = bytes > 0 ? x->request->body : "";
    enum status status = json_parse(text, bytes, &root, &err);
    if (status == STATUS_CORRUPT) {
        respond_problem(x, PROBLEM_BAD_JSON, "%s", err.message);
        return NULL;
    }
    if (status) {
        respond_error(x, &err);
        return NULL;
    }
    if (!cJSON_IsObject(root)) {
        (void)error_set(&err, STATUS_INVALID, "", "must be an object; got %s", json_type_name(root));
        respond_error(x, &err);
        cJSON_Delete(root);
        return NULL;
    }
    return root;
}

void exchange_hash_body(struct exchange *x, struct hash *hash)
{
    enum { PIECE = 1 << 22 };
    const char *body = x->request->body;
    size_t left = x->request->body_bytes;
    for (size_t now; left > 0 && !work_stopped(&x->work); body += now, left -= now) {
        now = left < PIECE ? left : PIECE;
        hash_add(hash, body, now);
    }
}

void respond_body(struct exchange *x, int status, const char *media_type)
{
    if (x->response->body.failed) {
        respond_problem(x, PROBLEM_INTERNAL, "The response does not fit into memory.");
        return;
    }
    x->response->status = status;
    response_header(x->response, "Content-Type", "%s", media_type);
}

void respond_json(struct exchange *x, int status)
{
    if (!json_sink_done(&x->json)) {
        log_line(&x->api->options.log, LOG_LEVEL_ERROR, "request %s: %s %s wrote an incomplete document",
                 x->response->id, x->request->method, x->match.route != NULL ? x->match.route->pattern : "");
        respond_problem(x, PROBLEM_INTERNAL, "The response could not be written.");
        return;
    }
    respond_body(x, status, "application/json");
}

void respond_empty(struct exchange *x, int status)
{
    buf_clear(&x->response->body);
    x->response->status = status;
}

static void problem_response(struct exchange *x, enum problem problem, const char *detail, const char *member,
                             const struct api_faults *faults)
{
    struct api_response *response = x->response;
    response_reset(response);
    const struct problem_kind *kind = problem_kind(problem);
    problem_write(&response->body, problem, kind->status, NULL, detail, response->id, member, faults,
                  exchange_error_member(x));
    response->status = kind->status;
    response_header(response, "Content-Type", "application/problem+json");
    response_header(response, "Cache-Control", "no-store");
    if (problem == PROBLEM_UNAVAILABLE || problem == PROBLEM_TOO_MANY)
        response_header(response, "Retry-After", "%d", RETRY_SECONDS);
}

const char *exchange_error_member(const struct exchange *x)
{
    return x->match.dialect != NULL ? x->match.dialect->error : NULL;
}

void respond_problem(struct exchange *x, enum problem problem, const char *format, ...)
{
    char detail[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    problem_response(x, problem, detail, "", NULL);
}

void respond_faults(struct exchange *x, enum problem problem, const char *member, const struct api_faults *faults)
{
    char detail[512];
    size_t more = faults->count + faults->more - 1;
    const struct api_fault *first = &faults->items[0];
    int used =
        snprintf(detail, sizeof detail, "%s%s%s", first->pointer, first->pointer[0] != '\0' ? ": " : "", first->detail);
    if (more > 0)
        (void)snprintf(detail + used, sizeof detail - (size_t)used, " (and %zu more %s)", more,
                       more == 1 ? "fault" : "faults");
    problem_response(x, problem, detail, member, faults);
}

void respond_error(struct exchange *x, const struct error *err)
{
    enum problem problem = problem_of_error(err->code);
    bool public = problem_is_public(err->code);
    if (problem == PROBLEM_INVALID && x->request->body_bytes == 0) {
        problem = PROBLEM_INTERNAL; /* the client sent no body that could be invalid, so the fault is in this program */
        public = false;
    }
    if (problem == PROBLEM_INVALID) {
        struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
        if (faults != NULL) {
            api_faults_add(faults, err->pointer, "%s", err->message);
            respond_faults(x, problem, "pointer", faults);
            return;
        }
    }
    if (public) {
        respond_problem(x, problem, "%s", err->message);
        return;
    }
    log_line(&x->api->options.log, LOG_LEVEL_ERROR, "request %s: %s: %s", x->response->id, status_name(err->code),
             err->message);
    respond_problem(x, problem, "%s",
                    err->code == STATUS_IO          ? "The database or a file cannot be read or written at the moment."
                    : err->code == STATUS_NO_MEMORY ? "There is not enough memory at the moment."
                    : err->code == STATUS_CORRUPT   ? "Stored bytes could not be read."
                                                  : "The log of the daemon has details under the id of this request.");
}

void respond_no_place(struct exchange *x, const struct error *err, const char *what, int most)
{
    if (err->code == STATUS_NO_MEMORY)
        respond_error(x, err);
    else
        respond_problem(x, PROBLEM_TOO_MANY,
                        "%d %s may be in progress at a time, of which a token or address may have half; try again "
                        "later.",
                        most, what);
}

bool respond_not_modified(struct exchange *x, const char *etag)
{
    response_header(x->response, "ETag", "%s", etag);
    const char *known = exchange_header(x, "If-None-Match");
    if (known == NULL || !etag_listed(known, etag, true))
        return false;
    respond_empty(x, 304);
    return true;
}

void sink_time(const struct sink *out, const char *key, int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts = {0};
    char text[40], whole[48];
    if (ms <= 0) {
        sink_null(out, key);
        return;
    }
    (void)gmtime_r(&seconds, &parts); /* cannot fail: for any number of milliseconds, the year fits into an int */
    (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(whole, sizeof whole, "%s.%03dZ", text, (int)(ms % 1000));
    sink_text(out, key, whole);
}
