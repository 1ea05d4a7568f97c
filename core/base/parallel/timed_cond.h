/* A condition variable for waits with a deadline on the monotonic clock, which nobody sets back or ahead. */
#ifndef MOTIF_CORE_BASE_PARALLEL_TIMED_COND_H
#define MOTIF_CORE_BASE_PARALLEL_TIMED_COND_H

#include <pthread.h>
#include <stdbool.h>

/* Initialises the condition. Returns false if the system has no memory for it; the condition must then not be used. A
 * condition with the default clock in its place would not wait: a deadline of the monotonic clock lies in its past. */
bool timed_cond_init(pthread_cond_t *cond);

#endif
