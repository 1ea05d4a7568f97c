/* Requests for tests: libcurl for what is well formed, raw sockets for what is not. */
#ifndef MOTIF_TESTS_HARNESS_CLIENT_H
#define MOTIF_TESTS_HARNESS_CLIENT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct reply {
    int status;    /* 0: no answer */
    char *headers; /* raw head */
    char *body;
    size_t body_bytes;
    cJSON *json; /* the body, when it is JSON */
};

struct call {
    const char *method, *path;
    const char *body;           /* NULL: none */
    size_t body_bytes;          /* 0: strlen(body) */
    const char *type;           /* Content-Type; NULL: application/json where there is a body */
    const char *const *headers; /* further "Name: value" lines, NULL-terminated, or NULL */
    const char *authority;      /* PEM file of the certificate that is trusted; NULL: the system's */
    long tls_most;              /* CURL_SSLVERSION_MAX_...: no newer TLS than this; 0: any */
};

/* Fills `reply`, which reply_close() empties. status 0 when the connection failed. Any thread. */
void call_server(const char *url, const struct call *call, struct reply *reply);
void reply_close(struct reply *reply);
/* Value of a header, copied into a buffer of 256 bytes; "" when it is not there. */
const char *reply_header(const struct reply *reply, const char *name, char value[256]);

/* Shorthands. */
void get(const char *url, const char *path, struct reply *reply);
void post(const char *url, const char *path, const char *json, struct reply *reply);
const char *json_text(const cJSON *object, const char *name); /* "" when missing */
double json_number(const cJSON *object, const char *name);    /* NaN when missing */

/* A TCP connection to the port; -1 when refused. */
int raw_connect(int port);
bool raw_send(int fd, const void *bytes, size_t count);
/* Reads until the peer closes or `ms` pass without a byte. Returns the number of bytes; text is terminated. */
size_t raw_read(int fd, char *text, size_t size, int ms);
/* Reads until `words` have come, for at most 60 s; false: they have not. text is terminated. */
bool raw_await(int fd, char *text, size_t size, const char *words);
/* True when the peer has closed (or closes within `ms`). */
bool raw_closed(int fd, int ms);
/* Sends, reads one answer with a limit of 5 s, closes: its status, 0 for none. `text` may be NULL. */
int raw_status(int port, const void *request, size_t count, char *text, size_t size);

#endif
