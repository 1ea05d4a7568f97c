/* The loop of a run that works in small pieces: a step does pieces until its time is over. */
#ifndef MOTIF_CORE_METHODS_SHARED_TIMED_LOOP_H
#define MOTIF_CORE_METHODS_SHARED_TIMED_LOOP_H

#include "core/methods/method.h"

struct timed_loop {
    enum status (*work)(struct method_run *run, struct error *err); /* does one piece; may change *phase */
    const struct method_env *env;
    const int64_t *seen;      /* samples so far */
    int64_t checkpoint_every; /* number of samples between checkpoints */
    const int64_t *phase;
    int64_t done; /* value of the phase when all work is done */
};

/* For a method's step(): works until the run is done, a checkpoint is due or the step's time is over. With several
 * ranks a step is one piece, because the ranks must end a step together, and their clocks differ. Errors are those of
 * work(). */
enum status timed_loop_step(const struct timed_loop *loop, struct method_run *run, enum method_request *request,
                            struct error *err);

/* Fills in the progress of a method that has neither densities nor accuracy targets. fraction: share of all the work
 * that is done, 0..1. stage: static text. */
void timed_loop_progress(double fraction, int64_t updates, int64_t seen, const char *stage,
                         struct method_progress *out);

#endif
