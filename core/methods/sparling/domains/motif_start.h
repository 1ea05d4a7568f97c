/* Known motifs as the first filters of a model of DNA or RNA (motif_start): the matrices of a data set of motifs. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_MOTIF_START_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_MOTIF_START_H

#include "core/data/uploads/collection.h"
#include "core/methods/sparling/config.h"

/* Checks motif_start for samples of a data set; nothing if the field is empty. data: folder of data sets, NULL: none.
 * STATUS_INVALID with the field's pointer: the samples are not sequences of bases, the data set has no motifs or more
 * than the first convolution has filters, or first_window is too small. Errors of motif_library_open(). */
enum status motif_start_check(const struct sparling_config *config, const struct collection *samples, const char *data,
                              struct error *err);

/* Computes the filters of all motifs: log-odds of the bases, at the first_window positions with the most information,
 * and 0 beside a narrower motif. A model that reads one of two strands also gets each reverse complement. strands: 1
 * or 2, as in struct domain. filter: [width][4][first_window] of the configuration. *count: number of filters. Errors
 * are those of motif_start_check(). */
enum status motif_start_filters(const struct sparling_config *config, int strands, const char *data, float *filter,
                                int *count, struct error *err);

#endif
