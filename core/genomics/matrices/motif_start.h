/* Motifs as the initial filters of a model of DNA or RNA: those of a data set that the field motif_start names, or
 * those that are enriched in training samples (motif_start_words). */
#ifndef MOTIF_CORE_GENOMICS_MATRICES_MOTIF_START_H
#define MOTIF_CORE_GENOMICS_MATRICES_MOTIF_START_H

#include "core/genomics/genomics.h"

/* Checks whether a job that trains on `samples` can begin with the motifs of motif_start. STATUS_INVALID with the
 * pointer of a field: the samples are not sequences of bases, the data set has no motifs or more than the first
 * convolution has filters, or first_window is too small. Other errors are those of motif_library_open(). */
enum status motif_start_check(const struct motif_start *start, const struct collection *samples, struct error *err);

/* Computes a filter for each motif: the log-odds of its bases at the first_window neighbouring positions with the
 * most information. Beside a motif that is narrower than first_window, the filter is 0. A model that reads one of
 * two strands also gets a filter for each reverse complement. strands: 1 or 2, as in struct domain. filter:
 * [width][4][window]. *count: number of filters. Errors are those of motif_start_check(). */
enum status motif_start_filters(const struct motif_start *start, int strands, float *filter, int *count,
                                struct error *err);

/* Whether a model reads each motif by two filters, one for each strand. */
bool motif_start_twice(const struct motif_start *start, int strands);
/* Writes the filter of one matrix, as motif_start_filters() does. column: [width] probabilities of the bases. reverse:
 * for the other strand. filter: [4][window]. */
void motif_start_filter(const struct motif_start *start, const double (*column)[4], int width, bool reverse,
                        float *filter);

#endif
