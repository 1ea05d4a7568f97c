/* Checks the head of a request before any other code uses it.
 *
 * The parser that runs before the guard (libmicrohttpd 0.9.75) accepts requests that RFC 9112 forbids: two different
 * Content-Length headers, Content-Length together with Transfer-Encoding, unknown transfer codings, names with spaces,
 * and NUL in values. Two parsers can read different requests from the same bytes of this kind. The guard therefore
 * refuses such a request and closes the connection, because the start of the next request is uncertain.
 *
 * The check of Host prevents DNS rebinding: an attacker makes the name of a site point to 127.0.0.1, and a browser then
 * sends the requests of the site's page to this daemon. So a daemon on loopback accepts only loopback names and the
 * names of --allow-host. The check of Origin refuses writes that pages of other sites send. Pure functions; any
 * thread. */
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
    bool loopback;          /* true if the daemon listens on a loopback address */
    bool tls;               /* true if the daemon's connections use TLS */
    const char *allow_host; /* further accepted names, separated by commas; "" for none */
    size_t target_max;      /* upper limit of the bytes of the request target */
    size_t headers_max;     /* upper limit of the bytes of all names and values together */
};

struct guard_verdict {
    int status; /* HTTP status of the refusal */
    const char *title, *detail;
    bool close; /* close the connection, because the end of this request is uncertain */
};

/* Returns false when the request must be refused with the verdict's status. */
bool guard_check(const struct guard_rules *rules, const struct guard_request *request, struct guard_verdict *verdict);

/* Value of a header, or NULL. The case of `name` does not matter. */
const char *guard_header(const struct guard_request *request, const char *name);

/* Returns whether a body follows. *bytes is its length, or UINT64_MAX if the body is chunked. May be called only after
 * guard_check() has returned true. */
bool guard_body(const struct guard_request *request, uint64_t *bytes);

#endif
