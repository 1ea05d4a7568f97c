/* Summarises cases over data sets or folds: quartiles, mean and deviation of every figure. */
#include "core/methods/factors/summary.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/sorted.h"

/* Computes the spread of one column over outcomes [from, to). values: scratch for one value of each outcome. */
static struct spread spread_of(const struct outcome *outcomes, int from, int to, ptrdiff_t column, double *values)
{
    int count = 0;
    for (int i = from; i < to; i++) {
        double value = ((const double *)&outcomes[i])[column];
        if (isfinite(value))
            values[count++] = value;
    }
    sorted_make(values, (size_t)count);
    if (count == 0)
        return (struct spread){NAN, NAN, NAN, NAN, NAN};
    struct spread s = {sorted_quantile(values, (size_t)count, 0.5), sorted_quantile(values, (size_t)count, 0.25),
                       sorted_quantile(values, (size_t)count, 0.75), 0, 0};
    for (int i = 0; i < count; i++)
        s.mean += values[i] / count;
    for (int i = 0; i < count; i++)
        s.deviation += (values[i] - s.mean) * (values[i] - s.mean) / count;
    s.deviation = sqrt(s.deviation);
    return s;
}

#define COLUMN(member) ((ptrdiff_t)(offsetof(struct outcome, member) / sizeof(double)))

bool factors_stuck(const struct method_run *run, const struct outcome *outcome)
{
    double deviation = factors_deviation(&run->config);
    return run->config.data == DATA_SYNTHETIC && outcome->mse > 4 * deviation * deviation;
}

static struct summary summarise_group(const struct method_run *run, int from, int to, double *values)
{
    const struct outcome *o = run->outcomes;
    double stuck = 0;
    for (int i = from; i < to; i++)
        stuck += factors_stuck(run, &o[i]);
    return (struct summary){.c = run->cases[from],
                            .count = to - from,
                            .mse = spread_of(o, from, to, COLUMN(mse), values),
                            .nll = spread_of(o, from, to, COLUMN(nll), values),
                            .recall = spread_of(o, from, to, COLUMN(recall), values),
                            .ndcg = spread_of(o, from, to, COLUMN(ndcg), values),
                            .accuracy = spread_of(o, from, to, COLUMN(accuracy), values),
                            .dci = spread_of(o, from, to, COLUMN(dci), values),
                            .dci_16 = spread_of(o, from, to, COLUMN(dci_16), values),
                            .support_f1 = spread_of(o, from, to, COLUMN(support_f1), values),
                            .columns = spread_of(o, from, to, COLUMN(columns), values),
                            .stuck = run->config.data == DATA_SYNTHETIC ? stuck / (to - from) : NAN};
}

static bool same_group(const struct factors_case *a, const struct factors_case *b)
{
    return a->model == b->model && a->rho == b->rho;
}

int summarise(const struct method_run *run, struct summary *out, int room)
{
    double *values = malloc((size_t)run->sweep.count * sizeof *values);
    int groups = 0, to;
    for (int from = 0; values && from < run->sweep.count; from = to) {
        for (to = from + 1; to < run->sweep.count && same_group(&run->cases[from], &run->cases[to]); to++)
            ;
        if (groups < room)
            out[groups] = summarise_group(run, from, to, values);
        groups++;
    }
    free(values);
    return groups;
}
