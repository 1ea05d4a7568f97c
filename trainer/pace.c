/* Two exponential averages of a run's speed. The time until the end follows from the slow average: when other programs
 * take the processor for some seconds, the estimate changes little. */
#include "trainer/pace.h"

#include <math.h>

#define RECENT_SECONDS 10.0 /* time constant of the recent rate */
#define STEADY_SHARE 0.25   /* time constant of the steady rate, as a share of the age of the run */

static double smooth(double average, double value, double share)
{
    return average > 0.0 ? average + (1.0 - exp(-share)) * (value - average) : value;
}

void pace_update(struct pace *pace, int64_t samples, double elapsed, double age)
{
    if (samples <= 0 || elapsed <= 0.0)
        return;
    double value = (double)samples / elapsed;
    pace->recent = smooth(pace->recent, value, elapsed / RECENT_SECONDS);
    pace->steady = smooth(pace->steady, value, elapsed / fmax(RECENT_SECONDS, STEADY_SHARE * age));
}

double pace_seconds(const struct pace *pace, double samples)
{
    return pace->steady > 0.0 ? samples / pace->steady : NAN;
}
