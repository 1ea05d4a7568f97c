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

enum { CONSTANT, NO_CHANGE, ARTIFACT };
const struct finding_code environments_findings[ENVIRONMENTS_FINDINGS] = {
    [CONSTANT] = {"no-better-than-mean", FINDING_ERROR, VERDICT_NOT_LEARNED,
                  "The squared error on test rows is at least 99 % of that of the mean outcome of the training rows.",
                  "motifctl submit --like JOB --set learning_rate=2e-2 --set updates=12000 --set restarts=12"},
    [NO_CHANGE] = {"no-change-found", FINDING_WARNING, VERDICT_PARTLY,
                   "The model has no change of a weight on any edge of the tree.",
                   "motifctl submit --like JOB --set penalty=3e-3"},
    [ARTIFACT] = FINDING_ARTIFACT_FAILED,
};

/* Squared error of the constant answer on the test rows; NaN: there are none. */
static double constant_error(const struct method_run *run)
{
    double mean = 0, sum = 0;
    for (int i = 0; i < run->train->rows; i++)
        mean += (double)run->train->y[i] / run->train->rows;
    for (int i = 0; i < run->test->rows; i++)
        sum += ((double)run->test->y[i] - mean) * ((double)run->test->y[i] - mean) / run->test->rows;
    return run->test->rows && run->train->rows ? sum : NAN;
}

enum status environments_judge(struct method_run *run, struct findings *findings, struct error *err)
{
    if (run->base.phase != MODEL_RUN_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    enum status status = tree_run_open(run, err);
    if (status)
        return status;
    double own = run->outcome.mse, constant = constant_error(run);
    if (own > (1 - GAIN) * constant) /* false if either is NaN */
        findings_add(findings, &environments_findings[CONSTANT],
                     "The squared error on test rows is %.4g; the mean outcome of the training rows has %.4g.", own,
                     constant);
    if (!run->base.alone && run->config.baseline == BASELINE_NONE && run->outcome.changes_found == 0)
        findings_add(findings, &environments_findings[NO_CHANGE],
                     "No weight changes on any edge of the tree: the penalty (%g) is too large, or the environments do "
                     "not differ.",
                     run->config.penalty);
    publish_findings(&run->base.findings, &environments_findings[ARTIFACT], findings);
    return STATUS_OK;
}
