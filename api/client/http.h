/* motifctl's side of HTTP: one connection to one server, over libcurl. One thread. */
#ifndef MOTIF_API_CLIENT_HTTP_H
#define MOTIF_API_CLIENT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/error.h"

struct http;

struct http_answer;

struct http_request {
    const char *method; /* "GET" */
    const char *path;   /* "/v1/jobs?limit=1" */
    const char *body;   /* NULL: none */
    size_t body_bytes;  /* 0: `body` is text that ends with a NUL */
    const char *type;   /* of the body; NULL: application/json */
    FILE *from;         /* a body that is read from here, `from_bytes` of it; NULL: none */
    int64_t from_bytes;
    const char *accept;     /* NULL: application/json */
    const char *headers[4]; /* further complete header lines, the rest NULL */
    FILE *file;             /* NULL: a body of an answer below 300 goes to the answer's buffer */
    /* Called before the first byte goes to `file` or `piece`: the head of the answer is there. May be NULL. */
    void (*begins)(void *context, const struct http_answer *answer);
    /* Called about every 100 ms while a body arrives; false breaks off. May be NULL. */
    bool (*moving)(void *context, int64_t received, int64_t expected);
    /* Called with the bytes of a body below 300 instead of keeping them; false breaks off. May be NULL. */
    bool (*piece)(void *context, const char *bytes, size_t count);
    void *context; /* of all three */
};

struct http_answer {
    long status;
    struct buf body; /* of any answer that did not go to `file`, errors too */
    char etag[128], location[512], content_type[128], content_range[128];
    double retry_after; /* seconds; 0: not said */
    int64_t file_bytes; /* written to `file` */
};

/* `server` is a URL without a path: "http://127.0.0.1:8080". `token` may be NULL. */
enum status http_create(const char *server, const char *token, struct http **http, struct error *err);
void http_destroy(struct http *http);
/* A further connection to the same server, for a stream beside other requests. */
enum status http_twin(const struct http *http, struct http **twin, struct error *err);
const char *http_server(const struct http *http);

/* STATUS_OK when an answer came, whatever its status; STATUS_UNAVAILABLE when the server could not be
 * reached or broke off (err says how). The answer must be closed in any case. */
enum status http_call(struct http *http, const struct http_request *request, struct http_answer *answer,
                      struct error *err);
void http_answer_close(struct http_answer *answer);

/* Percent-encodes a path segment or query value. */
void http_escape(struct buf *out, const char *text);

#endif
