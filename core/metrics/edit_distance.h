/* Levenshtein distance of token lists. */
#ifndef MOTIF_CORE_METRICS_EDIT_DISTANCE_H
#define MOTIF_CORE_METRICS_EDIT_DISTANCE_H

#define EDIT_DISTANCE_MAX 512 /* longest list */

/* The least number of insertions, deletions and replacements; -1: a list is longer than EDIT_DISTANCE_MAX. */
int edit_distance(const int *a, int a_count, const int *b, int b_count);

/* The distance divided by the length of the longer list: 0 for equal lists (also for two empty ones), at most 1. The
 * end-to-end error (E2EE) is the mean of this value over samples. NaN if a list is too long. */
double edit_error(const int *a, int a_count, const int *b, int b_count);

#endif
