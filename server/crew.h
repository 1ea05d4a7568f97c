/* Threads that answer requests, so that those which move bytes never wait for the disk or for a
 * model. A bounded queue stands before them: when it is full the request is refused, not parked. */
#ifndef MOTIF_SERVER_CREW_H
#define MOTIF_SERVER_CREW_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct crew;

enum status crew_create(int threads, size_t queue_limit, void (*work)(void *item), struct crew **crew,
                        struct error *err);
/* Everything queued is worked off, then the threads end; crew_submit() answers false from then on. */
void crew_stop(struct crew *crew);
/* Stops if it was not stopped. No other call may be in progress. NULL is fine. */
void crew_destroy(struct crew *crew);

/* False when the queue is full. Any thread. */
bool crew_submit(struct crew *crew, void *item);

#endif
