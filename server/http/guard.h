/* Checks the head of a request before any other code uses it.
 *
 * The parser before it (libmicrohttpd 0.9.75) is lenient where RFC 9112 is strict: it accepts two different
 * Content-Length headers, Content-Length together with Transfer-Encoding, unknown transfer codings, names with spaces
 * and NUL in values. With each of them two parsers can see two different requests. The guard therefore refuses such a
 * request and closes the connection, because the start of the next request is in doubt.
 *
 * The guard checks Host against DNS rebinding, where a page of another site points its name at 127.0.0.1: a daemon on
 * loopback accepts loopback names and the names of --allow-host. It checks Origin against forged writes from pages of
 * other sites. Pure functions; any thread. */
#ifndef MOTIF_SERVER_HTTP_GUARD_H
#define MOTIF_SERVER_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard_header {
    const char *name, *value; /* both end with NUL */
    size_t name_bytes, value_bytes;
};

struct guard_request {
    const char *method, *version, *target;
    const struct guard_header *headers;
    size_t header_count;
};

struct guard_rules {
    bool loopback;          /* bound to a loopback address */
    const char *allow_host; /* further accepted names, separated by commas; "" for none */
    size_t target_max;      /* bytes of the request target */
    size_t headers_max;     /* bytes of all names and values together */
};

struct guard_verdict {
    int status; /* HTTP status of the refusal */
    const char *title, *detail;
    bool close; /* the framing is in doubt: close the connection */
};

/* Returns false when the request must be refused with the verdict's status. */
bool guard_check(const struct guard_rules *rules, const struct guard_request *request, struct guard_verdict *verdict);

/* Value of a header, or NULL. The case of `name` does not matter. */
const char *guard_header(const struct guard_request *request, const char *name);

/* Returns whether a body follows; *bytes is its length, or UINT64_MAX when chunked. Only after guard_check() has
 * returned true. */
bool guard_body(const struct guard_request *request, uint64_t *bytes);

#endif
