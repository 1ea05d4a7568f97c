/* New weights for a channel whose name g does not read. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_PROTOTYPE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_PROTOTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* The training batches that a search for new weights of a channel reads, and the motifs of DNA or RNA that are enriched
 * among those of their samples that g reads wrongly (core/methods/sparling/genomics/missed_motifs.c). */

struct batch;
struct method_run;

/* MISREAD_MOTIFS: upper limit of the motifs of one search; PROBES: number of training batches that a search reads */
enum { MISREAD_MOTIFS = 8, PROBES = 32 };

/* The motifs that a search found, and their sites. samples: number of samples in the PROBES batches that the search
 * read. */
struct misread {
    int motifs, samples, strands;
    int32_t *middle; /* [MISREAD_MOTIFS][samples] column of the middle of the best site. -1: the sample has no site or
                        no such name, or g reads the name in it */
    bool *reverse;   /* [MISREAD_MOTIFS][samples] whether the site lies on the other strand */
};

/* Takes the batch `index` (0 to PROBES - 1) after the training samples so far. A search can read the batches several
 * times. Errors are those of batch_source_take(). */
enum status probe_batch(struct method_run *run, int index, const struct batch **batch, struct error *err);
void misread_close(struct misread *m); /* a zeroed struct is allowed */

struct method_run;

/* Searches the training samples for weights with which the channel of `name` begins to predict the name, and sets them.
 * Errors: STATUS_NO_MEMORY, and those of the computation. */
enum status prototype_search(struct method_run *run, int name, struct error *err);

/* The two groups of samples that an additional channel of a name should separate. */
struct prototype_groups {
    int sign;   /* 1: the channel should be large in samples in which the name is more probable than predicted; -1: less
                 */
    double cut; /* samples whose `rest` is in [-cut, cut] belong to no group */
    const float *rest; /* [PROBES * batch] of the samples of probe_batch(): 1 or 0 for the label, minus the predicted
                          probability */
};
/* As prototype_search(), for an additional channel. *found: whether the channel has weights that separate the groups;
 * otherwise it has not changed. */
enum status prototype_add(struct method_run *run, int channel, const struct prototype_groups *groups, bool *found,
                          struct error *err);

#endif
