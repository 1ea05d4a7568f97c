/* The verdict of a dictionary run: whether its latents are worth an interpretation. It uses only what an owner of real
 * activations knows: agreement of seeds, agreement with pursuit, dead latents, explained variance. */
#include <math.h>

#include "core/methods/dictionary/run.h"
#include "core/methods/dictionary/run_int.h"

enum { NOTHING, UNSTABLE, DEAD, ARTIFACT };
const struct finding_code dictionary_findings[DICTIONARY_FINDINGS] = {
    [NOTHING] = {"explains-nothing", FINDING_ERROR, VERDICT_NOT_LEARNED,
                 "The dictionaries explain less than a tenth of the samples' variance.",
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
    const struct outcome *o = &run->outcome;
    int width = run->setup.width;
    if (run->base.phase != MODEL_RUN_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    if (!(o->explained >= EXPLAINED))
        findings_add(findings, &dictionary_findings[NOTHING],
                     "The dictionaries explain %.3g %% of the variance of the samples, less than %g %%.",
                     100 * o->explained, 100 * EXPLAINED);
    if (o->worth < RECURRING * width)
        findings_add(findings, &dictionary_findings[UNSTABLE],
                     "Fewer than half of the latents are worth an interpretation: %.0f of %d latents recur in every "
                     "seed and %.0f of these also agree with pursuit; %.0f are not worth an interpretation.",
                     o->recurring, width, o->worth, width - o->worth);
    if (o->dead > DEAD_SHARE)
        findings_add(findings, &dictionary_findings[DEAD],
                     "%.3g %% of the latents, more than %g %%, are active in none of %lld test samples.", 100 * o->dead,
                     100 * DEAD_SHARE, (long long)run->base.evaluation_samples);
    publish_findings(&run->base.findings, &dictionary_findings[ARTIFACT], findings);
    return STATUS_OK;
}
