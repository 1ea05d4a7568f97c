/* A request as the adapter delivers it and the response that it sends: types that server/ and the handlers share.
 *
 * A request and its response belong to one thread. */
#ifndef MOTIF_API_HTTP_MESSAGE_H
#define MOTIF_API_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

struct api_upload;

/* What a token allows; a scope includes those before it. A route requires at least one scope. */
enum api_scope {
    API_SCOPE_NONE,
    API_SCOPE_READ,
    API_SCOPE_SUBMIT,
    API_SCOPE_ADMIN,
    API_SCOPE_TRAINER /* scope of a route: only the job's trainer may call it, with the token of its lease */
};

#define API_TARGET_MAX 4096                   /* bytes of a request target */
#define API_JSON_MAX (1024u * 1024u)          /* bytes of a JSON body */
#define API_BODY_MAX (16u * 1024u * 1024u)    /* bytes of the inputs of a query */
#define API_IMPORT_MAX (128u * 1024u * 1024u) /* bytes of a model; it is held in memory while it is checked */
#define API_UPLOAD_MAX ((size_t)1 << 36)      /* body limit of a route that takes its body as a stream */
#define API_HEADERS_MAX 20
#define API_REQUEST_ID 40 /* bytes of a request id with its NUL */

struct api_request {
    const char *method; /* "GET" */
    /* Path and query as in the request line, still percent-encoded: "/v1/jobs?limit=2". (From libmicrohttpd's
     * MHD_OPTION_URI_LOG_CALLBACK; its decoded URL must not be used.) */
    const char *target;
    /* Returns the value of a header, or NULL; the case of the name is ignored. The value stays valid until the response
     * is closed. The adapter refuses requests in which a header occurs twice with different values. */
    const char *(*header)(void *context, const char *name);
    void *header_context;
    /* Returns true when the client has closed its connection, so that the response is useless; queries stop then.
     * NULL: unknown. */
    bool (*gone)(void *context);
    void *gone_context;
    const void *body; /* NULL: no body, or it has not arrived yet */
    size_t body_bytes;
    struct api_upload *upload; /* scope of the caller's token; ADMIN when the daemon needs no tokens */
    enum api_scope scope;      /* of the caller's token; ADMIN when the daemon needs no tokens */
    const char *who, *peer;    /* name of the token and address of the client, for the audit log; NULL means "" */
    /* Chosen by the adapter (letters, digits, '-'). "": api_handle() generates an id. */
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
    /* The body: `body.size` bytes at `body.data`, or, when `read` is set, `read_bytes` bytes that read() delivers. 204
     * and 304 have none. A response to HEAD is the same as to GET; the adapter sends the length without the bytes. */
    struct buf body;
    uint64_t read_bytes;
    /* Copies up to `count` bytes of the body from `offset` to `to` and returns how many. 0 is a failure: the adapter
     * must then close the connection, because it has already sent the length. One thread at a time; any order of
     * offsets. */
    size_t (*read)(void *context, uint64_t offset, void *to, size_t count);
    void (*read_close)(void *context);
    void *read_context;
    /* An event stream. The adapter sends `body` first and then, while the client stays connected, the events of
     * `events_job` ("": of all jobs) whose ids exceed `events_after`, as event_write() formats them. */
    bool events;
    char events_job[32];
    int64_t events_after;
    const char *route; /* pattern of the route, for logs; "" when no route matched; static */
    double seconds;    /* duration of api_handle() */
    char id[API_REQUEST_ID];
};

/* Frees the body, the headers and the reader. Call it once for every response that api_admit() (when it returns
 * false), api_upload_begin() (likewise), api_handle() or api_refuse() filled. */
void api_response_close(struct api_response *response);
/* The value of a header, or NULL when the response has none of this name. The response keeps the memory. */
const char *api_response_header(const struct api_response *response, const char *name);

#endif
