/* Handles a request: finds its route, admits it (scope, media type, size), checks its query, calls the handler, adds
 * the headers of every response, and counts the response. */
#include "api/api.h"

#include <sodium/randombytes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "api/audit.h"
#include "api/datasets/datasets.h"
#include "api/datasets/uploads.h"
#include "api/documents/documents.h"
#include "api/documents/prometheus.h"
#include "api/http/exchange.h"
#include "api/http/query_check.h"
#include "api/jobs/job_name.h"
#include "protocol/faults.h"
#include "api/models/model_cache.h"
#include "api/queries/queries.h"
#include "api/queries/query_gate.h"
#include "api/queries/query_routes.h"
#include "api/review/mark_cache.h"
#include "api/rights/admit.h"
#include "api/routes.h"
#include "api/studies/studies.h"
#include "api/trainers/trainers.h"
#include "core/base/hash.h"
#include "storage/files/dataset.h"

#define MODEL_CACHE_BYTES (1ull << 30)
#define REQUEST_ARENA_BYTES (32u << 10)
#define REQUEST_ARENA_LIMIT (512u << 20)

static const char *const executors_default[] = {"thread", NULL};

/* Creates the ledger with the limits of the options. */
static enum status create_ledger(struct api *api, struct error *err)
{
    const struct api_options *options = &api->options;
    const int64_t limit[LEDGER_RESOURCES] = {
        [LEDGER_FILES] = options->request_files > 0 ? options->request_files : (int64_t)8 << 30,
        [LEDGER_MEMORY] = options->job_memory,
        [LEDGER_STORE] = options->datasets_bytes,
        [LEDGER_UPLOAD_PLACES] = options->uploads_at_once,
        [LEDGER_IMPORT_PLACES] = options->imports_at_once,
    };
    return ledger_create(limit, &api->ledger, err);
}

struct ledger *api_ledger(struct api *api)
{
    return api->ledger;
}

/* A route without a stated right would let everybody do what it does. */
static enum status check_rights(const struct route_table *table, struct error *err)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->routes[i].right == RIGHT_UNSTATED)
            return error_set(err, STATUS_INTERNAL, NULL, "the route %s states no right", table->routes[i].pattern);
    return STATUS_OK;
}

enum status api_create(const struct api_options *options, struct api **out, struct error *err)
{
    *out = NULL;
    struct api *api = calloc(1, sizeof *api);
    if (api == NULL)
        return error_memory(err, "the api");
    api->options = *options;
    api->reservations = (struct reservations){.lock = PTHREAD_MUTEX_INITIALIZER};
    (void)pthread_mutex_init(&api->shown.lock, NULL);
    if (api->options.model_cache_bytes == 0)
        api->options.model_cache_bytes = MODEL_CACHE_BYTES;
    if (api->options.executors == NULL)
        api->options.executors = executors_default;
    if (api->options.threads_max == 0)
        api->options.threads_max = 256;
    if (api->options.queries_at_once == 0)
        api->options.queries_at_once = 4;
    if (api->options.imports_at_once == 0)
        api->options.imports_at_once = 2;
    if (api->options.upload_bytes == 0)
        api->options.upload_bytes = (int64_t)1 << 30;
    if (api->options.import_bytes == 0)
        api->options.import_bytes = (int64_t)128 << 20;
    if (api->options.datasets_bytes == 0)
        api->options.datasets_bytes = (int64_t)16 << 30;
    if (api->options.uploads_at_once == 0)
        api->options.uploads_at_once = 4;
    dataset_sweep(api->options.data);
    buf_init(&api->openapi, 8u << 20);
    const struct route_table fixed = {api_routes, api_route_count};
    const struct query_handlers handlers = {query_answer, computation_answer};
    enum status status = query_routes_create(&fixed, &handlers, api->options.methods, api->options.method_count,
                                             &api->query_routes, err);
    if (!status) {
        api->routes = query_routes_table(api->query_routes);
        status = check_rights(&api->routes, err);
    }
    if (!status)
        status = counters_create(&api->routes, &api->counters, err);
    if (!status) {
        status = model_cache_create(api->options.storage, api->options.kernels, api->options.data,
                                    api->options.model_cache_bytes, &api->models, err);
    }
    if (!status)
        status = mark_cache_create(&api->marks, err);
    if (!status)
        status = query_gate_create(api->options.queries_at_once, api->options.queries_waiting, &api->gate, err);
    if (!status)
        status = create_ledger(api, err);
    if (!status)
        status = trainers_create(&api->trainers, err);
    if (!status)
        status = openapi_build(api, &api->openapi, err);
    if (status) {
        api_destroy(api);
        return status;
    }
    *out = api;
    return STATUS_OK;
}

