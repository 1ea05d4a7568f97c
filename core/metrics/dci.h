/* DCI disentanglement (Eastwood and Williams 2018): whether each code tells about one factor only. */
#ifndef MOTIF_CORE_METRICS_DCI_H
#define MOTIF_CORE_METRICS_DCI_H

#include "core/base/error.h"

/* Of importances R [codes][factors] >= 0: codes' 1 - entropy over the factors (to base `factors`), weighed by their
 * share of R. In [0, 1]; 0 when R is 0, NaN for fewer than two factors. */
double dci_disentanglement(const double *importance, int codes, int factors);

/* With R_.f the importances of boosted trees (boosting.h) that predict factor f from the codes. codes:
 * [rows][code_count], truth: [rows][factors]; importance: [code_count][factors], written, or NULL. */
enum status dci_score(const float *codes, const float *truth, int rows, int code_count, int factors, double *importance,
                      double *score, struct error *err);

#endif
