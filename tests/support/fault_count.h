/* The counter that all faults of this folder use. After a given number of calls have succeeded, either the next call
 * fails or all later calls fail. It counts the calls of all threads, or only those of the thread that last called
 * fault_count_arm(). */
#ifndef MOTIF_TESTS_SUPPORT_FAULT_COUNT_H
#define MOTIF_TESTS_SUPPORT_FAULT_COUNT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fault_count {
    atomic_bool armed, others_spared;
    _Atomic pthread_t owner; /* thread that last called fault_count_arm() */
    pthread_mutex_t lock;
    int left;
    bool forever, happened;
};
#define FAULT_COUNT                                                                                                    \
    {                                                                                                                  \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                                              \
    }

static inline void fault_count_arm(struct fault_count *c, int left, bool forever)
{
    c->owner = pthread_self();
    pthread_mutex_lock(&c->lock);
    c->left = left;
    c->forever = forever;
    c->happened = false;
    pthread_mutex_unlock(&c->lock);
    atomic_store(&c->armed, true);
}

/* Switches the fault off and returns whether a call has failed. */
static inline bool fault_count_stop(struct fault_count *c)
{
    atomic_store(&c->armed, false);
    pthread_mutex_lock(&c->lock);
    bool so = c->happened;
    pthread_mutex_unlock(&c->lock);
    return so;
}

/* Counts a call and returns whether it must fail. */
static inline bool fault_count_down(struct fault_count *c)
{
    if (!atomic_load(&c->armed) || (atomic_load(&c->others_spared) && !pthread_equal(c->owner, pthread_self())))
        return false;
    pthread_mutex_lock(&c->lock);
    bool fails = c->left == 0 && (c->forever || !c->happened);
    c->happened |= fails;
    if (c->left > 0)
        c->left--;
    pthread_mutex_unlock(&c->lock);
    return fails;
}

static inline int fault_count_left(struct fault_count *c)
{
    pthread_mutex_lock(&c->lock);
    int left = c->left;
    pthread_mutex_unlock(&c->lock);
    return left;
}

#endif
