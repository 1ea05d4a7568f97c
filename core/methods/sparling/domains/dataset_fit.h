/* The fields of a configuration that follow from uploaded data. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_FIT_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_FIT_H

#include "core/methods/sparling/config.h"

/* Sets window and width of g, effort, channels, pooling and schedule from the sizes in config->dataset. given: the
 * fields that the client has given, which keep their values. mean: number of tokens of a mean label. sound: whether the
 * data are recordings. */
void dataset_fit(struct sparling_config *config, const struct method_given *given, double mean, bool sound);

#endif
