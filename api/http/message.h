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

/* Frees the body, the headers and the reader. Call it once for every response that api_admit() (when it returns
 * false), api_upload_begin() (likewise), api_handle() or api_refuse() filled. */
void api_response_close(struct api_response *response);
/* The value of a header, or NULL when the response has none of this name. The response keeps the memory. */
const char *api_response_header(const struct api_response *response, const char *name);

#endif
