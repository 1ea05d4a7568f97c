/* Events as server-sent events (WHATWG HTML, section 9.2).
 *
 *   id: 1042
 *   event: progress
 *   data: {"job":"...","time":"...","progress":{...}}
 *
 * Ids are rows of the database: they grow over all jobs and survive restarts of the daemon, so that a client can
 * continue after the last id that it received. The types, and their members besides `job` and `time`:
 *
 * - state: `state`.
 * - progress: `progress`, as in the job document.
 * - metric: `series`, {name: [[step, value], ...]}, the new points. They are read from the stored series when the event
 *   is sent, and thinned like GET .../metrics when an event has more than EVENT_POINTS of a series.
 * - checkpoint: `seq`.
 *
 * A handler opens a stream (api_response.events); server/ sends it. */
#ifndef MOTIF_API_JOBS_EVENTS_H
#define MOTIF_API_JOBS_EVENTS_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "storage/storage.h"

#define EVENT_POINTS 300
#define EVENT_BYTES_MAX (4u << 20) /* of one event */

/* Appends one event to `out`. The stored points that it reads are allocated in `arena`. STATUS_LIMIT: the event exceeds
 * the limit of the buffer. Any thread. */
enum status event_write(struct storage *storage, const struct storage_event *event, struct arena *arena,
                        struct buf *out, struct error *err);

/* True when no event of the job follows this one. */
bool event_is_last(const struct storage_event *event);

#endif
