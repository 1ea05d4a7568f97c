/* Evidence: what a run measures for its verdict from labels alone (judge.c), and the names of its channels.
 *
 * Most of it comes from a part of the evaluation, PART_EVIDENCE, which reads training samples with the final model; the
 * rest is counted while the test samples are read, and at every validation. Checkpoints contain all of it, so a run
 * that continues after its evaluation gives the same verdict, and queries of the final model know the names. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_VERDICT_EVIDENCE_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_VERDICT_EVIDENCE_H

#include "core/base/sink.h"
#include "core/base/snapshot.h"
#include "core/methods/sparling/evaluation/verdict/association.h"
#include "core/methods/sparling/model/channel_names.h"
#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/training/batch.h"
#include "core/metrics/clusters.h"

struct method_run;
struct tensor;
struct findings;

/* EVIDENCE_SAMPLES: largest number of training samples that the part PART_EVIDENCE of the evaluation reads.
 * EVIDENCE_CURVE: the run keeps the figures of this many validations, the last ones. */
enum { EVIDENCE_SAMPLES = 2000, EVIDENCE_CURVE = 16 };

/* Counts and figures of a run, from which its verdict is computed. Checkpoints store the members before `read`, which
 * are doubles, as one array. */
struct evidence_sums {
    double low, high; /* smallest and largest value of an input in the test samples */
    double trained_low, trained_high;
    /* constant_exact: share of right answers if the answer is always the most frequent label; constant_edit: mean edit
     * error of this answer; chance_exact, chance_edit: the same if the answer is the label of another sample */
    double constant_exact, constant_edit, chance_exact, chance_edit;
    /* Figures of the final model on test samples. */
    int64_t read;             /* samples read */
    int64_t exact, unordered; /* exact: number of answers with the right tokens in the right order; unordered: number of
                                 answers with the right tokens in any order */
    /* Training samples of PART_EVIDENCE. */
    int64_t trained, trained_exact; /* trained: number of samples; trained_exact: number of samples whose label the
                                       model predicts exactly */
    int64_t longest, shortest;      /* lengths of labels */
    int64_t validations;            /* number of validations so far */
};

/* Counts for one name of the vocabulary. A sample counts once, however often its label contains the name. */
struct evidence_token {
    /* numbers of test samples that have the token in the label, in the answer, and in both. If labels are counts, the
     * token is a count c, and a label or answer has it if it is at least c (for c = 0: if it is 0). */
    int64_t present, read, both;
    int64_t trained;            /* number of training samples of PART_EVIDENCE whose label has the token */
    int64_t channel;            /* as in struct association_token */
    double strength, explained; /* as in struct association_token */
    double strength_samples, explained_samples;
};

/* The counts of the test samples of a name, by the cluster of the sample's group (core/metrics/clusters.h). */
struct evidence_clusters {
    int64_t present[CLUSTERS], read[CLUSTERS], both[CLUSTERS];
};

/* One of the last validations. */
struct evidence_point {
    int64_t samples;
    double density, accuracy, loss;
};

struct evidence {
    struct evidence_sums sums;
    /* the last validations; validation i is at index i modulo EVIDENCE_CURVE */
    struct evidence_point curve[EVIDENCE_CURVE];
    struct evidence_token *tokens;      /* [tokens] */
    struct evidence_clusters *clusters; /* [tokens]; NULL: samples have no groups */
    int64_t unordered[CLUSTERS];        /* sums.unordered by cluster */
    struct channel_name *channels;      /* [motif channels] */
    /* What PART_EVIDENCE has read so far. Checkpoints contain which channels were active in which samples. They do not
     * contain the labels: a loaded run draws them again. */
    struct association pairs;
    int64_t *near;  /* [channels][channels] number of active positions of the first channel that have an active position
                       of the second channel nearby; may be NULL */
    int64_t *total; /* [channels] active positions */
    int *label;     /* [EVIDENCE_SAMPLES][DOMAIN_LABEL] not saved */
    float *number;  /* [EVIDENCE_SAMPLES][numbers] the true numbers of each sample; not saved; NULL if targets are no
                       numbers */
    int *length;    /* [EVIDENCE_SAMPLES] not saved */
    unsigned char *cluster; /* [EVIDENCE_SAMPLES] not saved */
};

/* Allocates the tables; call it once in create(). Error: STATUS_NO_MEMORY. */
enum status evidence_open(struct method_run *run, struct error *err);
void evidence_close(struct evidence *evidence);
/* Forgets everything but the validations; call it when an evaluation begins. */
void evidence_clear(struct method_run *run);
/* Declares everything that is saved. */
enum status evidence_declare(struct method_run *run, struct snapshot *snapshot, struct error *err);
/* Checks what was read from a checkpoint (STATUS_CORRUPT). If the checkpoint was saved during PART_EVIDENCE, draws
 * again the labels that the part had read. */
enum status evidence_loaded(struct method_run *run, struct error *err);

/* Adds the validation that has just ended to evidence.curve. */
void evidence_validated(struct method_run *run, double loss);
/* Adds test samples and what the final model answers. decoded: [count]; NULL with a label at every position. */
void evidence_read(struct method_run *run, const struct batch *batch, const struct decoded *decoded);

/* Functions of PART_EVIDENCE, which is for the final model only. evidence_samples() returns the number of its training
 * samples, evidence_add() adds a batch of them, and evidence_finish() ends the part. Errors: STATUS_NO_MEMORY, and
 * those of the computation. */
int64_t evidence_samples(const struct method_run *run);
enum status evidence_add(struct method_run *run, const struct batch *batch, struct error *err);
enum status evidence_finish(struct method_run *run, struct error *err);
/* The heads (struct head) call these functions. For each batch of training samples, evidence_answers() counts the
 * labels that the final model predicts exactly, and evidence_classes() counts the classes. After the last batch,
 * evidence_names() finds the names of the channels, evidence_prevalence() the frequencies of the classes, and
 * evidence_alike() the channels that mark the same positions. */
enum status evidence_answers(struct method_run *run, struct tensor *motifs, const struct batch *batch,
                             struct error *err);
enum status evidence_classes(struct method_run *run, struct tensor *motifs, const struct batch *batch,
                             struct error *err);
enum status evidence_names(struct method_run *run, struct error *err);
enum status evidence_prevalence(struct method_run *run, struct error *err);
void evidence_alike(struct method_run *run);

/* Correlation, over the test samples, of a name in the label and in the answer; NaN if one does not vary. */
double evidence_phi(const struct evidence *evidence, int token);

/* Effective number of test samples of this correlation (core/metrics/clusters.h). */
double evidence_phi_samples(const struct method_run *run, int token);

/* Computes the verdict of a run whose targets are labels (judge.c). */
enum status judge_tokens(struct method_run *run, struct findings *findings, struct error *err);

/* Publishes the names of the channels as channels.csv. Error: STATUS_NO_MEMORY. */
enum status evidence_table(struct method_run *run, struct error *err);
/* Writes the members "channels" (the names) and "evidence" of the result. */
void evidence_result(const struct method_run *run, const struct sink *out);

#endif
