/* The HTTP client of motifctl and motif-train: one connection to one server, over libcurl. One thread per
 * connection. */
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
    const char *type;   /* media type of the body; NULL: application/json */
    FILE *from;         /* reads the body from here, `from_bytes` bytes; NULL: none */
    int64_t from_bytes;
    const char *accept;     /* NULL: application/json */
    const char *headers[4]; /* further complete header lines; the rest is NULL */
    FILE *file;             /* receives the body of an answer below 300; NULL: it goes to the answer's buffer */
    /* Called after the head of the answer, before the first byte goes to `file` or `piece`. May be NULL. */
    void (*begins)(void *context, const struct http_answer *answer);
    /* Called about every 100 ms while a body arrives; false stops the transfer. May be NULL. */
    bool (*moving)(void *context, int64_t received, int64_t expected);
    /* Called with the bytes of a body below 300, which is then not kept; false stops the transfer. May be NULL. */
    bool (*piece)(void *context, const char *bytes, size_t count);
    void *context; /* of the three functions */
};

struct http_answer {
    long status;
    struct buf body; /* body of any answer that did not go to `file`; the body of an error is here too */
    char etag[128], location[512], content_type[128], content_range[128];
    double retry_after; /* value of Retry-After in seconds; 0: the header is missing */
    int64_t file_bytes; /* bytes written to `file` */
};

/* `server` is a URL without a path: "http://127.0.0.1:8080". `token` may be NULL. STATUS_INVALID for another URL. */
enum status http_create(const char *server, const char *token, struct http **http, struct error *err);
void http_destroy(struct http *http);
/* A further connection to the same server, for a stream beside other requests. */
enum status http_second(const struct http *http, struct http **second, struct error *err);
const char *http_server(const struct http *http);

/* Sends a request. Returns STATUS_OK when an answer came, with any status; STATUS_UNAVAILABLE when the server could not
 * be reached or the connection broke (err says how). The caller closes the answer in any case. */
enum status http_call(struct http *http, const struct http_request *request, struct http_answer *answer,
                      struct error *err);
void http_answer_close(struct http_answer *answer);

/* Appends `text` percent-encoded, for a path segment or a query value. */
void http_escape(struct buf *out, const char *text);

#endif
