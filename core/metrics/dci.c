/* DCI disentanglement from importances that boosted trees measure. */
#include "core/metrics/dci.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/metrics/boosting.h"

/* added to all importances, so that a code whose importances are all 0 has the largest entropy */
static const double NOTHING = 1e-11;

double dci_disentanglement(const double *importance, int codes, int factors)
{
    double total = 0, score = 0;
    for (int i = 0; i < codes * factors; i++)
        total += importance[i];
    if (factors < 2)
        return NAN;
    for (int k = 0; k < codes && total > 0; k++) {
        const double *r = importance + (ptrdiff_t)k * factors;
        double sum = 0, share = 0, entropy = 0;
        for (int f = 0; f < factors; f++) {
            sum += r[f] + NOTHING;
            share += r[f];
        }
        for (int f = 0; f < factors; f++) {
            double p = (r[f] + NOTHING) / sum;
            entropy -= p * log(p) / log(factors);
        }
        score += share / total * (1 - entropy);
    }
    return score;
}

enum status dci_score(const float *codes, const float *truth, int rows, int code_count, int factors,
                      struct thread_pool *pool, double *importance, double *score, struct error *err)
{
    double *table = calloc((size_t)code_count * (size_t)factors, sizeof *table);
    double *one = calloc((size_t)code_count, sizeof *one), *y = calloc((size_t)rows, sizeof *y);
    enum status status = table && one && y ? STATUS_OK : error_memory(err, "importances");
    for (int f = 0; !status && f < factors; f++) {
        for (int i = 0; i < rows; i++)
            y[i] = (double)truth[(ptrdiff_t)i * factors + f];
        status = boosting_importance(&BOOSTING_DEFAULT, rows, code_count, codes, y, pool, one, NULL, err);
        for (int k = 0; k < code_count; k++)
            table[(ptrdiff_t)k * factors + f] = one[k];
    }
    if (!status)
        *score = dci_disentanglement(table, code_count, factors);
    for (int i = 0; !status && importance && i < code_count * factors; i++)
        importance[i] = table[i];
    free(table);
    free(one);
    free(y);
    return status;
}
