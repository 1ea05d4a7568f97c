/* The errors that motifs at random positions have. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_CHANCE_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_CHANCE_H

#include <stdbool.h>

#include "core/methods/sparling/training/batch.h"

struct batch;
struct evaluation;
struct method_run;
struct tensor;

/* Motif errors of shuffled positions with their confidence intervals. */
struct chance_row {
    double mean[3], low[3], high[3]; /* fpe, fne, ce */
};
/* Checkpoints store the members before `samples`, which are doubles, as one array. */
struct chance {
    /* all: errors of all symbols; without: errors of the symbols that are not trivial (domain.h) */
    struct chance_row all, without;
    double fpe, fne, ce; /* errors of the model on the same samples, trivial symbols left out */
    double perfect[3];   /* fpe, fne, ce that the true motifs would get; above 0 only where boxes overlap */
    int64_t samples;     /* 0: nothing was shuffled */
};

/* The errors that motifs at random positions have. chance_add() collects a batch of examples; *enough: it
 * needs no more. Each chance_shuffle() shuffles the collected motifs once or does another piece of the work, and sets
 * *done when the errors are stored. chance_drop() frees what was collected. Error: STATUS_NO_MEMORY. */
enum status chance_add(struct method_run *run, const struct tensor *motifs, const struct batch *batch, bool *enough,
                       struct error *err);
enum status chance_shuffle(struct method_run *run, bool *done, struct error *err);
void chance_drop(struct evaluation *evaluation);

#endif