void api_destroy(struct api *api)
{
    if (api == NULL)
        return;
    trainers_destroy(api->trainers);
    query_gate_destroy(api->gate);
    mark_cache_destroy(api->marks);
    model_cache_destroy(api->models);
    counters_destroy(api->counters);
    ledger_destroy(api->ledger);
    query_routes_destroy(api->query_routes);
    buf_close(&api->openapi);
    (void)pthread_mutex_destroy(&api->reservations.lock);
    shown_close(&api->shown);
    free(api);
}

void api_interrupt(struct api *api)
{
    atomic_store(&api->interrupted, true);
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) * 1e-9;
}

/* Whether nobody waits for the response any more. */
static bool api_stops(void *context)
{
    const struct exchange *x = context;
    return atomic_load(&x->api->interrupted) ||
           (x->request->gone != NULL && x->request->gone(x->request->gone_context));
}

static void api_begin(struct exchange *x, struct api *api, const struct api_request *request,
                      struct api_response *response)
{
    x->api = api;
    x->request = request;
    x->response = response;
    x->query.count = 0;
    x->noted = false;
    response_init(response, request);
    if (response->id[0] == '\0') {
        unsigned char random[12];
        randombytes_buf(random, sizeof random);
        for (size_t i = 0; i < sizeof random; i++)
            (void)snprintf(response->id + 2 * i, 3, "%02x", random[i]);
    }
    char caller[LEDGER_OWNER];
    api_request_caller(request, caller, sizeof caller);
    x->work = (struct work){.stop = api_stops, .context = x, .pause_ms = WORK_PAUSE_MS};
    ledger_open(&x->work.account, api->ledger, caller);
    arena_init(&x->arena, REQUEST_ARENA_BYTES, REQUEST_ARENA_LIMIT);
    json_sink_init(&x->json, &response->body);
    x->out = &x->json.sink;
    route_match(&api->routes, request->method != NULL ? request->method : "",
                request->target != NULL ? request->target : "/", &x->match);
    response->route = x->match.route != NULL ? x->match.route->pattern : "";
}

/* Adds an ETag to a response that may be cached, unless the handler set one. The ETag is a hash of the bytes. */
static void tag_body(struct exchange *x)
{
    struct api_response *response = x->response;
    if (response->status != 200 || response->read != NULL || strcmp(x->match.route->method, "GET") != 0 ||
        api_response_header(response, "ETag") != NULL || api_response_header(response, "Cache-Control") != NULL)
        return;
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT], etag[40];
    hash_bytes(response->body.data != NULL ? response->body.data : "", response->body.size, digest);
    hash_hex(digest, hex);
    (void)snprintf(etag, sizeof etag, "\"%.32s\"", hex);
    (void)respond_not_modified(x, etag);
}

/* Counts a large body in memory until it is sent, because slow readers may keep many of them. If there is no room, the
 * client gets 503 instead. */
static void count_body(struct exchange *x)
{
    enum { LARGE = 1 << 16 };
    struct api_response *response = x->response;
    struct error err;
    error_clear(&err);
    ledger_open(&response->account, x->api->ledger, x->work.account.owner);
    if (response->body.capacity <= LARGE ||
        !ledger_take(&response->account, LEDGER_TEXTS, (int64_t)response->body.capacity, &err))
        return;
    buf_close(&response->body);
    buf_init(&response->body, API_DOCUMENT_MAX);
    respond_problem(x, PROBLEM_UNAVAILABLE, "There is no room for the answer: %s.", err.message);
}

