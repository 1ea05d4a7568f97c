/* Selects the genes of a table of counts and normalises their counts so that cells can be compared. */
#ifndef MOTIF_CORE_DATA_TABLES_GENES_H
#define MOTIF_CORE_DATA_TABLES_GENES_H

#include "core/data/tables/cells.h"

/* Applies all steps of a filter in place. STATUS_INVALID: fewer than two genes are left. */
enum status genes_choose(struct features *f, const struct cells_filter *filter, struct error *err);

/* Keeps the `most` columns of the largest variance, in their order. */
enum status genes_keep_varied(struct features *f, int most, struct error *err);

/* Single steps of the filter. count: [columns], the number of genes whose correlation with each gene is above `limit`,
 * itself included. noise: [columns], how far log2 of the coefficient of variation is above its expected value at this
 * mean; -infinity for a gene without molecules. */
enum status genes_neighbours(const struct features *f, double limit, cells_products *products, int *count,
                             struct error *err);
void genes_noise(const struct features *f, double power, double offset, double *noise);

/* Quantile normalisation in place, with ties as in preprocessCore. Every row gets the same sorted values: the k-th is
 * the mean over rows of the k-th smallest value of each row. Tied entries of a row get the value at the mean of their
 * ranks; if this mean is between two ranks, they get the mean of the two values. x: [rows][columns]. */
enum status genes_quantile_normalise(float *x, int rows, int columns, struct error *err);

#endif
