/* A fixed set of threads that runs the numbered chunks of a task.
 *
 * How a task is cut into chunks depends on the sizes of the problem, never on the number of threads. A thread takes the
 * next free chunk and writes only data of that chunk; sums over chunks are taken afterwards in chunk order. Results
 * therefore have the same bits for any number of threads.
 *
 * The calling thread works too, so a pool of one thread starts no thread and runs everything in the caller. Between
 * tasks the workers spin for some microseconds and then sleep. A pool runs one task at a time; a task must not call
 * thread_pool_run() on its own pool. Denormal numbers are flushed to zero in every worker and, during
 * thread_pool_run(), in the caller, so that the speed does not depend on the data. */
#ifndef MOTIF_CORE_BASE_PARALLEL_THREAD_POOL_H
#define MOTIF_CORE_BASE_PARALLEL_THREAD_POOL_H

#include <stdbool.h>

#include "core/base/error.h"

struct thread_pool;

/* Computes one chunk. chunk: in [0, chunks). worker: in [0, thread_pool_workers(chunks)); no two chunks that run at the
 * same time have the same number. Use it only to select scratch memory. */
typedef void thread_pool_task(void *context, int chunk, int worker);

/* Starts threads - 1 workers. Errors: STATUS_INVALID if threads is outside [1, 256], STATUS_NO_MEMORY,
 * STATUS_UNAVAILABLE if the system refuses a thread. thread_pool_destroy() ends the workers and accepts NULL. */
enum status thread_pool_create(int threads, struct thread_pool **pool, struct error *err);
void thread_pool_destroy(struct thread_pool *pool);
int thread_pool_threads(const struct thread_pool *pool);
/* How many chunks of a task with `chunks` chunks can run at the same time: the smaller of `chunks` and the number of
 * threads, at least 1. A task needs scratch memory for this number of workers. */
int thread_pool_workers(const struct thread_pool *pool, int chunks);

/* Runs task(context, chunk, worker) for every chunk and returns when all are done. `chunks` may be 0. Returns false if
 * the pool was stopped (thread_pool_stop_when). Some chunks have then not run, so the caller must neither use nor
 * report what the task should have written, and must return STATUS_CANCELLED. */
__attribute__((warn_unused_result)) bool thread_pool_run(struct thread_pool *pool, thread_pool_task *task,
                                                         void *context, int chunks);

/* Sets a function that observes the pool, for measurements. With such a function, the pool runs every chunk on the
 * calling thread. It calls watch(context, chunks, true) before each task with more than one chunk, and watch(context,
 * chunks, false) after each of the task's chunks. watch NULL ends the observation. */
void thread_pool_watch(struct thread_pool *pool, void (*watch)(void *context, int chunks, bool begins), void *context);

/* Stops the pool as soon as stop(context) returns true, because nobody wants the result any more. The pool calls stop()
 * between two chunks, about every 10 ms, on any of its threads; stop() must return quickly. A stopped pool stays
 * stopped and runs no further chunk until this function is called again, between two tasks. stop: NULL means never. */
void thread_pool_stop_when(struct thread_pool *pool, bool (*stop)(void *context), void *context);
/* The pool stops when `other` stops. `other` must outlive the pool; NULL means never. */
void thread_pool_stop_with(struct thread_pool *pool, struct thread_pool *other);
/* True when the pool was stopped. Long computations between two tasks, or within a chunk, call this several times a
 * second and end early when it returns true. Any thread may call it. pool: NULL is never stopped. */
bool thread_pool_stopped(struct thread_pool *pool);
/* STATUS_CANCELLED, with a message, when the pool was stopped; else STATUS_OK. */
enum status thread_pool_check(struct thread_pool *pool, struct error *err);

#endif
