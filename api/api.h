/* The contract as a function: a request in, a response out. No sockets, and but for the parser of an upload (uploads.h)
 * no threads of its own.
 *
 * The process (server/) owns connections, tokens and workers; this room owns everything a client can
 * see: routes, validation, documents, errors. One table (route.h) says of every route its method,
 * pattern, scope, body limit, media types, parameters and answers; routing, 405, admission and the
 * OpenAPI document are read from it.
 *
 * How an adapter uses it, for each request:
 *   1. headers are complete: fill a struct api_request (no body yet) and call api_admit(). False: send
 *      the response, which refuses (400, 404, 405, 401, 403, 413, 414, 415), and read no body.
 *      True: read at most *body_limit bytes; when more arrive, call api_refuse(.., 413, ..).
 *   2. call api_handle() with the whole body; send the response; api_response_close().
 *
 * Every response is complete: status, Content-Type, X-Request-Id, ETag, security headers. Each
 * response, refused or not, is counted once in /metrics. All functions may be called from any number of
 * threads at the same time; a request and its response belong to one thread. */
#ifndef MOTIF_API_API_H
#define MOTIF_API_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/methods/method.h"

struct api;
struct api_route;
struct storage;
struct api_upload;

/* What a token may do; each scope includes those before it. A route asks for at least one of them. */
enum api_scope {
    API_SCOPE_NONE,
    API_SCOPE_READ,
    API_SCOPE_SUBMIT,
    API_SCOPE_ADMIN,
    API_SCOPE_TRAINER /* of a route: for the trainer of the job alone, with its own token */
};

#define API_TARGET_MAX 4096                   /* bytes of a request target */
#define API_JSON_MAX (1024u * 1024u)          /* bytes of a JSON body */
#define API_BODY_MAX (16u * 1024u * 1024u)    /* bytes of the inputs of a query */
#define API_IMPORT_MAX (128u * 1024u * 1024u) /* bytes of a model; it is held in memory while it is checked */
#define API_UPLOAD_MAX ((size_t)1 << 36)      /* of a route whose body is an upload: it streams */
#define API_HEADERS_MAX 20
#define API_REQUEST_ID 40 /* bytes of a request id with its NUL */

struct api_request {
    const char *method; /* "GET" */
    /* Path and query as they stood in the request line, still percent-encoded: "/v1/jobs?limit=2".
     * (libmicrohttpd: MHD_OPTION_URI_LOG_CALLBACK gives it; the decoded url must not be used.) */
    const char *target;
    /* Value of a header by its name (case does not matter), or NULL. Valid until the response is
     * closed. A header that occurs twice with different values is the adapter's to refuse. */
    const char *(*header)(void *context, const char *name);
    void *header_context;
    const void *body; /* NULL before it has arrived, and when there is none */
    size_t body_bytes;
    struct api_upload *upload; /* instead of a body, on a route that streams; else NULL */
    enum api_scope scope;      /* what the caller's token grants; ADMIN where no token is needed */
    const char *who, *peer;    /* the token's name and the other end's address, for the audit; NULL counts as "" */
    /* Chosen by the adapter (letters, digits, '-'), also for its log. "": one is made up. */
    char id[API_REQUEST_ID];
};

struct api_header {
    const char *name; /* static */
    char *value;      /* owned by the response */
};

struct api_response {
    int status;
    struct api_header headers[API_HEADERS_MAX];
    size_t header_count;
    /* The body: `body.size` bytes at `body.data`, or, when `read` is set, `read_bytes` bytes that
     * read() delivers. 204 and 304 have none. To HEAD both are as for GET: the length is sent, the
     * bytes are not. */
    struct buf body;
    uint64_t read_bytes;
    /* Copies up to `count` bytes from `offset` of the body to `to`, and says how many; 0 is a
     * failure (the connection must be broken off: the length has been promised). One thread at a
     * time, in any order. */
    size_t (*read)(void *context, uint64_t offset, void *to, size_t count);
    void (*read_close)(void *context);
    void *read_context;
    /* An event stream: `body` is how it begins; what follows is the adapter's to send for as long as the client stays:
     * the events of one job ("": of all jobs) with ids beyond `events_after`, as events.h writes them. */
    bool events;
    char events_job[32];
    int64_t events_after;
    const char *route; /* pattern of the route for logs, "" when none matched; static */
    double seconds;    /* that api_handle() took */
    char id[API_REQUEST_ID];
};

/* Facts of the process for /v1/system, /metrics, results and estimates. Texts are copied by nobody:
 * static, or living as long as the api. */
