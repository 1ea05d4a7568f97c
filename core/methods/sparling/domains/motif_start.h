/* Motifs as the initial filters of a model of DNA or RNA: those of a data set that the field motif_start names, or
 * those that are enriched in training samples (motif_start_words). */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_MOTIF_START_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_MOTIF_START_H

#include "core/data/uploads/collection.h"
#include "core/methods/sparling/config.h"

/* Checks whether a job that trains on `samples` can begin with the motifs of motif_start. Accepts an empty field.
 * data: folder of data sets; NULL: none. STATUS_INVALID with the pointer of a field: the samples are not sequences
 * of bases, the data set has no motifs or more than the first convolution has filters, or first_window is too small.
 * Other errors are those of motif_library_open(). */
enum status motif_start_check(const struct sparling_config *config, const struct collection *samples, const char *data,
                              struct error *err);

/* Computes a filter for each motif: the log-odds of its bases at the first_window neighbouring positions with the
 * most information. Beside a motif that is narrower than first_window, the filter is 0. A model that reads one of
 * two strands also gets a filter for each reverse complement. strands: 1 or 2, as in struct domain. filter:
 * [width][4][first_window] of the configuration. *count: number of filters. Errors are those of motif_start_check(). */
enum status motif_start_filters(const struct sparling_config *config, int strands, const char *data, float *filter,
                                int *count, struct error *err);

/* Whether a model reads each motif by two filters, one for each strand. */
bool motif_start_twice(const struct sparling_config *config, int strands);
/* Writes the filter of one matrix, as motif_start_filters() does. column: [width] probabilities of the bases. reverse:
 * for the other strand. filter: [4][first_window]. */
void motif_start_filter(const struct sparling_config *config, const double (*column)[4], int width, bool reverse,
                        float *filter);

#endif
