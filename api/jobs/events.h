/* Events as server-sent events (WHATWG HTML, section 9.2).
 *
 *   id: 1042
 *   event: progress
 *   data: {"job":"...","time":"...","progress":{...}}
 *
 * Ids are rows of the database: they grow over all jobs and outlive the daemon, so a client that names the last
 * one it saw goes on behind it. Types and their members beside `job` and `time`:
 *   state       state
 *   progress    progress, as in the job's document
 *   metric      series {name: [[step, value], ...]}: points that are new (thinned like GET .../metrics where one
 *               event has more than EVENT_POINTS of a series; read back from the series, so always what holds now)
 *   checkpoint  seq
 * Opening a stream is a route (response.events); sending it is the server's business. */
#ifndef MOTIF_API_JOBS_EVENTS_H
#define MOTIF_API_JOBS_EVENTS_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "storage/storage.h"

#define EVENT_POINTS 300
#define EVENT_BYTES_MAX (4u << 20) /* of one event */

/* Appends one event. `arena` holds what is read on the way. STATUS_LIMIT: larger than the buffer's limit. */
enum status event_write(struct storage *storage, const struct storage_event *event, struct arena *arena,
                        struct buf *out, struct error *err);

/* True for the event behind which its job has no more. */
bool event_is_last(const struct storage_event *event);

#endif