struct api_system {
    const char *version, *build, *compiler; /* "0.1.0", "release gcc 12.2.0", ... */
    const char *cpu, *cpu_features;         /* brand; "avx2 fma avx512f ..." in use */
    const char *kernels;                    /* "avx512" */
    const char *blas, *blas_core;           /* "OpenBLAS 0.3.21", "Haswell" */
    int cores, workers, workers_busy, threads_per_job;
    int64_t started_at;       /* milliseconds since 1970 */
    double gflops_per_thread; /* measured on this machine in training; 0: not known */
    uint64_t steps, samples;  /* done by this process since it started */
    uint64_t memory_bytes;    /* resident; 0: not known */
    int64_t queue_limit;      /* jobs that may wait; 0: no limit */
    bool tokens_required;
};

/* Calls into the process. Each may be called from any thread and must not block. */
struct api_daemon {
    void *context;
    void (*jobs_waiting)(void *context);                   /* a job was stored or resumed: look at the queue */
    void (*job_requested)(void *context, const char *job); /* pause or cancel was recorded for a running job */
    bool (*draining)(void *context);
    void (*system)(void *context, struct api_system *out);
    /* Further families for /metrics in Prometheus text; NULL: none. */
    void (*metrics)(void *context, struct buf *out);
    /* What a trainer in another process has done since it last said so; gflops of a thread, 0: not known. A checkpoint
     * of such a trainer is stored. May be NULL. */
    void (*trained)(void *context, uint64_t steps, uint64_t samples, double step_seconds, double gflops);
    void (*saved)(void *context);
};

struct api_options {
    struct storage *storage;             /* borrowed, outlives the api */
    const struct method *const *methods; /* borrowed */
    size_t method_count;
    const struct kernels *kernels; /* for queries */
    const char *data;              /* folder of data sets; borrowed; NULL: none */
    struct log_hook log;
    struct api_daemon host;
    uint64_t model_cache_bytes; /* models kept open for queries; 0: 1 GiB */
    int64_t job_memory;         /* most bytes that a job may need by its estimate; 0: not limited */
    struct api_share {          /* of one token; 0: not limited */
        int64_t jobs;           /* that are not finished */
        int64_t threads;        /* of its running jobs together; storage sees to it (owner_threads) */
        int64_t job_bytes;      /* of the checkpoints and files of its jobs, looked at when it submits */
        int64_t dataset_bytes;  /* of the data sets that it uploaded */
    } share;
    const char *const *executors; /* that a job may ask for, the default first; ends with NULL. NULL: "thread" alone */
    int threads_max;              /* most threads of one job; 0: 256 */
    int64_t upload_bytes;         /* of one upload of a data set; 0: 1 GiB */
    int64_t datasets_bytes;       /* of all data sets that were uploaded; 0: 16 GiB */
    int uploads_at_once;          /* 0: 2; more get 429 */
    int queries_at_once;          /* motif and predict queries that may compute; 0: 4; more get 429 */
};

enum status api_create(const struct api_options *options, struct api **api, struct error *err);
/* No request may be in progress and every response must be closed. NULL is fine. */
void api_destroy(struct api *api);

/* Before the body: see above. True: *body_limit says how many bytes may be read (0: none are
 * expected; whatever arrives must be refused with 413). False: the response is ready. */
bool api_admit(struct api *api, const struct api_request *request, struct api_response *response, size_t *body_limit);

/* For a route that streams, after api_admit(): the body is given piece by piece instead of being collected, and
 * `request->upload` says so to api_handle(). False: the response refuses. Whatever happens then, api_upload_close() is
 * called once; an upload that was not handled can be resumed if the client said its hash. */
bool api_upload_begin(struct api *api, const struct api_request *request, struct api_upload **upload,
                      struct api_response *response);
void api_upload_add(struct api_upload *upload, const void *bytes, size_t count);
void api_upload_close(struct api *api, struct api_upload *upload); /* NULL is fine */

/* Answers. Never fails: what goes wrong is a response of its own. Does the checks of api_admit()
 * again, so that it is safe alone. */
void api_handle(struct api *api, const struct api_request *request, struct api_response *response);

/* A problem of the adapter's own (400 framing, 413, 417, 421, 429 with Retry-After, 431, 503): `title` and
 * `detail` are for the client. retry_after: seconds, or 0 for none. Method and target of the request may be
 * NULL when they never arrived. */
void api_refuse(struct api *api, const struct api_request *request, int status, const char *title, const char *detail,
                int retry_after, struct api_response *response);

/* The trainer of a job is gone: a checkpoint of which it had sent a part is dropped. */
void api_trainer_gone(struct api *api, const char *job);

void api_response_close(struct api_response *response);
const char *api_response_header(const struct api_response *response, const char *name); /* NULL: none */

/* The route of a method and target, for what must be known early. NULL when there is none. */
const struct api_route *api_route_find(const struct api *api, const char *method, const char *target);
size_t api_route_body_limit(const struct api_route *route);
enum api_scope api_route_scope(const struct api_route *route);
bool api_route_streams(const struct api_route *route);
bool api_route_takes(const struct api_route *route, const char *content_type);

#endif
