/* Which genes of a table of counts are kept, and how their counts are made comparable between cells. */
#ifndef MOTIF_CORE_DATA_TABLES_GENES_H
#define MOTIF_CORE_DATA_TABLES_GENES_H

#include "core/data/tables/cells.h"

/* All steps of a filter, in place. STATUS_INVALID when fewer than two genes are left. */
enum status genes_choose(struct features *f, const struct cells_filter *filter, struct error *err);

/* The `most` columns of the largest variance, in their order. */
enum status genes_keep_varied(struct features *f, int most, struct error *err);

/* Single steps: how many genes are correlated above `limit` with each, itself counted; and how far log2 of the
 * coefficient of variation is above what the mean lets expect (-infinity for a gene without molecules). [columns]
 * each. */
enum status genes_neighbours(const struct features *f, double limit, cells_products *products, int *count,
                             struct error *err);
void genes_noise(const struct features *f, double power, double offset, double *noise);

/* Every row gets the same sorted values: the means over rows of the sorted values, ties the mean of their ranks' (as
 * in preprocessCore). In place; STATUS_NO_MEMORY. */
enum status genes_quantile_normalise(float *x, int rows, int columns, struct error *err);

#endif
