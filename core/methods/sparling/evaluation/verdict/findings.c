/* The findings of SPARLING, the thresholds of its verdict, and the texts of findings (judge_int.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/methods/sparling/evaluation/verdict/judge_int.h"

const struct judge_limits limits = {.sure = 1.96,
                                    .related = 0.3,
                                    .weak = 0.6,
                                    .common = 10,
                                    .useless = 0.2,
                                    .half = 0.5,
                                    .drop = 0.1,
                                    .heart = 0.2,
                                    .motifs_per_token = 2,
                                    .dense = 2,
                                    .gain = 0.02,
                                    .outside = 0.5,
                                    .wide = 2,
                                    .rare = 1};

const struct finding_code sparling_findings[SPARLING_FINDINGS] = {
    [CONSTANT] = {"no-better-than-constant", FINDING_ERROR, VERDICT_NOT_LEARNED,
                  "The end-to-end error is more than four fifths of that of an answer that ignores the input: the most "
                  "frequent label, or the label of another sample. With numbers as targets: R squared may be 0.",
                  "motifctl plot JOB loss,validation_loss,accuracy"},
    [MOST_UNREAD] = {"most-symbols-not-read", FINDING_ERROR, VERDICT_NOT_LEARNED,
                     "The model reads at least half of the names, or of the numbers, no better than by chance.",
                     "motifctl channels JOB --png channels.png"},
    [LOW_ACCURACY] =
        {"low-accuracy", FINDING_WARNING, VERDICT_PARTLY,
         "The end-to-end error is more than half of that of an answer that ignores the input. With numbers as targets: "
         "the model explains less than a tenth of their variance.",
         AGAIN "--set total_samples=400000"},
    [UNREAD] = {"symbol-not-read", FINDING_WARNING, VERDICT_PARTLY,
                "The model reads a name of the labels, or a number, no better than by chance.", AGAIN "--set seed=2"},
    [WEAK] = {"symbol-read-poorly", FINDING_WARNING, VERDICT_PARTLY,
              "The model reads a name of the labels better than by chance, but its answers often lack the name or have "
              "it wrongly. One of these holds, too: no channel stands for the name; its channel predicts the name much "
              "better in training samples, or worse than the answers do; the correlation of answers and labels may be "
              "below 0.3; or labels are classes or counts.",
              AGAIN "--set seed=2"},
    [MISREAD] = {"symbol-often-misread", FINDING_NOTE, VERDICT_LEARNED,
                 "The answers often lack a name or have it wrongly, although the name has a channel of its own: its "
                 "motif is weak, or the channel is not yet sharp.",
                 AGAIN "--set seed=2"},
    [ORDER] = {"order-not-read", FINDING_WARNING, VERDICT_PARTLY,
               "Less than half of the answers that have the right names also have their order.",
               AGAIN "--set curriculum=0"},
    [WITHOUT_CHANNEL] = {"symbol-without-channel", FINDING_WARNING, VERDICT_PARTLY,
                         "No channel's presence predicts a name that the labels have.", AGAIN "--set seed=2"},
    [MERGED] = {"merged-channel", FINDING_WARNING, VERDICT_PARTLY,
                "One channel marks two or more names, and one of them has no channel of its own.",
                AGAIN "--set seed=2"},
    [CROWDED] = {"too-many-motifs", FINDING_WARNING, VERDICT_PARTLY,
                 "There are more than two motifs for each token of a label.", AGAIN "--set total_samples=400000"},
    [EARLIER] = {"better-earlier-stage", FINDING_WARNING, VERDICT_PARTLY,
                 "The model of an earlier, higher density has an end-to-end error that is lower by at least 10 points.",
                 "motifctl checkpoints JOB"},
    [BELOW_REFERENCE] = {"worse-than-reference", FINDING_WARNING, VERDICT_PARTLY,
                         "A plain model that marks nothing reads the same test samples better (at a confidence of 95 "
                         "%), so the labels contain more than the motifs of this model explain.",
                         AGAIN "--set effort=thorough"},
    [BY_HEART] = {"learned-by-heart", FINDING_WARNING, VERDICT_PARTLY,
                  "The accuracy on training samples is more than 20 percentage points above that on test samples (at a "
                  "confidence of 95 %), so the model has learned samples by heart instead of motifs.",
                  "motifctl datasets put NEW-NAME FILE"},
    [DUPLICATE] = {"duplicate-channel", FINDING_WARNING, VERDICT_LEARNED, "Two channels mark the same positions.",
                   "motifctl channels JOB --png channels.png"},
    [MORE_SAMPLES] = {"more-samples", FINDING_WARNING, VERDICT_LEARNED,
                      "The accuracy on training samples is at least 10 points above that on test samples.",
                      "motifctl datasets put NEW-NAME FILE"},
    [OUTSIDE] = {"values-outside-range", FINDING_WARNING, VERDICT_LEARNED,
                 "Test samples have values far outside the range of the training samples.",
                 "motifctl datasets preview NAME"},
    [BELOW_TARGET] = {"below-target", FINDING_NOTE, VERDICT_LEARNED,
                      "The accuracy at the end of training was below its target.",
                      "motifctl plot JOB accuracy,target_accuracy"},
    [DENSE] = {"still-dense", FINDING_WARNING, VERDICT_PARTLY,
               "Training ended at more than twice the last density, so most positions of the map may be no motifs.",
               AGAIN "--set total_samples=400000"},
    [STOPPED] = {"stopped-early", FINDING_NOTE, VERDICT_LEARNED,
                 "Training used all its samples shortly before it reached the last density.",
                 AGAIN "--set total_samples=400000"},
    [IMPROVING] = {"still-improving", FINDING_NOTE, VERDICT_LEARNED, "Training ended while the model still improved.",
                   AGAIN "--set total_samples=400000"},
    [UNUSED] = {"unused-channel", FINDING_NOTE, VERDICT_LEARNED, "A channel marks nothing.",
                "motifctl channels JOB --png channels.png"},
    [RARE] = {"rare-name", FINDING_NOTE, VERDICT_LEARNED, "At most one training sample has the name.",
              "motifctl datasets preview NAME"},
    [LOST] =
        {"less-than-scores", FINDING_WARNING, VERDICT_PARTLY,
         "With numbers as targets: the answers explain at least 10 points less of the variance than the scores of the "
         "channels did before the map became sparse.",
         AGAIN "--set seed=2"},
    [NO_EFFECT] = {"channel-without-effect", FINDING_NOTE, VERDICT_LEARNED,
                   "With numbers as targets: a channel that marks motifs changes no number measurably.",
                   "motifctl channels JOB --png channels.png"},
    [ABSENCE] =
        {"absence-as-label", FINDING_WARNING, VERDICT_PARTLY,
         "Labels are classes, the model reads one of them at least 10 points worse than the others, and no place "
         "in the input explains it: no channel predicts it, or its channel reads more than twice as much of the "
         "input as the channels of all others.",
         "motifctl datasets put NEW-NAME FILE --absent NAME"},
    [TOGETHER] =
        {"cannot-separate", FINDING_WARNING, VERDICT_PARTLY,
         "Another name accompanies the name of a channel, and these labels do not tell which of the two the "
         "channel marks: they are hardly ever apart, or the channel marks less without the other name. Motifs of "
         "this channel have no error rate.",
         "motifctl datasets put NEW-NAME FILE"},
    [NOT_SUFFICIENT] =
        {"not-sufficient", FINDING_NOTE, VERDICT_LEARNED,
         "In less than 80 % of the inputs that were tested (at a confidence of 95 %), the marked extents "
         "of a name alone let the model read it, so it needs something else too.",
         "motifctl get JOB result.evidence.names"},
    [NOT_NECESSARY] = {"not-necessary", FINDING_NOTE, VERDICT_LEARNED,
                       "In more than half of the inputs that were tested (at a confidence of 95 %), the model or the "
                       "reference still reads a name without its marked extents, so a part of its evidence is "
                       "elsewhere.",
                       "motifctl get JOB result.evidence.names"},
    [BESIDE] = {"beside", FINDING_WARNING, VERDICT_PARTLY,
                "The marked extents of a name are neither sufficient nor necessary, and tell the model no more than "
                "random extents of the same size: they lie beside the evidence.",
                "motifctl get JOB result.evidence.names"},
    [ARTIFACT] = FINDING_ARTIFACT_FAILED,
};

/* ---- texts -------------------------------------------------------------------------------------------- */

