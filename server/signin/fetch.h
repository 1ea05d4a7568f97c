/* Requests to an issuer: bounded in time and size, without redirections. */
#ifndef MOTIF_SERVER_SIGNIN_FETCH_H
#define MOTIF_SERVER_SIGNIN_FETCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/error.h"

#define FETCH_URL 1024 /* bytes of a URL, with its NUL */
#define FETCH_BYTES ((size_t)1 << 20)

/* Whether the host of a URL is localhost, 127.0.0.0/8 or ::1. */
bool fetch_loopback(const char *url);

/* Whether a URL may be fetched: https://, or http:// to loopback if `loopback`. */
bool fetch_allowed(const char *url, bool loopback);

/* Gets a URL or, with a body (form-encoded), posts to it. `out` receives the body of the answer. `ending` stops the
 * transfer. STATUS_UNAVAILABLE: the server cannot be reached, took more than ten seconds, or answered more than
 * FETCH_BYTES. STATUS_INVALID: it answered with another status than 200; `out` has its body. */
enum status fetch(const char *url, const char *body, const atomic_bool *ending, struct buf *out, struct error *err);

#endif
