/* What the faults of this folder count down with: so many more succeed, then one fails, or from it on all. Any
 * thread, or that alone which armed it last. */
#ifndef MOTIF_TESTS_SUPPORT_FAULT_COUNT_H
#define MOTIF_TESTS_SUPPORT_FAULT_COUNT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fault_count {
    atomic_bool armed, others_spared;
    _Atomic pthread_t owner; /* who armed it last */
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

/* Whether one has failed since; no more will. */
static inline bool fault_count_stop(struct fault_count *c)
{
    atomic_store(&c->armed, false);
    pthread_mutex_lock(&c->lock);
    bool so = c->happened;
    pthread_mutex_unlock(&c->lock);
    return so;
}

/* Whether this one is to fail. */
static inline bool fault_count_down(struct fault_count *c)
{
    if (!atomic_load(&c->armed) || (atomic_load(&c->others_spared) && !pthread_equal(c->owner, pthread_self()))) {
        return false;
    }
    pthread_mutex_lock(&c->lock);
    bool fails = c->left == 0 && (c->forever || !c->happened);
    c->happened |= fails;
    if (c->left > 0) {
        c->left--;
    }
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
