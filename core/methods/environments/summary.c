/* Summarises cases that differ in their seed only: median, minimum and maximum of every figure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sorted.h"
#include "core/methods/environments/run_int.h"

static bool same_group(const struct environments_case *a, const struct environments_case *b)
{
    return a->baseline == b->baseline && (a->value == b->value || (isnan(a->value) && isnan(b->value)));
}

/* Computes the spread of one figure over the cases that differ from case `first` in nothing but the seed. values:
 * scratch with room for all cases. */
static struct spread spread_of(const struct method_run *run, int first, int column, double *values)
{
    int n = 0;
    for (int i = 0; i < run->sweep.count; i++) {
        double value = ((const double *)&run->outcomes[i])[column];
        if (same_group(&run->cases[first], &run->cases[i]) && isfinite(value))
            values[n++] = value;
    }
    if (n == 0)
        return (struct spread){NAN, NAN, NAN};
    sorted_make(values, (size_t)n);
    return (struct spread){0.5 * (values[(n - 1) / 2] + values[n / 2]), values[0], values[n - 1]};
}

int environments_summarise(const struct method_run *run, struct summary *out, int room)
{
    double *values = malloc((size_t)run->sweep.count * sizeof *values);
    int groups = 0;
    for (int i = 0; values && i < run->sweep.count; i++) {
        int first = 0, members = 0;
        while (!same_group(&run->cases[first], &run->cases[i]))
            first++;
        if (first < i)
            continue;
        for (int j = i; j < run->sweep.count; j++)
            members += same_group(&run->cases[i], &run->cases[j]);
        for (int c = 0; c < OUTCOME_COLUMNS && groups < room; c++)
            out[groups].column[c] = spread_of(run, i, c, values);
        if (groups < room) {
            out[groups].baseline = run->cases[i].baseline;
            out[groups].value = run->cases[i].value;
            out[groups].count = members;
        }
        groups++;
    }
    free(values);
    return groups;
}
