/* HTTP/1.1 on libmicrohttpd, and nothing of its own: what a request means is api/'s business.
 *
 *   target seen → head complete: guard (guard.h), scope (auth.h), api_admit() → body into a bounded buffer
 *   → suspended, a handlers thread calls api_handle() → resumed, the answer goes out
 *
 * An event stream (streams.h) stays suspended between its events and holds no thread.
 * A refusal is sent before the body is read. Health answers come straight from the network thread, so
 * that they never queue behind a slow query. Deadlines are the reaper's. */
#ifndef MOTIF_SERVER_HTTP_HTTP_H
#define MOTIF_SERVER_HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "core/base/error.h"
#include "server/http/auth.h"
#include "server/process/journal.h"
#include "server/http/reaper.h"
#include "server/http/streams.h"

struct http;

struct http_options {
    const char *host; /* numeric */
    uint16_t port;    /* 0: a free one */
    bool loopback;
    const char *allow_host;
    bool tls; /* with the certificate of certificate.h */
    int threads, handlers;
    int connections, connections_per_address;
    int64_t rate_limit; /* requests a second of one caller; 0: no limit */
    struct reaper_limits deadlines;
    struct api *api; /* borrowed, outlive the server */
    struct auth *auth;
    struct journal *journal;
    struct streams *streams; /* http_stop() ends them */
};

enum status http_start(const struct http_options *options, struct http **http, struct error *err);
uint16_t http_port(const struct http *http);

/* Waits until the requests in progress are answered, at most `wait_ms`, then closes every
 * connection. NULL is fine. */
void http_stop(struct http *http, int wait_ms);

struct http_stats {
    struct reaper_stats connections;
    uint64_t refused_often; /* requests answered 429 because their caller asks too often */
    uint64_t refused_full;  /* requests answered 429 because the handlers's queue was full */
};
void http_stats_read(struct http *http, struct http_stats *out);

#endif
