/* Selects the genes of a table of counts and normalises their counts so that cells can be compared. */
#ifndef MOTIF_CORE_DATA_TABLES_GENES_H
#define MOTIF_CORE_DATA_TABLES_GENES_H

#include "core/data/tables/cells.h"

/* Applies all steps of a filter in place. STATUS_INVALID: fewer than two genes are left. */
enum status genes_choose(struct features *f, const struct cells_filter *filter, struct error *err);

/* Keeps the `most` columns of the largest variance, without changing the order of the columns. */
enum status genes_keep_varied(struct features *f, int most, struct error *err);

/* The following functions are single steps of the filter. Those with the argument `pool` return STATUS_CANCELLED when
 * the pool is stopped. genes_neighbours() counts for each gene the genes whose correlation with it is above `limit`,
 * itself included. count: [columns]. genes_noise() computes for each gene how far log2 of its coefficient of variation
 * is above the value that the curve of struct cells_filter expects at its mean. The noise of a gene without molecules
 * is -infinity. noise: [columns]. */
enum status genes_neighbours(const struct features *f, double limit, cells_products *products, struct thread_pool *pool,
                             int *count, struct error *err);
void genes_noise(const struct features *f, double power, double offset, double *noise);

/* Quantile normalisation in place, with ties as in preprocessCore. Every row gets the same sorted values: the k-th is
 * the mean over rows of the k-th smallest value of each row. Tied entries of a row get the value at the mean of their
 * ranks; if this mean is between two ranks, they get the mean of the two values. x: [rows][columns]. */
enum status genes_quantile_normalise(float *x, int rows, int columns, struct thread_pool *pool, struct error *err);

#endif
