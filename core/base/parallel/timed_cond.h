/* A condition variable for waits with a deadline on the monotonic clock, which nobody sets back or ahead. */
#ifndef MOTIF_CORE_BASE_PARALLEL_TIMED_COND_H
#define MOTIF_CORE_BASE_PARALLEL_TIMED_COND_H

#include <pthread.h>
#include <stdbool.h>

/* Initialises the condition. Returns false if the system has no memory for it; the condition must then not be used. The
 * default clock cannot replace the monotonic clock: a wait would end at once, because a deadline of the monotonic clock
 * is in the past of the default clock. */
bool timed_cond_init(pthread_cond_t *cond);

#endif
