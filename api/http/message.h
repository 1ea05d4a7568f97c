/* A request as the adapter delivers it and the response that it sends: types that server/ and the handlers share.
 *
 * A request and its response belong to one thread. */
#ifndef MOTIF_API_HTTP_MESSAGE_H
#define MOTIF_API_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/ledger.h"
#include "storage/jobs/viewer.h"

struct api_upload;

/* What a token allows; each scope includes the previous ones. A route requires at least one scope. Each scope of a
 * token is a role (rights/rights.h), which decides what it allows with the jobs and data sets of others. The numbers
 * are stored. */
enum api_scope {
    API_SCOPE_NONE,
    API_SCOPE_READ,   /* reader */
    API_SCOPE_SUBMIT, /* member */
    API_SCOPE_MANAGE, /* manager of the token's team */
    API_SCOPE_ADMIN,
    API_SCOPE_OPERATOR, /* of no stored token: the caller could read the key beside the database (auth.h) */
    API_SCOPE_TRAINER /* for routes only: the caller must be the job's trainer and send the token of the job's lease */
};

#define API_TARGET_MAX 4096                  /* upper limit of the bytes of a request target */
#define API_JSON_MAX (1024u * 1024u)         /* upper limit of the bytes of a JSON body */
#define API_BODY_MAX (16u * 1024u * 1024u)   /* upper limit of the bytes of the inputs of a query */
#define API_TEXT_MAX (1024u * 1024u * 1024u) /* upper limit of the bytes of the text that a query reads */
#define API_ROWS_MAX (2048u * 1024u * 1024u) /* upper limit of the bytes of the rows of a query (query_rows.h) */
#define API_IMPORT_MAX ((size_t)1 << 32)     /* upper limit of the bytes of a model, whatever the options */
#define API_UPLOAD_MAX ((size_t)1 << 36)     /* upper limit of the bytes of a body that is taken as a stream */
#define API_HEADERS_MAX 20
#define API_REQUEST_ID 40 /* bytes of a request id with its NUL */

struct api_request {
    const char *method; /* method, such as "GET" */
    /* Path and query as in the request line, still percent-encoded, such as "/v1/jobs?limit=2". libmicrohttpd reports
     * them by MHD_OPTION_URI_LOG_CALLBACK; its decoded URL must not be used. */
    const char *target;
    /* Returns the value of a header, or NULL; the case of the name is ignored. The value stays valid until the response
     * is closed. The adapter refuses requests in which a header occurs twice with different values. */
    const char *(*header)(void *context, const char *name);
    void *header_context;
    /* Returns true if the client has closed its connection. Nobody can receive the response then, so queries stop.
     * NULL: unknown. */
    bool (*gone)(void *context);
    void *gone_context;
    const void *body; /* NULL: no body, or it has not arrived yet */
    size_t body_bytes;
    struct api_upload *upload; /* open upload, on routes that take the body as a stream; else NULL */
    enum api_scope scope;      /* scope of the caller's token; ADMIN if the daemon needs no tokens */
    /* who: name of the client's token; team: its team; peer: address of the client; NULL means "" */
    const char *who, *team, *peer;
    bool signed_token; /* an issuer's token or a proxy names the client */
    const char *fault; /* why the client's credentials grant nothing: a sentence; NULL: none were sent, or they do */
    /* The adapter chooses the id (letters, digits, '-'). If it is "", api_handle() generates one. */
    char id[API_REQUEST_ID];
};

/* Writes the name under which the requests of one caller share limits: "token/NAME", or the address of a caller without
 * a token. The slash distinguishes the name of a token from an address. */
void api_request_caller(const struct api_request *request, char *out, size_t bytes);

struct api_header {
    const char *name; /* static text */
    char *value;      /* owned by the response */
};

struct api_response {
    int status;
    struct api_header headers[API_HEADERS_MAX];
    size_t header_count;
    /* The body: `body.size` bytes at `body.data`, or, if `read` is set, `read_bytes` bytes that read() returns. 204 and
     * 304 have no body. A response to HEAD is the same as to GET; the adapter sends its length without the bytes. */
    struct buf body;
    struct ledger_account account; /* of a large body in memory */
    uint64_t read_bytes;
    /* Copies up to `count` bytes of the body from `offset` to `to` and returns the number of bytes. 0 is a failure: the
     * adapter must then close the connection, because it has already sent the length. Offsets may come in any order,
     * from one thread at a time. */
    size_t (*read)(void *context, uint64_t offset, void *to, size_t count);
    void (*read_close)(void *context);
    void *read_context;
    /* `events` is true for an event stream. The adapter sends `body` first. Then, while the client stays connected, it
     * sends the events of `events_job` ("": of all jobs) whose ids exceed `events_after`, in the format of
     * event_write(). With `events_stored`, the stream ends after the events that are stored when it opens. */
    bool events, events_stored;
    struct viewer events_viewer; /* only events of jobs that this viewer may see */
    char events_job[32];
    int64_t events_after;
    const char *route; /* pattern of the route, for logs; "" when no route matched; static */
    double seconds;    /* seconds that api_handle() took */
    char id[API_REQUEST_ID];
};

/* Frees the body, the headers and the reader. Call it once for every response that was filled: by api_handle(), by
 * api_refuse(), or by api_admit() or api_upload_begin() when they return false. */
void api_response_close(struct api_response *response);
/* Returns the value of a header, or NULL if the response has no such header. The value belongs to the response. */
const char *api_response_header(const struct api_response *response, const char *name);

#endif
