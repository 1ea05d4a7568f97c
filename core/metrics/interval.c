/* Confidence intervals of shares, of their differences, and of correlations (interval.h). The verdict on a training
 * compares its limits with the ends of these intervals, not with the measured values. With few samples the intervals
 * are wide, so that chance alone causes no finding. */
#include "core/metrics/interval.h"

#include <math.h>

struct interval interval_share(double share, double count, double z)
{
    if (!(count > 0))
        return (struct interval){0, 1};
    double square = z * z / count, middle = share + square / 2,
           half = z * sqrt((share * (1 - share) + square / 4) / count);
    return (struct interval){fmax(0, (middle - half) / (1 + square)), fmin(1, (middle + half) / (1 + square))};
}

struct interval interval_difference(double first, double first_count, double second, double second_count, double z)
{
    struct interval a = interval_share(first, first_count, z), b = interval_share(second, second_count, z);
    double d = first - second;
    return (struct interval){d - hypot(first - a.low, b.high - second), d + hypot(a.high - first, second - b.low)};
}

struct interval interval_correlation(double r, double count, double z)
{
    if (!(count > 3) || isnan(r))
        return (struct interval){-1, 1};
    double most = 1 - 1e-9, at = atanh(fmax(-most, fmin(most, r))), half = z / sqrt(count - 3);
    return (struct interval){tanh(at - half), tanh(at + half)};
}
