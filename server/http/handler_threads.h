/* Threads that answer requests, so that the network threads never wait for the disk or for a model.
 *
 * The owners of requests take turns (turns.h), and no owner has all threads. The number of waiting requests is bounded,
 * and of one owner at most half of them wait: a request beyond that is refused.
 *
 * A thread that computes long for one request gets a lower priority (priority.h), and so does one that works for a busy
 * owner. It may not raise its priority again. So from then on it works only for busy owners, and a new thread takes its
 * place. A further thread, the watcher, looks after the threads while they work.
 */
#ifndef MOTIF_SERVER_HTTP_HANDLER_THREADS_H
#define MOTIF_SERVER_HTTP_HANDLER_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/parallel/turns.h"

struct handler_threads;

/* Starts `threads` threads that call `work` for the item of each submitted turn. `queue_limit`: upper limit of the
 * turns that wait. */
enum status handler_threads_create(int threads, int queue_limit, void (*work)(void *item),
                                   struct handler_threads **handlers, struct error *err);
/* Completes all queued items, then ends the threads. handler_threads_submit() returns false from the start of this call
 * on. */
void handler_threads_stop(struct handler_threads *handlers);
/* Stops the threads if they still run and frees the object. No other call may be in progress. NULL is allowed. */
void handler_threads_destroy(struct handler_threads *handlers);

/* Queues turn->item; returns false when the queue is full or stopped. The turn must stay until `work` begins; `work`
 * may free it. Any thread. */
bool handler_threads_submit(struct handler_threads *handlers, struct turn *turn);

#endif