static void api_finish(struct exchange *x, const struct timespec *start)
{
    struct api_response *response = x->response;
    if (x->match.route != NULL)
        tag_body(x);
    count_body(x);
    response_header(response, "X-Request-Id", "%s", response->id);
    response_header(response, "X-Content-Type-Options", "nosniff");
    response_header(response, "Referrer-Policy", "no-referrer");
    response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    if (api_response_header(response, "Content-Security-Policy") == NULL)
        response_header(response, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    if (api_response_header(response, "Cache-Control") == NULL) {
        response_header(response, "Cache-Control", "%s",
                        api_response_header(response, "ETag") != NULL ? "no-cache" : "no-store");
    }
    audit_refusal(x);
    response->seconds = seconds_since(start);
    bool head = x->request->method != NULL && strcmp(x->request->method, "HEAD") == 0;
    counters_add(x->api->counters, x->match.route, head, response->status, response->seconds);
    ledger_close(&x->work.account);
    arena_close(&x->arena);
}

static bool admit_scope(struct exchange *x)
{
    static const char *const names[] = {"", "read", "submit", "manage", "admin", "operator"};
    const struct api_route *route = x->match.route;
    enum api_scope scope = x->request->scope;
    if (route->scope == API_SCOPE_TRAINER)
        return trainer_admit(x);
    if (route->scope != API_SCOPE_NONE && trainer_token(exchange_header(x, "Authorization")))
        scope = API_SCOPE_NONE; /* a trainer's token opens only the routes of trainers, even when the daemon needs no
                                   tokens */
    if (scope >= route->scope)
        return true;
    if (scope == API_SCOPE_NONE) {
        bool shown = exchange_header(x, "Authorization") != NULL;
        respond_problem(x, PROBLEM_UNAUTHORISED, "%s",
                        x->request->fault != NULL ? x->request->fault
                        : shown                   ? "The token is unknown, expired or revoked."
                                                  : "Send a token as 'Authorization: Bearer TOKEN'.");
        response_header(x->response, "WWW-Authenticate", "Bearer realm=\"motifd\"%s",
                        shown ? ", error=\"invalid_token\"" : "");
    } else {
        respond_problem(x, PROBLEM_FORBIDDEN, "This needs a token with the scope '%s'.", names[route->scope]);
        response_header(x->response, "WWW-Authenticate",
                        "Bearer realm=\"motifd\", error=\"insufficient_scope\", scope=\"%s\"", names[route->scope]);
    }
    return false;
}

/* True if a parameter in the query string states the format of the body. */
static bool states_format(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    if (query_parse(x->match.query, &x->query, &err))
        return false;
    return route_parameter(x->match.route, PARAMETER_FORMAT) != NULL && exchange_query(x, PARAMETER_FORMAT) != NULL;
}

/* Returns the largest body that a route takes, in bytes: the limit in the route table, or a smaller limit that the
 * options set. */
static size_t body_most(const struct api *api, const struct api_route *route)
{
    int64_t set = route_streams(route)                  ? api->options.upload_bytes
                  : route->body_limit == API_IMPORT_MAX ? api->options.import_bytes
                                                        : 0;
    return set > 0 && (size_t)set < route->body_limit ? (size_t)set : route->body_limit;
}

static bool admit_body(struct exchange *x)
{
    const struct api_route *route = x->match.route;
    const char *length = exchange_header(x, "Content-Length"), *type = exchange_header(x, "Content-Type");
    const char *coding = exchange_header(x, "Content-Encoding");
    int64_t bytes = (int64_t)x->request->body_bytes;
    if (length != NULL && (!text_integer(length, &bytes) || bytes < 0)) {
        respond_problem(x, PROBLEM_BAD_REQUEST, "Content-Length is not a number.");
        return false;
    }
    bytes = bytes > (int64_t)x->request->body_bytes ? bytes : (int64_t)x->request->body_bytes;
    size_t most = body_most(x->api, route);
    if ((uint64_t)bytes > most) {
        respond_problem(x, PROBLEM_TOO_LARGE, "%s %s accepts %s%zu bytes%s.", route->method, route->pattern,
                        most > 0 ? "at most " : "no body, not even of ", most > 0 ? most : (size_t)bytes,
                        route_streams(route)                  ? " (--upload-bytes of motifd serve)"
                        : route->body_limit == API_IMPORT_MAX ? " (--import-bytes of motifd serve)"
                                                              : "");
        return false;
    }
    bool has_body = bytes > 0 || exchange_header(x, "Transfer-Encoding") != NULL;
    if (!has_body || route->body_limit == 0)
        return true;
    if (coding != NULL && strcasecmp(coding, "identity") != 0) {
        respond_problem(x, PROBLEM_MEDIA_TYPE, "Content-Encoding is not supported; send the body without it.");
        return false;
    }
    bool typeless = route->dialect != NULL && route->dialect->typeless;
    if (!route_takes(route, type) && (type != NULL || !typeless) && !states_format(x)) {
        char taken[256] = "";
        for (const char *const *each = route->media_types; each != NULL && *each != NULL; each++) {
            size_t used = strlen(taken);
            (void)snprintf(taken + used, sizeof taken - used, "%s%s", used > 0 ? ", " : "", *each);
        }
        /* whether the query string may state the format instead of Content-Type */
        bool stated = route_parameter(route, PARAMETER_FORMAT) != NULL;
        respond_problem(x, PROBLEM_MEDIA_TYPE, "The Content-Type must be %s%s%s; got %.60s.",
                        strchr(taken, ',') != NULL ? "one of " : "", taken,
                        stated ? ", or ?format= must state the format" : "", type != NULL ? type : "none");
        response_header(x->response, strcmp(route->method, "PATCH") == 0 ? "Accept-Patch" : "Accept-Post", "%s", taken);
        return false;
    }
    return true;
}

/* Refuses a request if it has a header that the route does not support and that changes what the request does, such as
 * If-Match. A route that ignored the header would do something that the client does not want. */
static bool admit_headers(struct exchange *x)
{
    const struct api_route *route = x->match.route;
    bool reads = strcmp(route->method, "GET") == 0;
    const char *unread = NULL;
    if (!route_answers(route, 412) && exchange_header(x, "If-Match") != NULL)
        unread = "If-Match";
    else if (!reads && exchange_header(x, "If-None-Match") != NULL)
        unread = "If-None-Match";
    else if (route_answers(route, 201) && !route_keeps_keys(route) && exchange_header(x, "Idempotency-Key") != NULL)
        unread = "Idempotency-Key";
    else if (exchange_header(x, "Content-Range") != NULL)
        unread = "Content-Range";
    if (unread != NULL)
        respond_problem(x, PROBLEM_BAD_REQUEST, "%s %s does not support the header %s; send the request without it.",
                        route->method, route->pattern, unread);
    return unread == NULL;
}

static bool admit(struct exchange *x)
{
    const struct route_match *match = &x->match;
    char meant[API_TARGET_MAX + 8];
    if (match->route == NULL) {
        if (match->status == 400) {
            respond_problem(x, PROBLEM_BAD_REQUEST, "The request target is malformed: %s.", match->err.message);
        } else if (match->status == 405) {
            respond_problem(x, PROBLEM_METHOD, "The path does not support this method. Allowed: %s.", match->allow);
            response_header(x->response, "Allow", "%s", match->allow);
        } else if (match->status == 414) {
            respond_problem(x, PROBLEM_TARGET_TOO_LONG, "The request target may have at most %d bytes.",
                            API_TARGET_MAX);
        } else if (path_guess(x, meant)) {
            respond_problem(x, PROBLEM_NOT_FOUND, "There is no such path; did you mean %s?", meant);
        } else if (match->refused != NULL) {
            respond_problem(x, PROBLEM_NOT_FOUND, "There is no such path: a %s matches %s.", match->refused,
                            match->pattern);
        } else {
            respond_problem(x, PROBLEM_NOT_FOUND, "There is no such path; /openapi.json lists the paths.");
        }
        return false;
    }
    return admit_scope(x) && admit_headers(x) && admit_body(x);
}

bool api_admit(struct api *api, const struct api_request *request, struct api_response *response, size_t *body_limit)
{
    struct timespec start;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    struct exchange x;
    api_begin(&x, api, request, response);
    *body_limit = 0;
    if (request->signed_token)
        audit_signed_token(&x);
    if (!admit(&x)) {
        api_finish(&x, &start);
        return false;
    }
    *body_limit = body_most(api, x.match.route);
    arena_close(&x.arena);
    api_response_close(response);
    return true;
}

bool api_upload_begin(struct api *api, const struct api_request *request, struct api_upload **upload,
                      struct api_response *response)
{
    struct timespec start;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    struct exchange x;
    api_begin(&x, api, request, response);
    *upload = NULL;
    if (!query_check(&x) || !datasets_begin(&x, upload)) {
        api_finish(&x, &start);
        return false;
    }
    arena_close(&x.arena);
    api_response_close(response);
    return true;
}

void api_upload_add(struct api_upload *upload, const void *bytes, size_t count)
{
    upload_add(upload, bytes, count);
}

void api_upload_close(struct api *api, struct api_upload *upload)
{
    datasets_end(api, upload);
}

void api_handle(struct api *api, const struct api_request *request, struct api_response *response)
{
    struct timespec start;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    struct exchange x;
    api_begin(&x, api, request, response);
    if (admit(&x) && query_check(&x) && job_name_resolve(&x) && study_name_resolve(&x)) {
        if (x.match.route->body_limit > 0 && !x.match.route->body_optional && request->body_bytes == 0 &&
            request->upload == NULL) {
            respond_problem(&x, PROBLEM_BAD_REQUEST, "A body is needed.");
        } else {
            if (audit_begin(&x) && rights_admit(&x))
                x.match.route->handle(&x);
            if (x.noted)
                audit_end(&x);
        }
    }
    api_finish(&x, &start);
}

void api_refuse(struct api *api, const struct api_request *request, int status, const char *title, const char *detail,
                int retry_after, struct api_response *response)
{
    struct timespec start;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    struct exchange x;
    api_begin(&x, api, request, response);
    problem_write(&response->body, problem_of_status(status), status, title, detail, response->id, "", NULL,
                  exchange_error_member(&x));
    response->status = status;
    response_header(response, "Content-Type", "application/problem+json");
    if (retry_after > 0)
        response_header(response, "Retry-After", "%d", retry_after);
    api_finish(&x, &start);
}

const struct api_route *api_route_find(const struct api *api, const char *method, const char *target)
{
    return route_find(&api->routes, method, target);
}

bool api_route_streams(const struct api_route *route)
{
    return route_streams(route);
}

void api_trainer_gone(struct api *api, const char *job)
{
    trainers_drop_upload(api->trainers, job);
}
