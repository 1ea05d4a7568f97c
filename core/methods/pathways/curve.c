/* Derives figures from the curves: the recovered shares with their errors, the points at which a curve crosses a share,
 * and the slopes of the scaling law. */
#include <math.h>

#include "core/methods/pathways/run_int.h"

double point_share(const struct curve_point *p)
{
    return p->draws > 0 ? p->recovered / p->draws : NAN;
}

double point_stripe(const struct curve_point *p)
{
    return p->codes > 0 ? p->stripe[0] / p->codes : NAN;
}

/* Standard error of the recovered share. It is computed over codes and not over draws, because the draws of one code
 * depend on each other. With one draw for each code, it is the binomial error. */
double point_error(const struct curve_point *p)
{
    if (p->codes < 2)
        return NAN;
    double mean = point_share(p), variance = p->share_squares / p->codes - mean * mean;
    return sqrt(fmax(0, variance) / (p->codes - 1));
}

/* Finds the falling sequence that is closest to the shares of a curve, by the pool-adjacent-violators algorithm. Each
 * share is weighted by its number of draws. */
static int monotone(const struct curve *curve, double share[PATHWAYS_POINTS])
{
    int count = (int)curve->points, blocks = 0, length[PATHWAYS_POINTS];
    double value[PATHWAYS_POINTS], weight[PATHWAYS_POINTS];
    for (int i = 0; i < count; i++) {
        value[blocks] = point_share(&curve->point[i]);
        weight[blocks] = curve->point[i].draws;
        length[blocks++] = 1;
        while (blocks > 1 && value[blocks - 2] < value[blocks - 1]) {
            double sum = weight[blocks - 2] + weight[blocks - 1];
            value[blocks - 2] = (value[blocks - 2] * weight[blocks - 2] + value[blocks - 1] * weight[blocks - 1]) / sum;
            weight[blocks - 2] = sum;
            length[blocks - 2] += length[blocks - 1];
            blocks--;
        }
    }
    for (int b = 0, i = 0; b < blocks; b++)
        for (int j = 0; j < length[b]; j++)
            share[i++] = value[b];
    return count;
}

double curve_crossing(const struct curve *curve, double wanted, bool nonzeros)
{
    double share[PATHWAYS_POINTS];
    int count = monotone(curve, share);
    for (int i = 0; i + 1 < count; i++) {
        const struct curve_point *a = &curve->point[i], *b = a + 1;
        if (!(share[i] >= wanted && share[i + 1] < wanted))
            continue;
        double from = log(nonzeros ? a->nonzeros : point_stripe(a)), to = log(nonzeros ? b->nonzeros : point_stripe(b));
        return exp(from + (to - from) * (share[i] - wanted) / (share[i] - share[i + 1]));
    }
    return NAN;
}

/* Student's 97.5 % quantile. */
static double student(int freedom)
{
    static const double table[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                   2.201, 2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
    if (freedom <= 20)
        return table[freedom];
    double v = freedom, z = 1.959964; /* z: quantile of the normal distribution; Cornish-Fisher expansion, with an error
                                         below 1e-3 for freedom > 20 */
    return z + (z * z * z + z) / (4 * v) + (5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * v * v);
}

/* Writes the points of a fit: for each size, the means of the logarithms over its dictionaries. The coherence of a
 * single dictionary varies at random, and errors in x make a fitted slope too small. The means reduce these errors. */
static int scaling_points(const struct method_run *run, int group, enum scaling_of of, double *x, double *y)
{
    int points = 0, members = 0;
    for (int64_t i = 0; i < run->cases; i++) {
        const struct pathways_case *plan = &run->plan[i];
        const struct dictionary_shape *s = &plan->shape[0];
        double mu = run->curves[i].coherence[0], atoms = (double)s->filters * s->height * s->width;
        double value = of == SCALING_MEASURED ? curve_crossing(&run->curves[i], 0.5, false)
                       : of == SCALING_UNIFORM
                           ? bound_uniform(mu, 1, plan->ratio, plan->noise)
                           : bound_probabilistic(mu, atoms, 1, plan->ratio, plan->noise, run->config.delta);
        if (plan->group != group || !(value > 0))
            continue;
        bool same = points > 0 && members > 0 && plan->stream % 16 != 0;
        if (!same) {
            x[points] = y[points] = 0;
            points++;
            members = 0;
        }
        members++;
        x[points - 1] += (-log(mu) - x[points - 1]) / members;
        y[points - 1] += (log(value) - y[points - 1]) / members;
    }
    return points;
}

struct scaling_fit pathways_fit(const struct method_run *run, int group, enum scaling_of of)
{
    double x[PATHWAYS_CASES], y[PATHWAYS_CASES], mean_x = 0, mean_y = 0, sxx = 0, sxy = 0, syy = 0;
    int n = scaling_points(run, group, of, x, y);
    struct scaling_fit fit = {n, NAN, NAN, NAN, NAN};
    for (int i = 0; i < n; i++) {
        mean_x += x[i] / n;
        mean_y += y[i] / n;
    }
    for (int i = 0; i < n; i++) {
        sxx += (x[i] - mean_x) * (x[i] - mean_x);
        sxy += (x[i] - mean_x) * (y[i] - mean_y);
        syy += (y[i] - mean_y) * (y[i] - mean_y);
    }
    if (n < 2 || !(sxx > 1e-9))
        return fit;
    fit.slope = sxy / sxx;
    fit.intercept = mean_y - fit.slope * mean_x;
    if (n > 2) {
        double reach = student(n - 2) * sqrt(fmax(0, syy - fit.slope * sxy) / (n - 2) / sxx);
        fit.low = fit.slope - reach;
        fit.high = fit.slope + reach;
    }
    return fit;
}

int pathways_groups(const struct method_run *run)
{
    int groups = 0;
    for (int64_t i = 0; i < run->cases; i++)
        groups = run->plan[i].group >= groups ? run->plan[i].group + 1 : groups;
    return groups;
}
