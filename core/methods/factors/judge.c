/* The verdict of a factors run: whether the latent variables carry any information about the rows.
 *
 * A fit whose mask has died, or whose latent variables have collapsed, gives the same answer for every row. Its
 * held-out error is then that of a constant: the column means of the training rows. For counts, the constant is the
 * share of each column in the sum of these means. */
#include <math.h>
#include <stdlib.h>

#include "core/methods/factors/run.h"
#include "core/methods/factors/run_int.h"

/* The error of a fit must be lower than that of the constant answer by this share. If a fit has collapsed, its
 * error differs from that of the constant answer by rounding only. */
static const double GAIN = 0.01;
static const double GUARD = 1e-6; /* as in evaluate.c */

enum { CONSTANT, DEAD, STUCK, ARTIFACT };
const struct finding_code factors_findings[FACTORS_FINDINGS] = {
    [CONSTANT] = {"no-better-than-mean", FINDING_ERROR, VERDICT_NOT_LEARNED,
                  "The held-out error is at least 99 % of that of a constant answer, the mean of the training rows.",
                  "motifctl submit --like JOB --set learning_rate=1e-2 --set restarts=10"},
    [DEAD] = {"dead-mask", FINDING_ERROR, VERDICT_NOT_LEARNED, "No column of the mask has a non-zero entry.",
              "motifctl submit --like JOB --set lambda0=1 --set restarts=10"},
    [STUCK] = {"stuck-fit", FINDING_WARNING, VERDICT_PARTLY,
               "The held-out error of simulated rows is above four times the variance of their noise.",
               "motifctl submit --like JOB --set restarts=10"},
    [ARTIFACT] = FINDING_ARTIFACT_FAILED,
};

/* Means of the training rows' columns, [columns]; the caller frees them. NULL: no memory. */
static double *column_means(const struct method_run *run)
{
    int g = run->features->columns;
    double *mean = calloc((size_t)g, sizeof *mean);
    for (int i = 0; mean && i < run->data.train_count; i++) {
        const float *x = run->features->x + (ptrdiff_t)run->data.train[i] * g;
        for (int j = 0; j < g; j++)
            mean[j] += (double)x[j] / run->data.train_count;
    }
    return mean;
}

/* Error of the constant answer `mean` on the test rows, in the unit of outcome.mse or outcome.nll. */
static double constant_error(const struct method_run *run, const double *mean)
{
    int g = run->features->columns, n = run->data.test_count;
    double sum = 0, total = 0;
    for (int j = 0; j < g; j++)
        total += mean[j];
    for (int i = 0; i < n; i++) {
        const float *x = run->features->x + (ptrdiff_t)run->data.test[i] * g;
        for (int j = 0; j < g; j++) {
            double v = (double)x[j], m = mean[j];
            if (run->config.likelihood == LIKELIHOOD_GAUSSIAN)
                sum += (v - m) * (v - m) / g;
            else if (run->config.likelihood == LIKELIHOOD_MULTINOMIAL)
                sum -= v * log((total > 0 ? m / total : 0) + GUARD);
            else
                sum -= v * log(m + GUARD) + (1 - v) * log(1 - m + GUARD);
        }
    }
    return sum / n;
}

/* Compares the model with the constant answer. */
static enum status judge_error(struct method_run *run, struct findings *findings, struct error *err)
{
    const struct outcome *o = &run->outcome;
    bool gaussian = run->config.likelihood == LIKELIHOOD_GAUSSIAN;
    double own = gaussian ? fmin(o->mse, o->mse_mean) : fmin(o->nll, o->nll_mean); /* fmin() leaves out NaN */
    if (!run->base.opened || !run->features || run->data.test_count < 1 || isnan(own))
        return STATUS_OK;
    double *mean = column_means(run);
    if (!mean)
        return error_memory(err, "the verdict");
    double constant = constant_error(run, mean);
    free(mean);
    if (own > (1 - GAIN) * constant)
        findings_add(findings, &factors_findings[CONSTANT],
                     "The held-out error is %.4g; the mean of the training rows, which ignores the input, has %.4g.",
                     own, constant);
    return STATUS_OK;
}

enum status factors_judge(struct method_run *run, struct findings *findings, struct error *err)
{
    const struct outcome *o = &run->outcome;
    double deviation = factors_deviation(&run->config), limit = 4 * deviation * deviation;
    if (run->base.phase != MODEL_RUN_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    if (o->columns == 0) /* NaN if the model has no mask */
        findings_add(findings, &factors_findings[DEAD],
                     "No column of the mask has a non-zero entry, so no feature depends on a latent variable.");
    if (run->config.data == DATA_SYNTHETIC && o->mse > limit)
        findings_add(findings, &factors_findings[STUCK],
                     "The fit ended with a held-out error of %.4g, above four times the variance of the noise (%.4g).",
                     o->mse, limit);
    enum status status = judge_error(run, findings, err);
    publish_findings(&run->base.findings, &factors_findings[ARTIFACT], findings);
    return status;
}
