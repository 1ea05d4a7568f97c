/* The verdict of a superposition run: whether training ended near the loss that theory predicts.
 *
 * A trained case is compared with two losses that need no training: the variance of a feature, which a model without
 * weights reaches, and the closed form of the best ReLU model (theory.h). Uploaded features are compared with their
 * variance only, because the closed form assumes features that are independent and alike. Rugs and linear maps are
 * computed, not trained, so their verdict is always `learned`. */
#include "core/methods/superposition/run.h"
#include "core/methods/superposition/run_int.h"

/* Number of standard errors by which a loss must lie below the variance of a feature. */
static const double SURE = 3;
/* A trained case is stuck if its loss is above this multiple of the closed form. The losses of the trained models in
 * docs/lab/superposition.md are at most 1.1 times the closed form. Stuck models had 4.6 and 9.7 times the closed
 * form. */
static const double STUCK = 1.5;
/* The closed form does not apply if samples have fewer active features than this (docs/lab/superposition.md,
 * "Rugs"). */
static const double ACTIVE = 5;

enum { TRIVIAL, ABOVE, SOME, ARTIFACT };
const struct finding_code superposition_findings[SUPERPOSITION_FINDINGS] = {
    [TRIVIAL] = {"trivial-loss", FINDING_ERROR, VERDICT_NOT_LEARNED,
                 "At least half of the trained models are no better than the mean of the data.",
                 "motifctl submit --like JOB --from JOB --set learning_rate=1e-2"},
    [ABOVE] = {"above-closed-form", FINDING_WARNING, VERDICT_PARTLY,
               "At least half of the trained models have at least 1.5 times the loss of the closed form.",
               "motifctl submit --like JOB --set stop=never --set learning_rate=1e-2"},
    [SOME] = {"some-cases-stuck", FINDING_NOTE, VERDICT_LEARNED,
              "Fewer than half of the trained models have a trivial loss or one far above the closed form.",
              "motifctl submit --like JOB --set stop=never --set learning_rate=1e-2"},
    [ARTIFACT] = FINDING_ARTIFACT_FAILED,
};

/* Numbers of trained cases: all, those with a trivial loss, and those with a loss far above the closed form. */
struct stuck {
    int trained, trivial, above;
    double most; /* largest loss, divided by that of the closed form */
    const struct superposition_case *worst;
};

static void count_case(const struct method_run *run, int i, struct stuck *s)
{
    const struct superposition_case *c = &run->cases[i];
    const struct outcome *o = &run->outcomes[i];
    double share = o->loss / case_predicted(c);
    bool applies = c->p * c->n_s >= ACTIVE && !superposition_uploaded(&run->config);
    bool trivial = !(o->loss + SURE * o->error < case_blind(run, c));
    s->trained++;
    s->trivial += trivial;
    s->above += !trivial && applies && share > STUCK;
    if (applies && share > s->most) {
        s->most = share;
        s->worst = c;
    }
}

enum status superposition_judge(struct method_run *run, struct findings *findings, struct error *err)
{
    struct stuck s = {0};
    int first = run->sweep.alone ? (int)run->sweep.at : 0, last = run->sweep.alone ? first + 1 : run->sweep.count;
    if (run->sweep.phase != CASE_SWEEP_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    for (int i = first; i < last; i++)
        if (run->cases[i].model == MODEL_TRAINED)
            count_case(run, i, &s);
    if (s.trivial > 0 && 2 * s.trivial >= s.trained)
        findings_add(findings, &superposition_findings[TRIVIAL],
                     "%d of %d trained models have a loss no lower than the variance of a feature: they answer the "
                     "mean, whatever the input.",
                     s.trivial, s.trained);
    else if (s.above > 0 && 2 * s.above >= s.trained)
        findings_add(findings, &superposition_findings[ABOVE],
                     "%d of %d trained models have more than %g times the loss of the closed form; the worst has %.1f "
                     "times (n_s = %d, n_d = %d, p = %g).",
                     s.above, s.trained, STUCK, s.most, s.worst->n_s, s.worst->n_d, s.worst->p);
    else if (s.trivial + s.above > 0)
        findings_add(findings, &superposition_findings[SOME],
                     "Of %d trained models, %d have a loss no lower than the variance of a feature, and %d have more "
                     "than %g times the loss of the closed form.",
                     s.trained, s.trivial, s.above, STUCK);
    publish_findings(&run->sweep.findings, &superposition_findings[ARTIFACT], findings);
    return STATUS_OK;
}
