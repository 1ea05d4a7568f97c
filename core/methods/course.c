#include "core/methods/course.h"

#include <math.h>
#include <time.h>

/* Prompt to pause, yet long against the overhead of a step. */
static const double STEP_SECONDS = 0.15;

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum status course_step(const struct course *course, struct method_run *run, enum method_wish *wish,
                        struct error *err)
{
    double end = now_seconds() + (course->env->step_seconds > 0 ? course->env->step_seconds : STEP_SECONDS);
    bool ranks = comm_size(course->env->comm) > 1; /* they end a step together: not by their clocks */
    int64_t every = course->checkpoint_every;
    enum status status = STATUS_OK;
    *wish = METHOD_CONTINUE;
    while (!status && *course->phase != course->done) {
        int64_t seen = *course->seen;
        status = course->work(run, err);
        if (status || *course->phase == course->done)
            break;
        if (seen / every != *course->seen / every)
            *wish = METHOD_CHECKPOINT;
        if (*wish != METHOD_CONTINUE || ranks || (course->rests && course->rests(run)) || now_seconds() >= end)
            return status;
    }
    if (!status)
        *wish = METHOD_DONE;
    return status;
}

void course_progress(double fraction, int64_t updates, int64_t seen, const char *stage, struct method_progress *out)
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
