/* The verdict of an environments run: whether the model predicts the outcome of test rows, and whether the tree was
 * used.
 *
 * The prediction is compared with the constant answer, the mean outcome of the training rows, which needs no model. The
 * tree was not used if the method itself found no change on any edge: its model is then the same for all
 * environments. */
#include <math.h>

#include "core/methods/environments/run.h"
#include "core/methods/environments/run_int.h"

/* The model is better than the constant answer if its squared error is lower by more than this share. Otherwise it gets
 * the finding "no-better-than-mean". A model whose weights are all zero must get this finding. */
static const double GAIN = 0.01;

enum { CONSTANT, POOLED, NO_CHANGE, ARTIFACT };
const struct finding_code environments_findings[ENVIRONMENTS_FINDINGS] = {
    [CONSTANT] = {"no-better-than-mean", FINDING_ERROR, VERDICT_NOT_LEARNED,
                  "The squared error on test rows is at least 99 % of that of the mean outcome of the training rows.",
                  "motifctl submit --like JOB --set learning_rate=2e-2 --set updates=12000 --set restarts=12"},
    [POOLED] =
        {"no-better-than-pooled", FINDING_NOTE, VERDICT_LEARNED,
         "The squared error of the model is not lower than that of the baseline pooled, which ignores environments.",
         "motifctl submit --like JOB --set baselines=no-penalty,pooled,none --set seeds=5"},
    [NO_CHANGE] = {"no-change-found", FINDING_WARNING, VERDICT_PARTLY,
                   "In at least half of the fits, no weight changes on any edge of the tree.",
                   "motifctl submit --like JOB --set sweep=penalty --set values=1e-3,3e-3,1e-2"},
    [ARTIFACT] = FINDING_ARTIFACT_FAILED,
};

/* Squared error of the constant answer on the test rows of the open case; NaN: there are none. */
static double constant_error(const struct method_run *run)
{
    double mean = 0, sum = 0;
    for (int i = 0; i < run->train->rows; i++)
        mean += (double)run->train->y[i] / run->train->rows;
    for (int i = 0; i < run->test->rows; i++)
        sum += ((double)run->test->y[i] - mean) * ((double)run->test->y[i] - mean) / run->test->rows;
    return run->test->rows && run->train->rows ? sum : NAN;
}

/* Mean of the squared errors (mse) of all cases of a baseline; NaN: the run has no case of this baseline. */
static double mean_error(const struct method_run *run, int baseline)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < run->sweep.count; i++)
        if (run->cases[i].baseline == baseline && isfinite(run->outcomes[i].mse)) {
            sum += run->outcomes[i].mse;
            count++;
        }
    return count ? sum / count : NAN;
}

static void judge_changes(const struct method_run *run, struct findings *findings)
{
    int own = 0, none = 0;
    for (int i = 0; i < run->sweep.count; i++) {
        bool method = run->cases[i].baseline == BASELINE_NONE && isfinite(run->outcomes[i].changes_found);
        own += method;
        none += method && run->outcomes[i].changes_found == 0;
    }
    if (none > 0 && 2 * none >= own)
        findings_add(findings, &environments_findings[NO_CHANGE],
                     "In %d of %d fits no weight changes on any edge of the tree: the penalty is too large, or the "
                     "environments do not differ.",
                     none, own);
    double with = mean_error(run, BASELINE_NONE), pooled = mean_error(run, BASELINE_POOLED);
    if (with >= pooled) /* false if either is NaN */
        findings_add(findings, &environments_findings[POOLED],
                     "The mean squared error on test rows is %.4g; the baseline pooled has %.4g.", with, pooled);
}

enum status environments_judge(struct method_run *run, struct findings *findings, struct error *err)
{
    if (run->sweep.phase != CASE_SWEEP_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    enum status status = run->sweep.opened == run->sweep.at ? STATUS_OK : tree_case_open(run, (int)run->sweep.at, err);
    if (status)
        return status;
    double own = run->outcomes[run->sweep.at].mse, constant = constant_error(run);
    if (own > (1 - GAIN) * constant) /* false if either is NaN */
        findings_add(findings, &environments_findings[CONSTANT],
                     "The squared error on test rows is %.4g; the mean outcome of the training rows has %.4g.", own,
                     constant);
    if (!run->sweep.alone)
        judge_changes(run, findings);
    publish_findings(&run->sweep.findings, &environments_findings[ARTIFACT], findings);
    return STATUS_OK;
}
