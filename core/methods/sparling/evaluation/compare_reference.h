/* The plain model beside which a run on uploaded data is judged (core/reference/reference.h). It is trained on the same
 * training samples, chosen on the same validation samples and tested on the same test samples as the run's own model,
 * up to reference_most samples of each part. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_COMPARE_REFERENCE_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_COMPARE_REFERENCE_H

#include <stdbool.h>

#include "core/base/sink.h"
#include "core/base/snapshot.h"
#include "core/methods/sparling/training/batch.h"

struct evaluation;
struct method_run;
struct reference_pass;

/* For answers of the same test samples: how many only the reference has right, and how many only the run's model. */
struct reference_pair {
    int64_t reference, model;
    /* One-sided p-value of "the reference is no better": McNemar's test (Q. McNemar, Note on the sampling error of the
     * difference between correlated proportions, Psychometrika 12, 1947). If samples have groups, the sign test of the
     * groups' differences instead (core/metrics/clusters.h): with fewer than six groups it is never below 0.0156. */
    double p;
};

/* Checkpoints store the members before `seconds`, so that equal runs have equal checkpoints. The part that measures
 * `seconds` is the last one, and a loaded run repeats it. */
struct reference_figures {
    /* exact: share of right answers; e2ee: mean edit error, NaN if labels have an order; r2, r2_low: share of the
     * variance that the predictions explain, and the low end of its interval, if targets are numbers, else NaN */
    double exact, e2ee, r2, r2_low;
    int64_t samples; /* number of test samples; 0: there is no reference */
    int64_t letters; /* 1: runs of letters were better than random convolutions */
    /* The whole label (without its order, if labels have one), and each name: [tokens]. */
    struct reference_pair label, *names;
    double seconds;              /* time of the training */
    int64_t training;            /* number of training samples of the data set */
    struct reference_pass *pass; /* what the part of the evaluation in progress has collected; NULL: nothing */
};

/* Allocates `names` and counts the training samples; call it once in create(). reference_figures_close() accepts a
 * zeroed struct. STATUS_NO_MEMORY. */
enum status reference_figures_open(struct method_run *run, struct error *err);
void reference_figures_close(struct reference_figures *figures);
enum status reference_figures_declare(struct method_run *run, struct snapshot *snapshot, struct error *err);

/* Functions of PART_REFERENCE. reference_pass_samples() returns the number of samples of all three parts, 0 without a
 * reference. reference_pass_request() returns the request for the next samples, which are of one part. Each
 * reference_pass_train() does a piece of the training; the last one writes the figures and sets *done.
 * reference_pass_drop() frees what was collected. Errors: STATUS_NO_MEMORY, STATUS_CANCELLED and those of the
 * computation. */
int64_t reference_pass_samples(const struct method_run *run);
struct batch_request reference_pass_request(const struct method_run *run, int64_t first);
enum status reference_pass_add(struct method_run *run, const struct batch *batch, struct error *err);
enum status reference_pass_train(struct method_run *run, bool *done, struct error *err);
/* The trained reference, until reference_pass_drop(); NULL: there is none. */
struct reference *reference_pass_model(const struct evaluation *evaluation);
void reference_pass_drop(struct evaluation *evaluation);

/* Bytes that the reference needs at most, for the estimate of a run's memory. */
double reference_pass_bytes(const struct sparling_config *config);
/* Writes the member "reference" of the result, if there is one. */
void reference_figures_result(const struct method_run *run, const struct sink *out);

#endif
