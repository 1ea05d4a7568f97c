/* Private to http.c and exchange.c: the server, and the functions by which it handles an exchange (one
 * request and its answer). */
#ifndef MOTIF_SERVER_HTTP_HTTP_INT_H
#define MOTIF_SERVER_HTTP_HTTP_INT_H

#include <microhttpd.h>

#include "server/http/acceptor.h"
#include "server/http/handler_threads.h"
#include "server/http/body.h"
#include "server/http/guard.h"
#include "server/http/http.h"
#include "server/http/rate.h"

struct http {
    struct http_options options;
    struct guard_rules rules;
    struct MHD_Daemon *daemon;
    struct handler_threads *handlers;
    struct reaper *reaper;
    int listener; /* -1 once the acceptor owns it */
    struct acceptor *acceptor;
    _Atomic int connections; /* open ones */
    bool old_parser;
    uint16_t port;
    uint64_t salt;     /* makes request ids differ between starts */
    struct rate *rate; /* rate limit of callers; NULL: no limit */
    struct body_store bodies;
    _Atomic uint64_t requests, in_progress, refused_full, refused_often;
};

/* exchange.c: the callbacks of libmicrohttpd; `context` is the struct http. */
void *exchange_on_target(void *context, const char *target, struct MHD_Connection *connection);
enum MHD_Result exchange_on_request(void *context, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version, const char *upload, size_t *upload_bytes,
                                    void **state);
void exchange_on_completed(void *context, struct MHD_Connection *connection, void **state,
                           enum MHD_RequestTerminationCode code);
void exchange_on_connection(void *context, struct MHD_Connection *connection, void **state,
                            enum MHD_ConnectionNotificationCode code);

/* The work of a handler thread: answers a complete exchange and resumes its connection. */
void exchange_work(void *item);

#endif
