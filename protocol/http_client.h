/* The HTTP client of motifctl and motif-train: one connection to one server, over libcurl. Only one thread may use a
 * connection. */
#ifndef MOTIF_PROTOCOL_HTTP_CLIENT_H
#define MOTIF_PROTOCOL_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/error.h"

struct http;

struct http_answer;

struct http_request {
    const char *method; /* method, such as "GET" */
    const char *path;   /* path and query, such as "/v1/jobs?limit=1" */
    const char *body;   /* body of the request; NULL: none */
    size_t body_bytes;  /* bytes of `body`; 0: it is text that ends with a NUL */
    const char *type;   /* media type of the body; NULL: application/json */
    FILE *from;         /* file from which `from_bytes` bytes of the body are read; NULL: none */
    int64_t from_bytes;
    const char *accept;     /* value of Accept; NULL: application/json */
    const char *headers[4]; /* further header lines, each complete; unused entries are NULL */
    FILE *file; /* file for the body of an answer with a status below 300; NULL: the body goes to the answer's buffer */
    /* Called after the head of the answer, before the first byte goes to `file` or `piece`. May be NULL. */
    void (*begins)(void *context, const struct http_answer *answer);
    /* Called often while a body arrives, and about once a second while no byte arrives. False stops the transfer. May
     * be NULL. */
    bool (*moving)(void *context, int64_t received, int64_t expected);
    /* Called with pieces of the body of an answer with a status below 300; the body is then not stored. False stops the
     * transfer. May be NULL. */
    bool (*piece)(void *context, const char *bytes, size_t count);
    void *context; /* context of the three functions above */
};

struct http_answer {
    long status;
    struct buf body; /* the body if it did not go to `file` or piece(), for example the body of an error */
    char etag[128], location[512], content_type[128], content_range[128];
    double retry_after; /* value of Retry-After in seconds; 0: the header is missing */
    int64_t file_bytes; /* bytes written to `file` */
};

/* Makes a client of a server; the first request opens the connection. `server` is a URL without a path, such as
 * "http://127.0.0.1:8080". `token` may be NULL. STATUS_INVALID: `server` has another form. */
enum status http_create(const char *server, const char *token, struct http **http, struct error *err);
void http_destroy(struct http *http);
/* Later connections of the process trust the certificate authorities in this PEM file, and not those of the system.
 * The text `file` must stay valid. Without this call, or with NULL or "", connections to an https:// server use the
 * file in MOTIFD_CACERT, CURL_CA_BUNDLE or SSL_CERT_FILE, if one is set. Call it before the threads of a process start.
 */
void http_trust(const char *file);
/* The server is this machine, at an address that no other user can serve: later requests use no proxy, and accept any
 * certificate, because its name is that of another address. */
void http_local(struct http *http);
/* Makes another client of the same server, with its own connection, so that a stream and other requests can be in
 * progress at the same time. */
enum status http_second(const struct http *http, struct http **second, struct error *err);
const char *http_server(const struct http *http);
/* Whether a status of an answer means success: 200 to 299. */
bool http_succeeded(long status);

/* Sends a request. Returns STATUS_OK when an answer came, with any status; STATUS_UNAVAILABLE when the server could not
 * be reached or the connection broke (err says how). The caller closes the answer in any case. */
enum status http_call(struct http *http, const struct http_request *request, struct http_answer *answer,
                      struct error *err);
void http_answer_close(struct http_answer *answer);

/* Appends `text` percent-encoded, for a path segment or a query value. */
void http_escape(struct buf *out, const char *text);

#endif
