/* What the files of the verdict share: thresholds, the table of findings, and texts. findings.c defines them. Private
 * to this folder. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_VERDICT_JUDGE_INT_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_VERDICT_JUDGE_INT_H

#include "core/methods/sparling/run.h"
#include "core/methods/sparling/run_state.h"

/* Thresholds of the verdict. */
struct judge_limits {
    double sure; /* quantile of the normal distribution for all intervals (95 %) */
    /* A correlation below this explains less than a tenth of the variance, and counts as no correlation. */
    double related;
    double weak;   /* if the correlation of answers and labels is below this, the model reads the name poorly */
    double common; /* a correlation is reliable if at least this many samples have the name, and at least as many do not
                      have it */
    /* Finding "no-better-than-constant": the edit error is lower than that of a constant answer by less than this
     * share. */
    double useless;
    /* A share that several findings use as their limit. "low-accuracy": by how much, as a share of the edit error of a
     * constant answer, the model's error must be lower. Other findings compare a share of samples, names or motifs with
     * it. */
    double half;
    double drop;             /* minimum difference of accuracies or errors that causes a finding */
    double heart;            /* minimum difference between the accuracies on training and test samples for the finding
                                "learned-by-heart" */
    double motifs_per_token; /* upper limit of the number of motifs for each token of a label; above it, at least half
                                of the motifs are false */
    double dense;            /* upper limit of the density, as a multiple of the last one of the schedule */
    /* If the accuracy rises by at least this much from the first half of the last validations to the second, the run
     * still improves. */
    double gain;
    /* how far values may lie outside of the range of the training samples, as a share of the width of this range */
    double outside;
    double wide; /* minimum ratio of the parts of the input that two channels read, above which no place explains one */
    double rare; /* if no more training samples than this have a name, the model cannot learn the name */
};
extern const struct judge_limits limits;

/* Indices into sparling_findings. */
enum {
    CONSTANT,
    MOST_UNREAD,
    LOW_ACCURACY,
    UNREAD,
    WEAK,
    MISREAD,
    ORDER,
    WITHOUT_CHANNEL,
    MERGED,
    CROWDED,
    EARLIER,
    BELOW_REFERENCE,
    BY_HEART,
    DUPLICATE,
    MORE_SAMPLES,
    OUTSIDE,
    BELOW_TARGET,
    DENSE,
    STOPPED,
    IMPROVING,
    UNUSED,
    RARE,
    LOST,
    NO_EFFECT,
    ABSENCE,
    TOGETHER,
    NOT_SUFFICIENT,
    NOT_NECESSARY,
    BESIDE,
    ARTIFACT
};

/* A command that submits the same training again; further settings can follow. */
#define AGAIN "motifctl submit --like JOB "

/* A list of names as text, such as "GATA, EBOX and 3 more". */
struct names {
    char text[240];
    int count;
};
enum { NAMES_SHOWN = 5, NAME_SHOWN = 32 };

void names_add(struct names *names, const char *name);
const char *names_text(struct names *names);
/* Returns the name of a token or, if targets are numbers, the name of a number. */
const char *token_name(const struct method_run *run, int token);
/* Set the recommended command of the finding that was added last: the same training with twice as many samples, or from
 * the best of three starts, or with another seed. */
void next_longer(const struct method_run *run, struct findings *findings);
void next_seed(const struct method_run *run, struct findings *findings);

/* The finding about the plain model that was trained on the same data (compare_reference.h). */
void judge_reference(const struct method_run *run, struct findings *findings);

/* The findings about the evidence in the marked extents (evaluation/marked_evidence.h). */
void judge_marks(const struct method_run *run, struct findings *findings);

/* Defined in judge.c: findings about channels that are unused or mark the same positions, about the training, and about
 * the range of inputs. */
void judge_use(const struct method_run *run, struct findings *findings);
void judge_training(const struct method_run *run, struct findings *findings);
void judge_range(const struct method_run *run, struct findings *findings);

#endif
