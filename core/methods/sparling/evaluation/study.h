/* A study: the same configuration over config.seeds seeds in one run, and what they have in common.
 *
 * Each seed is a run of its own from the first update to its evaluation; its figures are kept, of the last one
 * everything. Seeds are dealt to ranks (core/methods/shared/work_distribution.h). The last one, once trained, is
 * evaluated by all ranks together, since that reads checkpoints, which ranks do in step. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_STUDY_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_STUDY_H

#include "core/methods/shared/work_distribution.h"

/* What is kept of each seed that is over. Doubles only: it is saved as a table. */
enum { STUDY_MOST = 64, STUDY_FIGURES = 6, STUDY_SAMPLES = 100, STUDY_EACH = 64 };
struct study_row {
    double seed;
    double figure[STUDY_FIGURES]; /* fpe, fne, ce, e2ee, exact, single_error; NaN: not measured */
    double density, achieved, validation, samples, reached;
};
enum { STUDY_COLUMNS = 12 };
_Static_assert(sizeof(struct study_row) == STUDY_COLUMNS * sizeof(double), "a row is a row of doubles");

struct study {
    struct work_distribution distribution; /* seeds */
    struct study_row row[STUDY_MOST];
    int64_t *motifs; /* [seeds][STUDY_SAMPLES][STUDY_EACH], as motif_counts.c numbers them; NULL without a study */
    int64_t first;   /* config.seed as it was given */
    int64_t first_seq, next_seq; /* newest checkpoint when this rank's seed began, when the last ones were dealt */
    int64_t off;                 /* 1: an evaluation of what was loaded, and no more */
};

/* In create(), at its end. */
enum status study_open(struct method_run *run, struct error *err);
/* The seed that this rank has is evaluated: its figures are kept. */
void study_keep(struct method_run *run);
/* Members of the result; the picture. */
enum status study_result(const struct method_run *run, const struct sink *out, struct error *err);
enum status study_artifacts(struct method_run *run, struct error *err);

#endif
