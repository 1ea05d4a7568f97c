/* Counts of molecules in cells, as features. A data set's folder has one of these:
 *
 * - expression.txt: the table of Zeisel et al. (2015) as published. It is tab-separated and has ten lines about the
 *   cells (classes in the line level1class), an empty line, then one line a gene. All filters of struct cells_filter
 *   apply.
 * - counts.tsv: one line a gene, or one line a cell. With one line a gene, the header begins with an empty field and
 *   then has the cell ids; cells.tsv has the class of each cell_id in the column level1class or, without it, in the
 *   second column. With one line a cell, there are a column cell_type and one column a gene. All filters but
 *   correlation and noise apply.
 * - features.tsv or features.csv: one line a row. All columns are numbers except one called class, label or cell_type,
 *   if there is one. No filter applies. */
#ifndef MOTIF_CORE_DATA_TABLES_CELLS_H
#define MOTIF_CORE_DATA_TABLES_CELLS_H

#include "core/data/tables/features.h"

/* Computes out[i][j] = a_i . b_j; a: [rows][depth], b: [columns][depth], out: [rows][columns]. */
typedef void cells_products(int rows, int columns, int depth, const float *a, const float *b, float *out);

/* The filters, in the order in which they apply. */
struct cells_filter {
    double least_molecules; /* minimum number of molecules of a gene in all cells together; default 25 */
    /* After quantile normalisation, this many genes stay: those with the largest deviation. Default 558. */
    int genes;
    /* A gene stays if at least this number of genes, itself included, have a correlation above `correlation` with it.
     * Default 6; 0: all genes stay. */
    int neighbours;
    double correlation; /* limit of the correlation for `neighbours`; default 0.2091 */
    /* Maximum number of genes that stay: the genes furthest above the curve log2 CV = log2(mean^power + offset).
     * Default 5000; 0: all genes stay. */
    int noisiest;
    double power, offset; /* power and offset of the curve of `noisiest`; the defaults, -0.56 and 0.61, were fitted to
                             the published table */
    cells_products *products; /* a fast matrix product that the caller supplies; NULL: plain sums */
    struct thread_pool *pool; /* cells_load() returns STATUS_CANCELLED when the pool is stopped; may be NULL */
};
#define CELLS_FILTER ((struct cells_filter){25, 558, 6, 0.2091, 5000, -0.56, 0.61, NULL, NULL})

/* Loads a data set's folder; the caller destroys *features. STATUS_NOT_FOUND: none of the files is there.
 * STATUS_INVALID: a fault of a file, or no gene is left; the message names file and line. */
enum status cells_load(const char *folder, const struct cells_filter *filter, struct features **features,
                       struct error *err);

#endif
