/* Open event streams, and the thread that sends events to all of them.
 *
 * A stream is a cursor (the id of the last queued event), a bounded buffer and a connection that mostly sleeps. The
 * thread wakes when storage has committed events, reads the events after each stream's cursor and appends them to the
 * buffers. If the buffer of a slow reader is full, the thread skips the stream until the buffer has drained, and then
 * continues from the cursor. So a reader costs at most STREAM_BYTES of memory and one event. It occupies no thread, and
 * a database connection only while events are read. If several streams need an event at the same time, the thread
 * formats it once.
 *
 *   streams_open → (streams_take → suspend → ... → wake)* → streams_close
 *
 * The thread also sends a comment to quiet streams every heartbeat_ms, detects clients that disconnected while their
 * connection slept, and cuts streams whose reader has taken nothing for stall_ms.
 *
 * Any thread may call streams_notify() at any time between create and destroy. A stream belongs to the thread of its
 * connection: only that thread opens it, takes from it and closes it. `suspend`, `wake` and `cut` are called while a
 * lock is held: they must not call functions of this header. */
#ifndef MOTIF_SERVER_HTTP_STREAMS_H
#define MOTIF_SERVER_HTTP_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "storage/storage.h"

struct streams;
struct stream;

#define STREAM_BYTES ((size_t)64 << 10) /* upper limit of the queued bytes of one reader */

struct streams_options {
    int64_t heartbeat_ms; /* milliseconds between two comments to a quiet stream; 0 selects 15,000 */
    int64_t stall_ms;     /* milliseconds without a read after which a reader is cut; 0 selects 60,000 */
    int most;             /* upper limit of the open streams; 0 selects 64 */
    int per_caller;       /* upper limit of the open streams of one caller; 0 selects `most` */
};

#define STREAM_CALLER 80 /* bytes of a caller's name with its NUL; longer names are truncated */

struct stream_line { /* The connection of a stream. */
    void *context;
    const char *caller;             /* name of the token, or the address, that opens the stream; copied */
    const struct viewer *viewer;    /* only events of jobs that it may see are sent; copied; NULL: of all jobs */
    int fd;                         /* socket of the peer, to detect that it disconnected; -1: no detection */
    void (*suspend)(void *context); /* Lets the connection sleep, because nothing is queued. */
    void (*wake)(void *context);    /* Bytes are queued, so call streams_take() again. Called only after `suspend`. */
    void (*cut)(void *context);     /* Cuts the connection, because its reader takes nothing. */
};

/* Allocates the table of streams; streams_start() starts the thread. */
enum status streams_create(const struct streams_options *options, struct streams **streams, struct error *err);
/* Starts the thread. `storage` is borrowed until streams_end(). */
enum status streams_start(struct streams *streams, struct storage *storage, struct error *err);
void streams_notify(struct streams *streams); /* Wakes the thread, because events were committed. */
/* For every stream, queues the events that are on disk, as far as the stream's buffer has room for them, and marks the
 * stream as ended. No stream can be opened afterwards. Connections close when they have sent their buffer. Ends the
 * thread. */
void streams_end(struct streams *streams);
void streams_destroy(struct streams *streams); /* May be called only after the last streams_close() and after storage is
                                                  closed; NULL is allowed. */

/* Opens a stream of the events of one job ("": of all jobs) with an id above `after`. With `stored`, it ends as soon as
 * it has queued all events that are stored. The stream starts with the text `opening`. Returns NULL when `most` streams
 * are open, when this caller has as many as it may have, or when streams_end() was called. */
struct stream *streams_open(struct streams *streams, const struct stream_line *line, const char *job, int64_t after,
                            bool stored, const char *opening, size_t bytes);
/* True if this caller has as many open streams as it may have. */
bool streams_caller_full(struct streams *streams, const char *caller);
/* Copies up to `count` queued bytes. Returns 0 when none are queued; the function has then suspended the connection.
 * Returns -1 at the end of the stream. */
ptrdiff_t streams_take(struct stream *stream, void *to, size_t count);
void streams_close(struct stream *stream); /* `stream` may be NULL */

struct streams_stats {
    int64_t open;
    uint64_t opened, refused, cut; /* numbers of streams since the start; refused: by streams_open(); cut: because their
                                      reader took nothing */
    uint64_t events;               /* events that were queued, summed over all streams */
};
/* Copies the counters. Any thread. */
void streams_stats_read(struct streams *streams, struct streams_stats *out);

#endif
