/* Statistics of motifs that need no true boxes. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_MOTIF_COUNTS_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_MOTIF_COUNTS_H

#include <stdint.h>

#include "core/base/sink.h"
#include "core/methods/sparling/domains/domain.h"

struct domain_truth;
struct method_run;
struct sink;

/* Statistics of motifs that need no true boxes (motif_counts.c): sums over samples, of the run's own model. */
struct motif_counts {
    /* samples: number of all samples; dense: number of samples with too many motifs to analyse */
    int64_t samples, dense;
    int64_t motifs,
        tokens;      /* motifs: number of maximal motifs (annotation.h); tokens: number of tokens in the labels */
    int64_t as_many; /* samples with as many motifs as tokens */
    /* met: number of samples with overlapping footprints; meeting: number of motifs whose footprint overlaps another */
    int64_t met, meeting;
    /* sum over motifs of the largest share of the motif's footprint that another footprint covers */
    double overlap;
};
struct motif_counts_channel {
    /* motifs: number of maximal motifs (annotation.h); inputs: number of samples with at least one */
    int64_t motifs, inputs;
};

/* Sets all counts to zero. */
void motif_counts_clear(struct method_run *run);
/* Adds the sample with index `sample`. planes: its motif map, [channels][rows][cols]. Error: STATUS_NO_MEMORY. */
enum status motif_counts_add(struct method_run *run, const float *planes, const struct domain_truth *truth,
                             int64_t sample, struct error *err);
/* If there are counts, writes them as the member "motif_counts" of the result. */
void motif_counts_result(const struct method_run *run, const struct sink *out);

#endif
