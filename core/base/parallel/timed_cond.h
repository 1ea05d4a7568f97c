/* A condition variable for waits with a deadline on the monotonic clock, which nobody sets back or ahead. */
#ifndef MOTIF_CORE_BASE_PARALLEL_TIMED_COND_H
#define MOTIF_CORE_BASE_PARALLEL_TIMED_COND_H

#include <pthread.h>
#include <stdbool.h>

/* Initialises the condition. Returns false if the system has no memory for it; the condition must then not be used. The
 * default clock cannot replace the monotonic clock: a wait would end at once, because a deadline of the monotonic clock
 * is in the past of the default clock. */
bool timed_cond_init(pthread_cond_t *cond);
/* Initialises a mutex with one or two such conditions; `second` may be NULL. Returns false if the system has no memory
 * for all of them; none is then initialised. */
bool timed_lock_init(pthread_mutex_t *lock, pthread_cond_t *first, pthread_cond_t *second);

#endif
