/* Event streams that are open, and the one thread that feeds them.
 *
 * A stream is a cursor (the id of the last event that was queued), a bounded buffer and a connection that
 * mostly sleeps. The thread wakes when storage has committed events, reads what each stream has not seen, and
 * appends it; a stream whose reader is slow is skipped until its buffer has drained, and goes on from its cursor.
 * So a reader costs memory of STREAM_BYTES and one event at most, no worker, and a database reader only
 * for moments. An event is written once for all streams that want it at the same time.
 *
 *   streams_open → (streams_take → park → ... → wake)* → streams_close
 *
 * The thread also sends a comment every heartbeat_ms to streams that are quiet, notices clients that went
 * away while their connection slept, and cuts those that have taken nothing for stall_ms.
 *
 * streams_notify() may be called from any thread at any time between create and destroy; a stream belongs
 * to its connection's thread, which alone opens, takes from and closes it. park, wake and cut are called with
 * a lock held: they must not call back. */
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
#define STREAM_BYTES ((size_t)64 << 10) /* queued for one reader before it is left to catch up */

struct streams_options {
    int64_t heartbeat_ms; /* 0: 15 s */
    int64_t stall_ms;     /* 0: 60 s */
};

struct stream_line { /* a connection, as a stream sees it */
    void *context;
    int fd;                      /* to notice that the peer is gone; -1: not looked at */
    void (*park)(void *context); /* there is nothing to send: sleep */
    void (*wake)(void *context); /* there is something: call streams_take() again. Only when parked */
    void (*cut)(void *context);  /* the reader is stuck: break the connection off */
};

enum status streams_create(const struct streams_options *options, struct streams **streams, struct error *err);
/* Starts the thread. `storage` is borrowed until streams_end(). */
enum status streams_start(struct streams *streams, struct storage *storage, struct error *err);
void streams_notify(struct streams *streams); /* events were committed */
/* Every stream gets what is on disk now, as far as there is room, and ends; none can be opened any more. The
 * connections close in their own time. Ends the thread. */
void streams_end(struct streams *streams);
void streams_destroy(struct streams *streams); /* after the last streams_close() and storage's end; NULL is fine */

/* A stream of one job ("": of all) behind `after`, which begins with `opening`. NULL: 64 are open, or it is ending. */
struct stream *streams_open(struct streams *streams, const struct stream_line *line, const char *job, int64_t after,
                            const char *opening, size_t bytes);
/* Copies up to `count` queued bytes. 0: there are none, and the line was parked. -1: the end. */
ptrdiff_t streams_take(struct stream *stream, void *to, size_t count);
void streams_close(struct stream *stream); /* NULL is fine */

struct streams_stats {
    int64_t open;
    uint64_t opened, refused, cut; /* since the start */
    uint64_t events;               /* queued, over all streams */
};
void streams_stats_read(struct streams *streams, struct streams_stats *out);

#endif
