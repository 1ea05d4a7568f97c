/* Initialises condition variables that use the monotonic clock (timed_cond.h). */
#include "core/base/parallel/timed_cond.h"

#include <time.h>

static bool init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0)
        return false;
    bool made = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 && pthread_cond_init(cond, &monotonic) == 0;
    (void)pthread_condattr_destroy(&monotonic);
    return made;
}

bool timed_lock_init(pthread_mutex_t *lock, pthread_cond_t *first, pthread_cond_t *second)
{
    if (pthread_mutex_init(lock, NULL) != 0)
        return false;
    bool one = init_cond(first), both = one && (second == NULL || init_cond(second));
    if (one && !both)
        (void)pthread_cond_destroy(first);
    if (!both)
        (void)pthread_mutex_destroy(lock);
    return both;
}
