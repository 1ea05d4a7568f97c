/* Threads that answer requests, so that the network threads never wait for the disk or for a model. The queue of
 * waiting requests is bounded: if it is full, a request is refused and does not wait. */
#ifndef MOTIF_SERVER_HTTP_HANDLER_THREADS_H
#define MOTIF_SERVER_HTTP_HANDLER_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct handler_threads;

/* Starts `threads` threads that call `work` for each submitted item. `queue_limit`: upper limit of the items that wait.
 */
enum status handler_threads_create(int threads, size_t queue_limit, void (*work)(void *item),
                                   struct handler_threads **handlers, struct error *err);
/* Completes all queued items, then ends the threads. handler_threads_submit() returns false from the start of this call
 * on. */
void handler_threads_stop(struct handler_threads *handlers);
/* Stops the threads if they still run and frees the object. No other call may be in progress. NULL is allowed. */
void handler_threads_destroy(struct handler_threads *handlers);

/* Queues an item; returns false when the queue is full or stopped. Any thread. */
bool handler_threads_submit(struct handler_threads *handlers, void *item);

#endif
