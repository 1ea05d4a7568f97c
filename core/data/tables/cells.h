/* Counts of molecules in cells, as features.
 *
 * expression.txt: the table of Zeisel et al. (2015) as it was published, under this name: tab-separated, ten lines
 * about the cells (their classes in the one called level1class), a line between, then genes. Its genes go through all
 * of the filters below. Else
 *
 * counts.tsv, in either direction: a line a gene (the header begins with an empty field, then cell ids; classes in
 * cells.tsv by cell_id, in the column level1class or, without it, the second), or a line a cell (a column cell_type,
 * and a column a gene); without the filters of correlation and noise. Else a table features.tsv or features.csv: a
 * line a row, all columns numbers but for one called class, label or cell_type, if there is one; that is taken as it
 * is. */
#ifndef MOTIF_CORE_DATA_TABLES_CELLS_H
#define MOTIF_CORE_DATA_TABLES_CELLS_H

#include "core/data/tables/features.h"

/* out[i][j] = a_i . b_j; a: [rows][depth], b: [columns][depth]. */
typedef void cells_products(int rows, int columns, int depth, const float *a, const float *b, float *out);

/* In this order. */
struct cells_filter {
    double least_molecules; /* of a gene in all cells: 25 */
    int genes;              /* last, after quantile normalisation: those of the largest deviation: 558 */
    int neighbours;       /* genes whose correlation with so many (itself counted) is above `correlation`: 6; 0: all */
    double correlation;   /* 0.2091 */
    int noisiest;         /* genes furthest above log2 CV = log2(mean^power + offset): 5000; 0: all */
    double power, offset; /* as fitted to the published table: -0.56, 0.61 */
    cells_products *products; /* of somebody who is quick at it; NULL: plain sums */
};
#define CELLS_FILTER ((struct cells_filter){25, 558, 6, 0.2091, 5000, -0.56, 0.61, NULL})

enum status cells_load(const char *folder, const struct cells_filter *filter, struct features **features,
                       struct error *err);

#endif
