/* Counts of molecules in cells, as features: genes of the largest variance after quantile normalisation.
 *
 * counts.tsv, in either direction: a line a gene (the header begins with an empty field, then cell ids; classes in
 * cells.tsv by cell_id, in the column level1class or, without it, the second), or a line a cell (a column cell_type,
 * and a column a gene). Without counts.tsv, a table features.tsv or features.csv: a line a row, all columns numbers
 * but for one called class, label or cell_type, if there is one; that is taken as it is.
 * A table that was uploaded (core/data/collection.h) comes before all of these: as it is, the columns of the largest variance. */
#ifndef MOTIF_CORE_DATA_CELLS_H
#define MOTIF_CORE_DATA_CELLS_H

#include "core/data/features.h"

struct cells_filter {
    double least_molecules; /* of a gene in all cells: 25 */
    int genes;              /* 558 */
};
#define CELLS_FILTER ((struct cells_filter){25, 558})

enum status cells_load(const char *folder, const struct cells_filter *filter, struct features **features,
                       struct error *err);

/* Every row gets the same sorted values: the means over rows of the sorted values, ties the mean of their ranks' (as
 * in preprocessCore). In place; STATUS_NO_MEMORY. */
enum status cells_quantile_normalise(float *x, int rows, int columns, struct error *err);

#endif
