/* Bootstrap intervals of a mean, bit for bit as numpy's legacy generator draws the resamples. */
#include "core/metrics/bootstrap.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/random/mt19937.h"
#include "core/base/sorted.h"

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
