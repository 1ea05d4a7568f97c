/* Confidence intervals of shares, of their differences, of correlations and of means (interval.h). The verdict on a
 * training compares its limits with the ends of these intervals, not with the measured values. With few samples the
 * intervals are wide, so that chance alone causes no finding. */
#include "core/metrics/interval.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/random/mt19937.h"
#include "core/base/sorted.h"

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

double interval_student(double freedom)
{
    const double z = 1.959963985, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    if (freedom < 3)
        return freedom < 2 ? 12.7062 : 4.30265;
    return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

struct interval interval_mean(const double *values, int count, double *mean)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    *mean = count > 0 ? sum / count : (double)NAN;
    for (int i = 0; i < count; i++)
        squares += (values[i] - *mean) * (values[i] - *mean);
    if (count < 2)
        return (struct interval){NAN, NAN};
    double half = interval_student(count - 1) * sqrt(squares / (count - 1) / count);
    return (struct interval){*mean - half, *mean + half};
}

enum status bootstrap_mean(const double *values, int count, struct bootstrap *out, struct error *err)
{
    *out = (struct bootstrap){.count = 0, .mean = NAN, .low = NAN, .high = NAN};
    double means[BOOTSTRAP_RESAMPLES], sum = 0.0;
    double *kept = malloc(((size_t)(count > 0 ? count : 0) + 1) * sizeof *kept);
    if (kept == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d values", count);
    for (int i = 0; i < count; i++) {
        if (!isnan(values[i])) {
            kept[out->count++] = values[i];
            sum += values[i];
        }
    }
    if (out->count > 0) {
        struct mt19937 rng;
        mt19937_init(&rng, 0);
        for (int resample = 0; resample < BOOTSTRAP_RESAMPLES; resample++) {
            means[resample] = 0.0;
            for (int i = 0; i < out->count; i++)
                means[resample] += kept[mt19937_choice(&rng, out->count)];
            means[resample] /= out->count;
        }
        sorted_make(means, BOOTSTRAP_RESAMPLES);
        out->mean = sum / out->count;
        out->low = sorted_quantile(means, BOOTSTRAP_RESAMPLES, 0.025);
        out->high = sorted_quantile(means, BOOTSTRAP_RESAMPLES, 0.975);
    }
    free(kept);
    return STATUS_OK;
}
