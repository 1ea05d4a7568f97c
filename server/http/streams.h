/* Open event streams, and the one thread that feeds them.
 *
 * A stream is a cursor (the id of the last queued event), a bounded buffer and a connection that mostly sleeps. The
 * thread wakes when storage has committed events, reads the events after each stream's cursor and appends them. It
 * skips a stream whose reader is slow until the buffer has drained, and then continues from the cursor. A reader
 * therefore costs STREAM_BYTES of memory and one event at most, no worker, and a database connection only for moments.
 * The thread formats an event once for all streams that need it at the same time.
 *
 *   streams_open → (streams_take → suspend → ... → wake)* → streams_close
 *
 * The thread also sends a comment to quiet streams every heartbeat_ms, detects clients that disconnected while their
 * connection slept, and cuts streams whose reader has taken nothing for stall_ms.
 *
 * Any thread may call streams_notify() at any time between create and destroy. A stream belongs to its connection's
 * thread: only that thread opens it, takes from it and closes it. `suspend`, `wake` and `cut` are called with a lock
 * held: they must not call back. */
#ifndef MOTIF_SERVER_HTTP_STREAMS_H
#define MOTIF_SERVER_HTTP_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "storage/storage.h"

struct streams;
struct stream;

#define STREAMS_MAX 64
#define STREAM_BYTES ((size_t)64 << 10) /* upper limit of the queued bytes of one reader */

struct streams_options {
    int64_t heartbeat_ms; /* 0: 15,000 */
    int64_t stall_ms;     /* 0: 60,000 */
    int per_caller;       /* most open streams of one caller; 0: STREAMS_MAX */
};

#define STREAM_CALLER 80 /* bytes of a caller's name with its NUL; more are cut off */

struct stream_line { /* the connection of a stream */
    void *context;
    const char *caller;             /* name of the token, or the address, that opens the stream; copied */
    int fd;                         /* socket of the peer, to detect that it disconnected; -1: no detection */
    void (*suspend)(void *context); /* nothing to send: let the connection sleep */
    void (*wake)(void *context);    /* bytes are queued: call streams_take() again. Only after `suspend` */
    void (*cut)(void *context);     /* the reader is stuck: cut the connection */
};

/* Allocates the table of streams; streams_start() starts the thread. */
enum status streams_create(const struct streams_options *options, struct streams **streams, struct error *err);
/* Starts the thread. `storage` is borrowed until streams_end(). */
enum status streams_start(struct streams *streams, struct storage *storage, struct error *err);
void streams_notify(struct streams *streams); /* events were committed */
/* Queues what is on disk for every stream, as far as its buffer allows, and marks the stream as ended. No stream can be
 * opened afterwards. Connections close when they have sent their buffer. Ends the thread. */
void streams_end(struct streams *streams);
void streams_destroy(
    struct streams *streams); /* after the last streams_close() and after storage is closed; NULL is allowed */

/* Opens a stream of the events of one job ("": of all jobs) with an id above `after`. The stream starts with the text
 * `opening`. Returns NULL when STREAMS_MAX streams are open, when this caller has as many as it may have, or when
 * streams_end() was called. */
struct stream *streams_open(struct streams *streams, const struct stream_line *line, const char *job, int64_t after,
                            const char *opening, size_t bytes);
/* Whether this caller has as many open streams as it may have. */
bool streams_caller_full(struct streams *streams, const char *caller);
/* Copies up to `count` queued bytes. Returns 0 when none are queued; the connection was then suspended. Returns -1 at
 * the end of the stream. */
ptrdiff_t streams_take(struct stream *stream, void *to, size_t count);
void streams_close(struct stream *stream); /* NULL is allowed */

struct streams_stats {
    int64_t open;
    uint64_t opened, refused, cut; /* since the start */
    uint64_t events;               /* queued, over all streams */
};
/* Copies the counters. Any thread. */
void streams_stats_read(struct streams *streams, struct streams_stats *out);

#endif
