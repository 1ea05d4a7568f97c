/* DCI disentanglement (Eastwood and Williams 2018): the degree to which each code depends on one factor only. */
#ifndef MOTIF_CORE_METRICS_DCI_H
#define MOTIF_CORE_METRICS_DCI_H

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

/* The disentanglement of importance: [codes][factors] >= 0. For each code it is 1 - the entropy (base `factors`) of the
 * code's importances over the factors. The result is the mean over codes, weighted by each code's share of all
 * importances. In [0, 1]; 0 when all importances are 0; NaN for fewer than two factors. */
double dci_disentanglement(const double *importance, int codes, int factors);

/* The disentanglement, computed from the importances of boosted trees (boosting.h) that predict each factor from the
 * codes. codes: [rows][code_count]; truth: [rows][factors]; importance: [code_count][factors] receives the importances
 * and may be NULL. STATUS_CANCELLED when `pool` is stopped (NULL: never). */
enum status dci_score(const float *codes, const float *truth, int rows, int code_count, int factors,
                      struct thread_pool *pool, double *importance, double *score, struct error *err);

#endif
