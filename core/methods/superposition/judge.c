/* The verdict of a superposition run: whether training ended near the loss that theory predicts.
 *
 * A trained model is compared with two losses that need no training: the variance of a feature, which a model without
 * weights reaches, and the closed form of the best ReLU model (theory.h). Uploaded features are compared with their
 * variance only, because the closed form assumes features that are independent and alike. Rugs and linear maps are
 * computed, not trained, so their verdict is always `learned`. */
#include "core/methods/superposition/run.h"
#include "core/methods/superposition/run_int.h"

/* Number of standard errors by which a loss must lie below the variance of a feature. */
static const double SURE = 3;
/* A trained model is stuck if its loss is above this multiple of the closed form. The losses of the trained models in
 * docs/lab/superposition.md are at most 1.1 times the closed form. Stuck models had 4.6 and 9.7 times the closed
 * form. */
static const double STUCK = 1.5, USUAL = 1.1;
/* The closed form does not apply if samples have fewer active features than this (docs/lab/superposition.md,
 * "Rugs"). */
static const double ACTIVE = 5;

enum { TRIVIAL, ABOVE, ARTIFACT };
const struct finding_code superposition_findings[SUPERPOSITION_FINDINGS] = {
    [TRIVIAL] = {"trivial-loss", FINDING_ERROR, VERDICT_NOT_LEARNED,
                 "The trained model is no better than the mean of the data.",
                 "motifctl submit --like JOB --from JOB --set learning_rate=1e-2"},
    [ABOVE] = {"above-closed-form", FINDING_WARNING, VERDICT_PARTLY,
               "The trained model has at least 1.5 times the loss of the closed form.",
               "motifctl submit --like JOB --set stop=never --set learning_rate=1e-2"},
    [ARTIFACT] = FINDING_ARTIFACT_FAILED,
};

enum status superposition_judge(struct method_run *run, struct findings *findings, struct error *err)
{
    const struct superposition_setup *c = &run->setup;
    const struct outcome *o = &run->outcome;
    if (run->base.phase != MODEL_RUN_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    double share = o->loss / setup_predicted(c);
    bool trained = c->model == MODEL_TRAINED;
    bool applies = c->p * c->n_s >= ACTIVE && !superposition_uploaded(&run->config);
    if (trained && !(o->loss + SURE * o->error < setup_blind(run, c)))
        findings_add(findings, &superposition_findings[TRIVIAL],
                     "The loss is %.4g, no lower than the variance of a feature: the model answers the mean, whatever "
                     "the input.",
                     o->loss);
    else if (trained && applies && share > STUCK)
        findings_add(findings, &superposition_findings[ABOVE],
                     "The loss is %.1f times that of the closed form (n_s = %d, n_d = %d, p = %g); trained models "
                     "usually reach %g times.",
                     share, c->n_s, c->n_d, c->p, USUAL);
    publish_findings(&run->base.findings, &superposition_findings[ARTIFACT], findings);
    return STATUS_OK;
}
