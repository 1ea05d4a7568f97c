/* Absolute deadlines for connections.
 *
 * libmicrohttpd's own timeout starts again with every byte, so a client that drips one byte a second
 * holds a connection for ever. Here a connection is in one phase at a time, and a thread that looks
 * several times a second cuts (shutdown(2)) those that are late:
 *
 *   idle      between requests       idle_ms
 *   head      first byte seen        header_ms until the headers are complete
 *   body      being received         at least `rate` bytes a second, after grace_ms
 *   answering in our own hands       none
 *   sending   the answer goes out    at least `rate` bytes a second taken, after grace_ms
 *
 * The first byte of a request and the bytes a client has taken are read from TCP_INFO, because the
 * parser does not tell. reaper_watch() and reaper_forget() are called from the connection callbacks, the
 * latter before the descriptor is closed: a descriptor is never cut after it belongs to another. */
#ifndef MOTIF_SERVER_HTTP_REAPER_H
#define MOTIF_SERVER_HTTP_REAPER_H

#include <stdint.h>

#include "core/base/error.h"

struct reaper;
struct reaper_watch; /* of one connection */

enum reaper_phase { REAPER_IDLE, REAPER_HEAD, REAPER_BODY, REAPER_ANSWERING, REAPER_SENDING, REAPER_CUT };

struct reaper_limits {
    int64_t idle_ms, header_ms, grace_ms, rate;
};

enum status reaper_create(const struct reaper_limits *limits, struct reaper **reaper, struct error *err);
void reaper_destroy(struct reaper *reaper); /* after the last reaper_forget() */

/* A new connection: it is in REAPER_HEAD at once. NULL without memory. */
struct reaper_watch *reaper_watch(struct reaper *reaper, int fd);
void reaper_forget(struct reaper *reaper, struct reaper_watch *watch); /* NULL is fine */

void reaper_enter(struct reaper *reaper, struct reaper_watch *watch, enum reaper_phase phase);

struct reaper_stats {
    int64_t open;             /* now */
    uint64_t opened;          /* since the start */
    uint64_t cut[REAPER_CUT]; /* by the phase they were late in */
};
void reaper_stats_read(struct reaper *reaper, struct reaper_stats *out);

#endif
