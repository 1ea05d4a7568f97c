/* A fixed set of threads that runs the numbered chunks of a task.
 *
 * How a task is cut into chunks depends on the sizes of the problem, never on the number of threads. A thread takes the
 * next free chunk and writes only data of that chunk; sums over chunks are taken afterwards in chunk order. Results are
 * therefore the same bits for any number of threads.
 *
 * The calling thread works too, so a pool of one thread starts no thread and runs everything in the caller. Between
 * tasks the workers spin for some microseconds and then sleep. A pool runs one task at a time; a task must not call
 * thread_pool_run() on its own pool. Denormal numbers are flushed to zero in every worker and, during
 * thread_pool_run(), in the caller, so that the speed does not depend on the data. */
#ifndef MOTIF_CORE_BASE_THREAD_POOL_H
#define MOTIF_CORE_BASE_THREAD_POOL_H

#include "core/base/error.h"

struct thread_pool;

/* Computes one chunk. chunk: in [0, chunks). worker: in [0, thread_pool_threads()), 0 for the calling thread; use it
 * only to select scratch memory. */
typedef void thread_pool_task(void *context, int chunk, int worker);

/* Starts threads - 1 workers. Errors: STATUS_INVALID unless threads is in [1, 256], STATUS_NO_MEMORY,
 * STATUS_UNAVAILABLE if the system refuses a thread. thread_pool_destroy() ends the workers and accepts NULL. */
enum status thread_pool_create(int threads, struct thread_pool **pool, struct error *err);
void thread_pool_destroy(struct thread_pool *pool);
int thread_pool_threads(const struct thread_pool *pool);

/* Runs task(context, chunk, worker) for every chunk and returns when all are done. `chunks` may be 0. */
void thread_pool_run(struct thread_pool *pool, thread_pool_task *task, void *context, int chunks);

#endif
