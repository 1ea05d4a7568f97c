/* Effective numbers of grouped samples, and the sign test of their differences (clusters.h). */
#include "core/metrics/clusters.h"

#include <math.h>
#include <stdlib.h>

#include "core/metrics/interval.h"

double clusters_effective(const double *sum, const int64_t *n, double one)
{
    double samples = 0, squares = 0, groups = 0;
    for (int g = 0; g < CLUSTERS; g++) {
        samples += (double)n[g];
        groups += n[g] > 0;
        squares += sum[g] * sum[g];
    }
    if (groups < 2 || !(one > 0))
        return samples;
    double variance = groups / (groups - 1) * squares / (samples * samples), t = interval_student(groups - 1) / 1.96;
    return fmin(samples, variance > 0 ? one / variance / (t * t) : samples);
}

double clusters_of_share(const int64_t *with, const int64_t *of)
{
    double samples = 0, counted = 0, groups = 0, sum[CLUSTERS];
    for (int g = 0; g < CLUSTERS; g++) {
        samples += (double)of[g];
        counted += (double)with[g];
        groups += of[g] > 0;
    }
    if (groups >= 2 && (counted == 0 || counted == samples))
        return groups;
    double share = samples > 0 ? counted / samples : 0;
    for (int g = 0; g < CLUSTERS; g++)
        sum[g] = (double)with[g] - share * (double)of[g];
    return clusters_effective(sum, of, share * (1 - share));
}

/* The variance of one independent sample is that of Fisher's interval, (1 - phi^2)^2. */
double clusters_of_phi(const int64_t *n, const int64_t *first, const int64_t *second, const int64_t *both)
{
    double samples = 0, x = 0, y = 0, xy = 0, sum[CLUSTERS];
    for (int g = 0; g < CLUSTERS; g++) {
        samples += (double)n[g];
        x += (double)first[g];
        y += (double)second[g];
        xy += (double)both[g];
    }
    x /= samples;
    y /= samples;
    double xx = x * (1 - x), yy = y * (1 - y);
    if (!(xx > 0 && yy > 0))
        return samples;
    double phi = (xy / samples - x * y) / sqrt(xx * yy);
    for (int g = 0; g < CLUSTERS; g++) {
        double of = (double)n[g], a = (double)first[g], b = (double)second[g];
        double product = ((double)both[g] - x * b - y * a + of * x * y) / sqrt(xx * yy);
        sum[g] = product - phi / 2 * ((a * (1 - 2 * x) + of * x * x) / xx + (b * (1 - 2 * y) + of * y * y) / yy);
    }
    return clusters_effective(sum, n, (1 - phi * phi) * (1 - phi * phi));
}

/* chance[i] is the probability that the signed sum of the differences so far is i - all. */
enum status clusters_sign_test(const int64_t *net, int count, double *p, struct error *err)
{
    int64_t all = 0, sum = 0;
    for (int g = 0; g < count; g++) {
        all += net[g] < 0 ? -net[g] : net[g];
        sum += net[g];
    }
    size_t room = 2 * (size_t)all + 1;
    double *chance = calloc(2 * room, sizeof *chance);
    if (!chance)
        return error_memory(err, "a comparison");
    double *next = chance + room, *from = chance;
    from[all] = 1;
    for (int g = 0; g < count; g++) {
        int64_t step = net[g] < 0 ? -net[g] : net[g];
        for (int64_t i = 0; i < (int64_t)room; i++)
            next[i] = 0.5 * ((i >= step ? from[i - step] : 0) + (i + step < (int64_t)room ? from[i + step] : 0));
        double *kept = from;
        from = next;
        next = kept;
    }
    *p = 0;
    for (int64_t i = all + sum; i < (int64_t)room; i++)
        *p += from[i];
    free(chance);
    return STATUS_OK;
}
