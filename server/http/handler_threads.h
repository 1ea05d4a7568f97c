/* Threads that answer requests, so that those which move bytes never wait for the disk or for a
 * model. A bounded queue stands before them: when it is full the request is refused, not parked. */
#ifndef MOTIF_SERVER_HTTP_HANDLER_THREADS_H
#define MOTIF_SERVER_HTTP_HANDLER_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct handler_threads;

enum status handler_threads_create(int threads, size_t queue_limit, void (*work)(void *item),
                                   struct handler_threads **handlers, struct error *err);
/* Everything queued is worked off, then the threads end; handler_threads_submit() answers false from then on. */
void handler_threads_stop(struct handler_threads *handlers);
/* Stops if it was not stopped. No other call may be in progress. NULL is fine. */
void handler_threads_destroy(struct handler_threads *handlers);

/* False when the queue is full. Any thread. */
bool handler_threads_submit(struct handler_threads *handlers, void *item);

#endif
