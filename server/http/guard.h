/* What a request's head must look like before anything else looks at it.
 *
 * The parser in front (libmicrohttpd 0.9.75) is lenient where RFC 9112 is strict: it accepts two
 * different Content-Length, Content-Length beside Transfer-Encoding, unknown transfer codings, names
 * with spaces and NUL in values. Each of them makes two parsers see two different requests, so each
 * is refused, and the connection closed, because where the next request would begin is in doubt.
 *
 * Host is checked against DNS rebinding (a page of another site whose name was pointed at
 * 127.0.0.1): a daemon on loopback answers to loopback names and to those it was told. Origin is
 * checked against forged writes from pages of other sites. Pure functions; any thread. */
#ifndef MOTIF_SERVER_HTTP_GUARD_H
#define MOTIF_SERVER_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard_header {
    const char *name, *value; /* NUL-terminated as well */
    size_t name_bytes, value_bytes;
};

struct guard_request {
    const char *method, *version, *target;
    const struct guard_header *headers;
    size_t header_count;
};

struct guard_rules {
    bool loopback;          /* bound to a loopback address */
    const char *allow_host; /* further names, comma separated; "" for none */
    size_t target_max;      /* bytes of the request target */
    size_t headers_max;     /* bytes of all names and values together */
};

struct guard_verdict {
    int status; /* of the refusal */
    const char *title, *detail;
    bool close; /* the framing is in doubt */
};

/* False: refuse as the verdict says. */
bool guard_check(const struct guard_rules *rules, const struct guard_request *request, struct guard_verdict *verdict);

/* Value of a header or NULL; `name` in any case. */
const char *guard_header(const struct guard_request *request, const char *name);

/* True when a body will follow; *bytes is its length, or UINT64_MAX when chunked. Only after
 * guard_check() has passed. */
bool guard_body(const struct guard_request *request, uint64_t *bytes);

#endif
