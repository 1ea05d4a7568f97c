/* The speed of a run, in samples per second: that of the last seconds, and a steadier one from which the end of the run
 * is estimated. The functions have no state of their own. If several threads use a struct, the caller must lock it. */
#ifndef MOTIF_TRAINER_PACE_H
#define MOTIF_TRAINER_PACE_H

#include <stdint.h>

struct pace {
    double recent; /* samples per second, smoothed over about 10 s; 0: unknown */
    double steady; /* samples per second, smoothed over a quarter of the run's age, at least 10 s; 0: unknown */
};

/* Adds `samples` that took `elapsed` seconds to the pace of a run that is `age` seconds old. If `samples` or `elapsed`
 * is not positive, the rates stay as they are: an evaluation takes time but adds no samples. */
void pace_update(struct pace *pace, int64_t samples, double elapsed, double age);

/* Returns the seconds that `samples` more samples take at the steady rate; NAN if the rate is unknown. */
double pace_seconds(const struct pace *pace, double samples);

#endif
