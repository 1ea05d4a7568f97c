/* Writes events of jobs as server-sent events (WHATWG HTML, section 9.2).
 *
 *   id: 1042
 *   event: progress
 *   data: {"job":"...","time":"...","progress":{...}}
 *
 * An id is the number of an event's row in the database. Ids increase over all jobs and continue after a restart of the
 * daemon, so a client can resume after the last id that it received. The data contain `job`, `time` and, for each type
 * of event:
 *
 * - state: `state`.
 * - progress: `progress`, as in the job document.
 * - metric: `series`, {name: [[step, value], ...]}, the new points. They are read from the stored series when the event
 *   is sent. Of more than EVENT_POINTS new points of a series, only some are sent, chosen as for GET
 *   /v1/jobs/{id}/metrics.
 * - checkpoint: `seq`.
 *
 * A handler opens a stream by setting api_response.events; server/ sends the stream. */
#ifndef MOTIF_API_JOBS_EVENTS_H
#define MOTIF_API_JOBS_EVENTS_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "storage/storage.h"

#define EVENT_POINTS 300
#define EVENT_BYTES_MAX (4u << 20) /* upper limit of the bytes of one event */

/* Appends one event to `out`. The stored points that it reads are allocated in `arena`. STATUS_LIMIT: the event exceeds
 * the limit of the buffer. Any thread. */
enum status event_write(struct storage *storage, const struct storage_event *event, struct arena *arena,
                        struct buf *out, struct error *err);

/* True when no event of the job follows this one. */
bool event_is_last(const struct storage_event *event);

#endif
