/* Numbers as targets: sums over predictions, saved in checkpoints, and what the verdict needs.
 *
 * Everything is measured in standardised numbers: (number - mean) / deviation of the training part. Sums over samples
 * have a row for each number, and a last row for all numbers together. */
#ifndef MOTIF_CORE_METHODS_SPARLING_HEADS_NUMBERS_H
#define MOTIF_CORE_METHODS_SPARLING_HEADS_NUMBERS_H

#include "core/base/real.h"
#include "core/base/snapshot.h"
#include "core/metrics/clusters.h"
#include "core/metrics/regression.h"
#include "core/methods/sparling/heads/head.h"

/* Which predictions are summed. VALIDATION: the head's, in the validation in progress. GUIDE: those that guide.c
 * computes from the scores of channels, in the same validation. TURNED: as GUIDE, with the samples read from the other
 * strand. TEST: the head's, for test samples. TRAINED: the head's, for the training samples of the evidence. */
enum number_sums { NUMBERS_VALIDATION, NUMBERS_GUIDE, NUMBERS_TURNED, NUMBERS_TEST, NUMBERS_TRAINED, NUMBER_SUMS };

struct numbers {
    int count;               /* how many numbers each sample has; 0: targets are no numbers */
    struct regression *sums; /* [NUMBER_SUMS][count + 1] */
    /* [count + 1][CLUSTERS] the sums of the test samples of each cluster of groups (core/metrics/clusters.h); NULL:
     * samples have no groups */
    struct regression *cluster;
    double best_guide; /* largest R squared that the scores of channels reached in a validation; 0 before the first
                          validation */
    double *room;      /* [2 * count] scratch; not saved */
    float *effect;     /* [motif channels][count] see numbers_named(); saved */
};

/* Allocates the arrays; call it once in create(). Error: STATUS_NO_MEMORY. */
enum status numbers_open(struct method_run *run, struct error *err);
void numbers_close(struct numbers *numbers); /* a zeroed struct is allowed */
/* Stores the mean and the deviation of the training part's numbers in run->network. */
enum status numbers_begin(struct method_run *run, struct error *err);
/* Declares the entries "numbers.*" of checkpoints, if targets are numbers. */
enum status numbers_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);
/* Returns whether the entries "numbers.*" that were read from a checkpoint have possible values. */
bool numbers_sound(const struct method_run *run);

/* numbers_of() returns the sums of one kind, [count + 1]; numbers_all() returns the sums over all numbers together. */
struct regression *numbers_of(const struct method_run *run, enum number_sums which);
const struct regression *numbers_all(const struct method_run *run, enum number_sums which);
/* Sums of the test samples of each cluster, [CLUSTERS], of number k, and of all numbers together; NULL: samples have no
 * groups. */
const struct regression *numbers_cluster(const struct method_run *run, int k);
const struct regression *numbers_all_cluster(const struct method_run *run);
void numbers_clear(struct method_run *run, enum number_sums which);
/* Adds a batch. outputs: [samples][count], standardised. */
void numbers_add(struct method_run *run, enum number_sums which, const struct batch *batch,
                 const struct tensor *outputs);
/* Returns the standardised numbers of a batch, [samples][count], in step memory; NULL after a failure. */
const real *numbers_standard(struct method_run *run, const struct batch *batch);
/* Writes members of the result: R squared and correlation of all numbers, and the list "numbers". */
void numbers_result(const struct method_run *run, const struct sink *out);
/* For each channel, finds the numbers that the channel changes, and stores them in its struct channel_name. Also
 * computes by how much each number changes on average when the channel is active, in the units of the data set. Error:
 * STATUS_NO_MEMORY. */
enum status numbers_named(struct method_run *run, struct error *err);

/* Defined in training/guide.c: the functions of struct head for the objective that trains g directly. */
struct tensor *guide_loss(struct method_run *run, const struct batch *batch, struct tensor *scores);
void guide_count(struct method_run *run, const struct batch *batch, struct tensor *scores, const struct tensor *motifs);
bool guide_turning(const struct method_run *run);
void guide_count_turned(struct method_run *run, const struct batch *batch, struct tensor *scores);
void guide_measure(struct method_run *run, struct validation_outcome *v);

/* Defined in evaluation/verdict/judge_numbers.c. */
enum status judge_numbers(struct method_run *run, struct findings *findings, struct error *err);

#endif
