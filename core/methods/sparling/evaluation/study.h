/* A study: one configuration, trained with config.seeds seeds in one run, and the statistics over the seeds.
 *
 * Each seed is a run of its own from the first update to its evaluation. The study keeps the figures of every seed and
 * the complete state of the last one. Seeds are work items (core/methods/shared/work_distribution.h). All ranks
 * evaluate the last seed together after its training, because this evaluation reads checkpoints, and all ranks must
 * read them together. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_STUDY_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_STUDY_H

#include "core/methods/shared/work_distribution.h"

enum { STUDY_MOST = 64, STUDY_FIGURES = 6, STUDY_SAMPLES = 100, STUDY_EACH = 64 };
/* The figures of a seed that is done. All members are doubles, because checkpoints save them as a table. */
struct study_row {
    double seed;
    double figure[STUDY_FIGURES]; /* fpe, fne, ce, e2ee, exact, single_error; NaN: not measured */
    double density, achieved, validation, samples, reached;
};
enum { STUDY_COLUMNS = 12 };
_Static_assert(sizeof(struct study_row) == STUDY_COLUMNS * sizeof(double), "a row is a row of doubles");

struct study {
    struct work_distribution distribution; /* the seeds as work items */
    struct study_row row[STUDY_MOST];
    /* [seeds][STUDY_SAMPLES][STUDY_EACH] motifs, each as a number (motif_counts.c); NULL without a study */
    int64_t *motifs;
    int64_t first; /* config.seed of the job */
    /* Sequence numbers of checkpoints. next_seq: the newest one when the seeds were last assigned to ranks. first_seq:
     * next_seq when this rank began its seed, so only checkpoints with larger numbers can come from this seed. */
    int64_t first_seq, next_seq;
    int64_t off; /* 1: an evaluation job, which only evaluates the loaded model */
    bool warm;   /* the weights came from another model, so no seed can be trained */
};

/* Distributes the seeds over the ranks. Call it at the end of create(). Error: STATUS_NO_MEMORY. */
enum status study_open(struct method_run *run, struct error *err);
/* Stores the figures of the seed that this rank has. Call it after the seed's evaluation. */
void study_keep(struct method_run *run);
/* study_result() writes the study's members of the result; study_artifacts() publishes the study's chart. */
enum status study_result(const struct method_run *run, const struct sink *out, struct error *err);
enum status study_artifacts(struct method_run *run, struct error *err);

#endif
