/* Statistics of figures over several data sets: one row for each combination of model and rho or, for a table, one row
 * for each model over all folds. */
#ifndef MOTIF_CORE_METHODS_FACTORS_SUMMARY_H
#define MOTIF_CORE_METHODS_FACTORS_SUMMARY_H

#include "core/methods/factors/run_int.h"

struct spread {
    double median, low, high; /* quartiles; NaN without values */
    double mean, deviation;   /* deviation: standard deviation of the population, not of a sample */
};
struct summary {
    struct factors_case c; /* the first case that this row summarises */
    int count;
    struct spread mse, nll, recall, ndcg, accuracy, dci, dci_16, support_f1, columns;
    double stuck; /* fraction of the data sets for which factors_stuck() is true */
};

/* Whether the held-out error of a case is above four times the variance of the noise. Always false if the rows are not
 * simulated, because their noise is unknown. */
bool factors_stuck(const struct method_run *run, const struct outcome *outcome);

/* Writes at most `room` rows in the order of the cases. Returns their number, or 0 if there is not enough memory. */
int summarise(const struct method_run *run, struct summary *out, int room);

#endif
