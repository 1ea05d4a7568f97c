/* What the labels of uploaded data say about motifs. All functions are pure. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_LABELS_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_LABELS_H

#include "core/data/uploads/collection.h"
#include "core/methods/sparling/domains/dataset_fit.h"

/* Returns the mean number of motifs that labels state for a sample. Numbers as targets state nothing about motifs; for
 * them, the result is one motif for each channel in every second sample. */
double dataset_mean_label(const struct collection *c, int64_t channels);
/* Returns the largest number of boxes of a sample. */
int64_t dataset_most_boxes(const struct collection *c);

/* How often each token occurs in the labels of some samples (domain.h, frequencies()). sample: [samples]; count, share:
 * [tokens]. */
void dataset_frequencies(const struct collection *c, const int64_t *sample, int64_t samples, int tokens, double *count,
                         double *share);

/* The facts that dataset_fit() needs. moments: those of all values. */
struct dataset_facts dataset_facts_of(const struct collection *c, const struct collection_moments *moments);

#endif
