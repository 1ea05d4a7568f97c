/* A condition variable for waits with a deadline on the monotonic clock, which nobody sets back or ahead. */
#ifndef MOTIF_CORE_BASE_PARALLEL_TIMED_COND_H
#define MOTIF_CORE_BASE_PARALLEL_TIMED_COND_H

#include <pthread.h>
#include <stdbool.h>

/* Initialises a mutex and one or two such condition variables; `second` may be NULL. Returns false, and initialises
 * none of them, if the system has no memory for all. A condition variable with the default clock would not wait,
 * because a deadline on the monotonic clock lies in the past of the default clock. */
bool timed_lock_init(pthread_mutex_t *lock, pthread_cond_t *first, pthread_cond_t *second);

#endif
