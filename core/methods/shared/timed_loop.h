/* The loop of a run that goes on in small pieces: a step is as many of them as fit into its time. */
#ifndef MOTIF_CORE_METHODS_SHARED_TIMED_LOOP_H
#define MOTIF_CORE_METHODS_SHARED_TIMED_LOOP_H

#include "core/methods/method.h"

struct timed_loop {
    enum status (*work)(struct method_run *run, struct error *err); /* one piece */
    const struct method_env *env;
    const int64_t *seen; /* samples; what checkpoint_every counts */
    int64_t checkpoint_every;
    const int64_t *phase; /* which work() may change */
    int64_t done;         /* the phase in which nothing is left */
    bool (*rests)(
        const struct method_run *run); /* whether work() has come to where the step ends; NULL: it never does */
};

/* For a method's step(): works until the run is done, a checkpoint is due or the time is over. */
enum status timed_loop_step(const struct timed_loop *loop, struct method_run *run, enum method_request *request,
                            struct error *err);

/* For a method's progress(): of a run that knows its share of the work alone. stage: static text. */
void timed_loop_progress(double fraction, int64_t updates, int64_t seen, const char *stage,
                         struct method_progress *out);

#endif