void names_add(struct names *names, const char *name)
{
    size_t at = strlen(names->text);
    if (names->count < NAMES_SHOWN)
        snprintf(names->text + at, sizeof names->text - at, "%s%.*s", names->count ? ", " : "", NAME_SHOWN, name);
    names->count++;
}

const char *names_text(struct names *names)
{
    size_t at = strlen(names->text);
    if (names->count > NAMES_SHOWN)
        snprintf(names->text + at, sizeof names->text - at, " and %d more", names->count - NAMES_SHOWN);
    /* a second call must not append " and N more" again */
    names->count = names->count > NAMES_SHOWN ? NAMES_SHOWN : names->count;
    return names->text;
}

const char *token_name(const struct method_run *run, int token)
{
    const char *name = run->domain.domain->token(run->domain.state, token);
    return name ? name : "?";
}

/* Sets the recommended command of the finding that was added last: the same training with twice as many samples. */
void next_longer(const struct method_run *run, struct findings *findings)
{
    const struct sparling_config *c = &run->config;
    if (c->patience > 0)
        findings_next(findings, AGAIN "--set total_samples=%lld --set patience=%lld", (long long)(2 * c->total_samples),
                      (long long)(2 * c->patience));
    else
        findings_next(findings, AGAIN "--set total_samples=%lld", (long long)(2 * c->total_samples));
}

/* Sets the recommended command of the finding that was added last: the same training from the best of three starts,
 * or with another seed. */
void next_seed(const struct method_run *run, struct findings *findings)
{
    const struct sparling_config *c = &run->config;
    if (sparling_presence_alone(c) && c->starts < 3)
        findings_next(findings, AGAIN "--set starts=3 --set total_samples=%lld", (long long)(2 * c->total_samples));
    else
        findings_next(findings, AGAIN "--set seed=%lld", (long long)(run->config.seed + 1) % (1LL << 53));
}
