/* The speed of a run, in samples per second: the speed of the last seconds, and a steadier one that estimates when the
 * run ends. Pure functions; the caller guards a struct that several threads use. */
#ifndef MOTIF_TRAINER_PACE_H
#define MOTIF_TRAINER_PACE_H

#include <stdint.h>

struct pace {
    double recent; /* samples per second, smoothed over about 10 s; 0: unknown */
    double steady; /* smoothed over about a quarter of the run, at least 10 s; 0: unknown */
};

/* Adds `samples` that took `elapsed` seconds to the pace of a run that is `age` seconds old. Does not change the rates
 * if `samples` or `elapsed` is not positive: an evaluation reports no new samples, and is not slow for that reason. */
void pace_update(struct pace *pace, int64_t samples, double elapsed, double age);

/* Seconds that `samples` more take at the steady pace. NAN if the rate is unknown. */
double pace_seconds(const struct pace *pace, double samples);

#endif
