/* The adapter between libmicrohttpd (HTTP/1.1) and the api. The meaning of a request is decided in api/. A request
 * passes these steps:
 *
 *   target received
 *   → head complete: guard (guard.h), scope (auth.h), api_admit()
 *   → body into memory or, when it is large, into a file (body.h)
 *   → connection suspended, a handler thread calls api_handle()
 *   → connection resumed, the answer is sent
 *
 * An event stream (streams.h) stays suspended between its events and occupies no thread. A refusal is sent before the
 * body is read. Network threads answer health checks themselves, so that these never wait behind a slow query. The
 * reaper (reaper.h) enforces deadlines. */
#ifndef MOTIF_SERVER_HTTP_HTTP_H
#define MOTIF_SERVER_HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "core/base/error.h"
#include "server/http/auth.h"
#include "server/signin/flow.h"
#include "server/signin/proxy.h"
#include "server/process/journal.h"
#include "server/http/reaper.h"
#include "server/http/streams.h"

struct http;

struct http_options {
    const char *host; /* numeric address to listen on */
    uint16_t port;    /* 0: any free port */
    bool loopback;
    const char *allow_host;
    bool tls; /* use the certificate of certificate.h */
    int threads, handlers;
    int connections, connections_per_address;
    int64_t rate_limit; /* requests per second of one caller; 0: no limit */
    const char *beside; /* the database; its folder also gets the files of large bodies (body.h); borrowed */
    struct reaper_limits deadlines;
    struct api *api; /* borrowed, must outlive the server */
    struct auth *auth;
    struct flow *flow;        /* NULL: the page signs nobody in */
    struct proxy_rules proxy; /* zeroed, or without addresses: no proxy is trusted */
    struct journal *journal;
    struct streams *streams; /* streams of events; http_stop() ends them */
};

/* Starts listening. STATUS_INVALID for a bad address, STATUS_IO when the port cannot be used. */
enum status http_start(const struct http_options *options, struct http **http, struct error *err);
/* The port of the listener, also if the system chose it. */
uint16_t http_port(const struct http *http);

/* Waits at most `wait_ms` until the requests in progress are answered, then closes every connection and frees the
 * server. NULL is allowed. */
void http_stop(struct http *http, int wait_ms);

struct http_stats {
    struct reaper_stats connections;
    uint64_t refused_often; /* requests answered 429 because of the rate limit */
    uint64_t refused_full;  /* requests answered 429 because the queue of the handler threads was full */
};
/* Copies the counters. Any thread. */
void http_stats_read(struct http *http, struct http_stats *out);

#endif
