/* HTTP requests for tests: libcurl sends well-formed requests, raw sockets send malformed ones. */
#ifndef MOTIF_TESTS_HARNESS_CLIENT_H
#define MOTIF_TESTS_HARNESS_CLIENT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct reply {
    int status;    /* HTTP status; 0: the server did not answer */
    char *headers; /* the head of the answer as text */
    char *body;
    size_t body_bytes;
    cJSON *json; /* the body, when it is JSON; otherwise NULL */
};

struct call {
    const char *method, *path;
    const char *body;           /* body of the request; NULL: none */
    size_t body_bytes;          /* size of the body; 0: strlen(body) */
    const char *type;           /* Content-Type; NULL: application/json when there is a body; "": none */
    const char *const *headers; /* further "Name: value" lines, ended by NULL; NULL: none */
    const char *authority;      /* PEM file of the certificate that the client trusts; NULL: those of the system */
    long tls_most;              /* CURL_SSLVERSION_MAX_...: newest TLS version to offer; 0: any */
};

/* Sends a request and fills `reply`, which the caller empties with reply_close(). The status is 0 when the
 * connection failed. Any thread may call it. */
void call_server(const char *url, const struct call *call, struct reply *reply);
void reply_close(struct reply *reply);
/* Copies the value of a header into a buffer of 256 bytes; "" when it is missing. */
const char *reply_header(const struct reply *reply, const char *name, char value[256]);

/* Shorthands for call_server() with the usual methods. */
void get(const char *url, const char *path, struct reply *reply);
void post(const char *url, const char *path, const char *json, struct reply *reply);
const char *json_text(const cJSON *object, const char *name); /* Returns the text of a member; "" when it is missing. */
double json_number(const cJSON *object, const char *name); /* Returns the number of a member; NaN when it is missing. */

/* Opens a TCP connection to the port; returns -1 when it is refused. */
int raw_connect(int port);
bool raw_send(int fd, const void *bytes, size_t count);
/* Reads until the peer closes or no byte arrives for `ms`. Returns the number of bytes; the text ends with NUL. */
size_t raw_read(int fd, char *text, size_t size, int ms);
/* Reads until the text contains `words`, for at most 60 s; returns false when it never does. The text ends with NUL. */
bool raw_await(int fd, char *text, size_t size, const char *words);
/* Returns true when the peer has closed the connection, or closes it within `ms`. */
bool raw_closed(int fd, int ms);
/* Sends bytes, reads one answer for at most 5 s and closes the connection. Returns the status of the answer, or 0
 * when no answer came. Stores the answer in `text` unless that is NULL. */
int raw_status(int port, const void *request, size_t count, char *text, size_t size);

#endif
