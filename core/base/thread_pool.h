/* A fixed set of threads that runs numbered pieces of one task.
 *
 * The pieces ("chunks") and what each computes depend on the shape of the problem alone, never on
 * how many threads there are: a thread takes the next free chunk, writes only what belongs to that
 * chunk, and sums over chunks are taken afterwards in chunk order. That is why results are the same
 * bits for any number of threads.
 *
 * The calling thread works too, so thread_pool_create(1) starts none and runs everything in place.
 * Between tasks the workers spin for some microseconds and then sleep. One task at a time; a task
 * must not call thread_pool_run() on its own pool. Denormals are flushed to zero in every worker
 * (and, during thread_pool_run(), in the caller), so that speed does not depend on the data. */
#ifndef MOTIF_CORE_BASE_THREAD_POOL_H
#define MOTIF_CORE_BASE_THREAD_POOL_H

#include "core/base/error.h"

struct thread_pool;

/* `chunk` in [0, chunks); `worker` in [0, thread_pool_threads()), the caller being 0: use it for scratch
 * memory only. */
typedef void thread_pool_task(void *context, int chunk, int worker);

/* threads in [1, 256]. */
enum status thread_pool_create(int threads, struct thread_pool **pool, struct error *err);
void thread_pool_destroy(struct thread_pool *pool); /* NULL is fine */
int thread_pool_threads(const struct thread_pool *pool);

/* Returns when all chunks are done. `chunks` may be 0. */
void thread_pool_run(struct thread_pool *pool, thread_pool_task *task, void *context, int chunks);

#endif
