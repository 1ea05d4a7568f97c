/* The evaluation of a run: its rows, and the counts in progress. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_EVALUATION_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_EVALUATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/methods/sparling/error_rate/negatives.h"
#include "core/methods/sparling/evaluation/analyses.h"
#include "core/methods/sparling/evaluation/chance.h"
#include "core/methods/sparling/evaluation/compare_reference.h"
#include "core/methods/sparling/evaluation/extents.h"
#include "core/methods/sparling/evaluation/marked_evidence.h"
#include "core/methods/sparling/evaluation/motif_counts.h"
#include "core/methods/sparling/evaluation/verdict/evidence.h"
#include "core/metrics/clusters.h"
#include "core/metrics/motif_errors.h"
#include "core/metrics/ranking.h"

struct batch;
struct chance_samples;
struct measured;
struct method_run;
struct network;
struct tensor;

/* The evaluation of one model: one density, one checkpoint. Checkpoints store the members before `checkpoint`, which
 * are doubles, as one table. */
struct evaluation_row {
    /* density: share of active elements at which training aimed; achieved: measured share */
    double density, achieved;
    double fpe, fne, ce, ce_majority, e2ee, exact; /* NaN until measured */
    double window_fpe, window_fne, window_ce;      /* errors by the definition in the paper's text (motif_errors.h) */
    double proof;                                  /* the error E_m of the theorem (motif_errors.h) */
    double single;                                 /* single-motif error; NaN: not requested */
    double perturbed;   /* share of edited maps whose answer follows the edit; NaN: not requested */
    double binning[4];  /* how much the edit error rises with 16, 8, 4, 2 bins; NaN: not requested */
    int64_t checkpoint; /* its sequence number, or -1: the model of the run itself */
    int64_t motif_samples, test_samples;
    double effective; /* effective number of the test samples for `exact` (core/metrics/clusters.h); 0: not measured */
};

enum evaluation_part {
    PART_EXTENTS, /* measured once, for the run's own model, before the other parts of the first row */
    PART_MOTIFS,
    PART_TEST,
    PART_SINGLE,
    PART_BINNING,
    PART_PERTURB,
    PART_EVIDENCE,
    PART_CHANCE,
    PART_BOXES,
    PART_NEGATIVES,
    PART_REFERENCE, /* its model lives until the end of the next part */
    PART_MARKED,
    PARTS
};

enum { EVALUATION_MAX = 64 };
struct evaluation {
    struct evaluation_row row[EVALUATION_MAX]; /* from high to low density; the last row is the run's own model */
    int64_t rows, at;                          /* rows: number of rows; at: the row in progress */
    int64_t part, position; /* part: the part of row `at` in progress; position: index of its next sample */
    int64_t seed;           /* seed of the test set */
    double edit_sum;
    int64_t exact;
    /* [CLUSTERS] test samples of each cluster of groups, and how many of them are answered exactly; 0 if targets are no
     * labels */
    int64_t tested[CLUSTERS], tested_exact[CLUSTERS];
    /* counts of the validation or row in progress; at the end, of the final model */
    struct motif_errors errors;
    struct analysis analysis;              /* counts of the part in progress */
    struct network *other;                 /* the model of an earlier density; NULL until needed */
    int64_t loaded;                        /* sequence number of the checkpoint in `other`; -1: none */
    struct topk *topk;                     /* [tokens - 1], with a label at every position */
    struct motif_counts motif_counts;      /* sums over the samples of the run's own model */
    struct motif_counts_channel *channels; /* [motif channels] */
    struct evidence evidence;              /* for the verdict */
    struct extents extents;
    struct chance chance;
    struct reference_figures reference;
    struct marked_evidence marked;
    struct negatives negatives;       /* for the error rates of queries */
    struct measured *measured;        /* not saved: PART_NEGATIVES in progress, which a loaded run repeats */
    struct chance_samples *collected; /* not saved: a loaded run repeats the current part */
};

/* Starts an evaluation of the run's own model. With `stages`, also of the last checkpoint of each earlier density. */
enum status evaluation_begin(struct method_run *run, int64_t seed, int64_t motif_samples, int64_t test_samples,
                             bool stages, struct error *err);
/* Starts the evaluation at the end of a training (PHASE_EVALUATION). */
enum status evaluation_begin_final(struct method_run *run, struct error *err);
/* Does one piece of the evaluation. *done: it was the last piece. Errors are those of the domain and of reading
 * checkpoints. */
enum status evaluation_piece(struct method_run *run, bool *done, struct error *err);
/* Adds the motif errors of a batch of maps to run->evaluation.errors. While the run trains, this struct contains the
 * errors of the validation in progress, afterwards those of the model that the evaluation measures. */
enum status evaluation_count(struct method_run *run, const struct tensor *motifs, const struct batch *batch,
                             struct error *err);
/* Number of samples of a part of the row in progress; 0: the part is skipped. */
int64_t evaluation_part_samples(const struct method_run *run, int64_t part);
/* Returns whether a part only collects its samples and does its work after the last sample, when the position equals
 * the number of samples. */
bool evaluation_collects(int64_t part);
/* Share of the evaluation that is done, 0..1. */
double evaluation_fraction(const struct method_run *run);
/* Density of a map with one active position for each symbol. Error: STATUS_NO_MEMORY. */
enum status run_minimal_density(const struct method_run *run, double *density, struct error *err);

#endif
