/* The single-motif error, binned activations and edited maps of an evaluation. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_ANALYSES_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_ANALYSES_H

#include <stdint.h>

#include "core/methods/sparling/training/batch.h"
#include "core/metrics/binning.h"

struct batch;
struct method_run;
struct network;

enum { BINNINGS = 4, ACTIVATIONS_MOST = 1 << 22 };
struct activations { /* the first ACTIVATIONS_MOST positive values of a channel */
    float *values;
    size_t count;
};
/* Counts of an analysis in progress (analyses.c); not saved. */
struct analysis {
    int64_t *single;           /* [motif channels][symbols] */
    struct activations *lists; /* [motif channels] */
    struct binning *bins;      /* [motif channels][BINNINGS]; bins 0: the channel was never active */
    /* tried: number of samples with a changed symbol; followed: number of these whose label followed the change */
    int64_t tried, followed;
    double edits[BINNINGS + 1]; /* sums of edit errors: without bins, then for each binning */
};

/* The first three functions process samples of PART_SINGLE, PART_BINNING and PART_PERTURB, from sample
 * `first` on. analysis_finish() stores the figures of a part in the row, and analysis_clear() forgets the counts. */
enum status analysis_single(struct method_run *run, struct network *network, int64_t first, int count,
                            struct error *err);
enum status analysis_binning(struct method_run *run, struct network *network, const struct batch *batch, int64_t first,
                             struct error *err);
enum status analysis_perturb(struct method_run *run, struct network *network, int64_t first, int count,
                             struct error *err);
/* perturb.c: keeps only those motifs in the map `planes` that have no stronger motif nearby. If the channel of a motif
 * stands for the symbol `from`, the motif moves to the channel `channel` and keeps its value and position. symbol_of:
 * [channels]. */
enum status perturb_move(struct method_run *run, const int *symbol_of, int from, int channel, float *planes,
                         struct error *err);
void analysis_finish(struct method_run *run);
void analysis_clear(struct method_run *run);

#endif
