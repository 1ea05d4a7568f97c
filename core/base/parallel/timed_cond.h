/* A condition variable for waits with a deadline on the monotonic clock, which nobody sets back or ahead. */
#ifndef MOTIF_CORE_BASE_PARALLEL_TIMED_COND_H
#define MOTIF_CORE_BASE_PARALLEL_TIMED_COND_H

#include <pthread.h>
#include <stdbool.h>

/* Initialises a mutex with one or two such conditions; `second` may be NULL. Returns false if the system has no memory
 * for all of them; none is then initialised. A condition with the default clock would not do instead, because it would
 * not wait: a deadline of the monotonic clock lies in its past. */
bool timed_lock_init(pthread_mutex_t *lock, pthread_cond_t *first, pthread_cond_t *second);

#endif
