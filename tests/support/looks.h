/* A budget of work that ends at its n-th look. A test tries every n, so it reaches each place that looks:
 *
 *     for (int n = 0;; n++) {
 *         struct looks looks;
 *         looks_open(&looks, n);
 *         status = thing_read(..., &looks.work, ...);
 *         if (!looks.ended) break;     ... the thing was read without reaching the end of the budget
 *         assert_int_equal(status, STATUS_CANCELLED);
 *     } */
#ifndef MOTIF_TESTS_SUPPORT_LOOKS_H
#define MOTIF_TESTS_SUPPORT_LOOKS_H

#include "core/base/work.h"

struct looks {
    struct work work;
    int left;
    bool ended;
};

static inline bool looks_stop(void *context)
{
    struct looks *looks = context;
    looks->ended = looks->ended || looks->left-- <= 0;
    return looks->ended;
}

static inline void looks_open(struct looks *looks, int count)
{
    *looks = (struct looks){.work = {.stop = looks_stop, .context = looks}, .left = count};
}

#endif
