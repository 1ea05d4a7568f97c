/* The verdict of a dictionary run: whether its latents are worth an interpretation. It uses only what an owner of real
 * activations knows: agreement of seeds, agreement with pursuit, dead latents, explained variance. */
#include <math.h>

#include "core/methods/dictionary/run.h"
#include "core/methods/dictionary/run_int.h"

enum { NOTHING, UNSTABLE, DEAD, ARTIFACT };
const struct finding_code dictionary_findings[DICTIONARY_FINDINGS] = {
    [NOTHING] = {"explains-nothing", FINDING_ERROR, VERDICT_NOT_LEARNED,
                 "A dictionary explains less than a tenth of the samples' variance.",
                 "motifctl submit --like JOB --from JOB --set learning_rate=1e-3"},
    [UNSTABLE] = {"latents-do-not-recur", FINDING_WARNING, VERDICT_PARTLY,
                  "Fewer than half of the latents recur in all seeds and agree with orthogonal matching pursuit.",
                  "Interpret only the latents that result.worth_latents lists, or train a narrower dictionary."},
    [DEAD] = {"dead-latents", FINDING_NOTE, VERDICT_LEARNED,
              "More than a tenth of the latents are active in no test sample.",
              "motifctl submit --like JOB --set dead_after=200"},
    [ARTIFACT] = FINDING_ARTIFACT_FAILED,
};

static const double EXPLAINED = 0.1, DEAD_SHARE = 0.1, RECURRING = 0.5;

enum status dictionary_judge(struct method_run *run, struct findings *findings, struct error *err)
{
    int first = run->sweep.alone ? (int)run->sweep.at : 0, last = run->sweep.alone ? first + 1 : run->sweep.count;
    int nothing = 0, unstable = 0, dead = 0, worst = first;
    if (run->sweep.phase != CASE_SWEEP_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    for (int i = first; i < last; i++) {
        const struct outcome *o = &run->outcomes[i];
        nothing += !(o->explained >= EXPLAINED);
        dead += o->dead > DEAD_SHARE;
        unstable += o->worth < RECURRING * run->cases[i].width;
        if (o->worth / run->cases[i].width < run->outcomes[worst].worth / run->cases[worst].width)
            worst = i;
    }
    const struct outcome *o = &run->outcomes[worst];
    int width = run->cases[worst].width;
    if (nothing > 0)
        findings_add(findings, &dictionary_findings[NOTHING],
                     "%d of %d dictionaries explain less than %g %% of the variance of the samples.", nothing,
                     last - first, 100 * EXPLAINED);
    if (unstable > 0)
        findings_add(findings, &dictionary_findings[UNSTABLE],
                     "In %d of %d cases fewer than half of the latents are worth an interpretation. In the worst one "
                     "(%s) %.0f of %d latents recur in every seed and %.0f of these also agree with pursuit; %.0f are "
                     "not worth an interpretation.",
                     unstable, last - first, dictionary_learners[run->cases[worst].learner], o->recurring, width,
                     o->worth, width - o->worth);
    if (dead > 0)
        findings_add(findings, &dictionary_findings[DEAD],
                     "In %d of %d cases more than %g %% of the latents are active in none of %lld test samples.", dead,
                     last - first, 100 * DEAD_SHARE, (long long)run->sweep.evaluation_samples);
    publish_findings(&run->sweep.findings, &dictionary_findings[ARTIFACT], findings);
    return STATUS_OK;
}
