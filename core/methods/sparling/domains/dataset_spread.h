/* The mean and the standard deviation of numbers as targets, and the scale of inputs. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_SPREAD_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_SPREAD_H

#include "core/data/uploads/collection.h"

/* Computes the mean and the standard deviation of each number over the `count` samples whose indices are in `sample`.
 * mean, deviation: [numbers]. A number that is the same in all these samples gets the deviation 1. Pure function. */
void dataset_spread(const struct collection *c, const int64_t *sample, int64_t count, double *mean, double *deviation);

/* Chooses the scale of the inputs: the one that the data set states (none, standard, robust); otherwise values from 0
 * to 1 stay, and others get mean and deviation. The channels of a picture, its colours, have one unit; the channels of
 * a signal, such as the leads of an ECG or temperature and pressure, have one each. all: moments of all values.
 * STATUS_NO_MEMORY. The caller closes *scale. */
enum status dataset_scale(const struct collection *c, const struct collection_moments *all, struct scale *scale,
                          struct error *err);

#endif
