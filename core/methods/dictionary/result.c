/* Writes the result of a dictionary run: its figures, and the latents that are worth an interpretation. */
#include <math.h>

#include "core/methods/dictionary/run.h"
#include "core/methods/dictionary/run_int.h"

enum { LISTED = 4096 };

static void write_outcome(const struct sink *out, const struct outcome *o)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"loss", o->loss},
               {"l0", o->l0},
               {"explained_variance", o->explained},
               {"shrinkage", o->shrinkage},
               {"dead", o->dead},
               {"mcc", o->mcc},
               {"mcc_sd", o->mcc_sd},
               {"uniqueness", o->uniqueness},
               {"precision", o->precision},
               {"recall", o->recall},
               {"f1", o->f1},
               {"f1_sd", o->f1_sd},
               {"accuracy", o->accuracy},
               {"absorption_full", o->absorption_full},
               {"absorption", o->absorption_fraction},
               {"pw_mcc", o->pair_absolute},
               {"pw_mcc_signed", o->pair_signed},
               {"pw_mcc_codes", o->pair_codes},
               {"recurring", o->recurring},
               {"code_mcc", o->code_encoder},
               {"code_mcc_fista", o->code_learned},
               {"code_mcc_true_dictionary", o->code_true},
               {"overlap_fista", o->overlap_fista},
               {"overlap_omp", o->overlap_omp},
               {"overlap_iht", o->overlap_iht},
               {"right", o->right_encoder},
               {"right_fista", o->right_fista},
               {"right_omp", o->right_omp},
               {"right_iht", o->right_iht},
               {"coherence", o->coherence},
               {"guaranteed", o->guaranteed},
               {"worth", o->worth},
               {"train_loss", o->train_loss}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        sink_number(out, all[i].name, all[i].value);
    sink_integer(out, "updates", o->updates);
    sink_integer(out, "trained_samples", o->samples);
    sink_begin_list(out, "found");
    for (int tenth = 0; tenth < RECOVERY_DECILES; tenth++)
        sink_number(out, NULL, o->found[tenth]);
    sink_end_list(out);
}

void latent_truth(const struct sink *out, const double *row)
{
    if (isnan(row[LATENT_FEATURE]))
        return;
    sink_integer(out, "feature", (int64_t)row[LATENT_FEATURE]);
    sink_number(out, "cosine", row[LATENT_COSINE]);
    sink_number(out, "precision", row[LATENT_PRECISION]);
    sink_number(out, "recall", row[LATENT_RECALL]);
}

/* Writes the latents of seed 0 that are worth an interpretation. */
static void write_latents(const struct sink *out, const struct method_run *run)
{
    int listed = 0;
    sink_begin_list(out, "worth_latents");
    for (int j = 0; j < run->setup.width && listed < LISTED; j++) {
        const double *row = run->latents + (ptrdiff_t)j * LATENT_COLUMNS;
        if (!(row[LATENT_WORTH] > 0))
            continue;
        sink_begin_object(out, NULL);
        sink_integer(out, "latent", j);
        sink_number(out, "rate", row[LATENT_RATE]);
        latent_truth(out, row);
        sink_number(out, "partner", row[LATENT_PARTNER]);
        sink_number(out, "agrees", row[LATENT_AGREES]);
        sink_end_object(out);
        listed++;
    }
    sink_end_list(out);
}

enum status dictionary_result(struct method_run *run, const struct sink *out, struct error *err)
{
    const struct dictionary_setup *c = &run->setup;
    if (run->base.phase != MODEL_RUN_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    sink_text(out, "learner", dictionary_learners[c->learner]);
    write_outcome(out, &run->outcome);
    if (c->source == SOURCE_RUG || c->source == SOURCE_TRAINED) /* what the best readout of a rug would explain */
        sink_number(out, "rug_explained", hidden_explained(c->p, (double)c->inputs / c->features));
    sink_integer(out, "seed", run->config.seed);
    sink_integer(out, "test_seed", run->base.evaluation_seed);
    sink_integer(out, "samples", run->base.evaluation_samples);
    scale_write(&run->columns, "scale", rows_names(&run->rows), out);
    write_latents(out, run);
    return run->rows.count > 0 ? rows_division(&run->rows, out, err) : STATUS_OK;
}

/* The verdict of a dictionary run: whether its latents are worth an interpretation. It uses only what an owner of real
 * activations knows: agreement of seeds, agreement with pursuit, dead latents, explained variance. */

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
