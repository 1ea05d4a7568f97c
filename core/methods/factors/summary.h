/* Figures over several data sets: one row for each (model, rho) of a run, or for each model over the folds of a table.
 */
#ifndef MOTIF_CORE_METHODS_FACTORS_SUMMARY_H
#define MOTIF_CORE_METHODS_FACTORS_SUMMARY_H

#include "core/methods/factors/run_int.h"

struct spread {
    double median, low, high; /* quartiles; NaN without values */
    double mean, deviation;   /* standard deviation of the population, not of a sample */
};
struct summary {
    struct factors_case c; /* the first case that this row summarises */
    int count;
    struct spread mse, nll, recall, ndcg, accuracy, dci, dci_16, support_f1, columns;
    double stuck; /* fraction of data sets with a held-out error above four times the noise's variance */
};

/* Writes at most `room` rows in the order of the cases. Returns their number, or 0 if there is not enough memory. */
int summarise(const struct method_run *run, struct summary *out, int room);

#endif
