/* Repeats the pieces of a run until a step is over (timed_loop.h). */
#include "core/methods/shared/timed_loop.h"

#include <math.h>
#include <time.h>

/* Time of a step. It is so short that a pause takes effect at once, and long compared with the overhead of a step. */
static const double STEP_SECONDS = 0.15;

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum status timed_loop_step(const struct timed_loop *loop, struct method_run *run, enum method_request *request,
                            struct error *err)
{
    double end = now_seconds() + (loop->env->step_seconds > 0 ? loop->env->step_seconds : STEP_SECONDS);
    bool ranks = comm_size(loop->env->comm) > 1; /* all ranks must end a step together */
    int64_t every = loop->checkpoint_every;
    enum status status = STATUS_OK;
    *request = METHOD_CONTINUE;
    while (!status && *loop->phase != loop->done) {
        int64_t seen = *loop->seen;
        status = loop->work(run, err);
        if (status || *loop->phase == loop->done)
            break;
        if (seen / every != *loop->seen / every)
            *request = METHOD_CHECKPOINT;
        if (*request != METHOD_CONTINUE || ranks || now_seconds() >= end)
            return status;
    }
    if (!status)
        *request = METHOD_DONE;
    return status;
}

void timed_loop_progress(double fraction, int64_t updates, int64_t seen, const char *stage, struct method_progress *out)
{
    *out = (struct method_progress){
        .step = updates,
        .samples = seen,
        .fraction = fraction,
        .density = NAN,
        .target_accuracy = NAN,
        .accuracy = NAN,
        .eta_samples = fraction > 0 ? (double)seen * (1 / fraction - 1) : NAN,
        .stage = stage,
    };
}
