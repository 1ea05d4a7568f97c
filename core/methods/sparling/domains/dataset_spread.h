/* The mean and the standard deviation of numbers as targets. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_SPREAD_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_SPREAD_H

#include "core/data/uploads/collection.h"

/* Computes the mean and the standard deviation of each number over the `count` samples whose indices are in `sample`.
 * mean, deviation: [numbers]. A number that is the same in all these samples gets the deviation 1. Pure function. */
void dataset_spread(const struct collection *c, const int64_t *sample, int64_t count, double *mean, double *deviation);

#endif
