/* Absolute deadlines for connections.
 *
 * The timeout of libmicrohttpd restarts with every byte, so a client that sends one byte a second would hold a
 * connection for ever. Here a connection is in one phase at a time. A thread checks all connections several times a
 * second and cuts those that are late, with shutdown(2):
 *
 *   idle       between requests         idle_ms
 *   head       first byte received      header_ms until the headers are complete
 *   body       being received           at least `rate` bytes a second, after grace_ms
 *   answering  a handler works          no deadline
 *   sending    the answer is sent       the client takes at least `rate` bytes a second, after grace_ms
 *
 * The parser does not report the first byte of a request or the bytes that a client has taken, so the thread reads both
 * from TCP_INFO. The connection callbacks call reaper_watch() and reaper_forget(). They call reaper_forget() before the
 * descriptor is closed. Otherwise the thread could cut a newer connection that has got the same descriptor. */
#ifndef MOTIF_SERVER_HTTP_REAPER_H
#define MOTIF_SERVER_HTTP_REAPER_H

#include <stdint.h>

#include "core/base/error.h"

struct reaper;
struct reaper_watch; /* one connection */

enum reaper_phase { REAPER_IDLE, REAPER_HEAD, REAPER_BODY, REAPER_ANSWERING, REAPER_SENDING, REAPER_CUT };

struct reaper_limits {
    int64_t idle_ms, header_ms, grace_ms, rate;
};

/* Starts the thread. Copies the limits. */
enum status reaper_create(const struct reaper_limits *limits, struct reaper **reaper, struct error *err);
void reaper_destroy(struct reaper *reaper); /* May be called only after the last reaper_forget(). */

/* Starts to watch a new connection, in REAPER_HEAD. Returns NULL without memory. */
struct reaper_watch *reaper_watch(struct reaper *reaper, int fd);
void reaper_forget(struct reaper *reaper, struct reaper_watch *watch); /* `watch` may be NULL */

/* Says that the answer on this connection is the last one, and that the client may still be sending. After
 * reaper_forget(), the reaper then reads and drops what arrives, for five seconds at most, before the connection ends.
 * Without this, the kernel would answer these bytes with a reset, and the client would lose the answer. Any thread. */
void reaper_linger(struct reaper *reaper, struct reaper_watch *watch);

/* Moves a connection to another phase and restarts its deadline. Any thread. */
void reaper_enter(struct reaper *reaper, struct reaper_watch *watch, enum reaper_phase phase);

struct reaper_stats {
    int64_t open;             /* connections that are open now */
    uint64_t opened;          /* connections that were opened since the start */
    uint64_t cut[REAPER_CUT]; /* connections that were cut, by the phase in which they were late */
};
/* Copies the counters. Any thread. */
void reaper_stats_read(struct reaper *reaper, struct reaper_stats *out);

#endif
