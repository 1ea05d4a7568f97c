/* Tables of cells in the form in which single-cell programs write them: a matrix in Matrix Market's format, a list
 * of the names of the features, and a list of the names of the cells. */
#ifndef MOTIF_CORE_DATA_UPLOADS_TABLES_COLLECTION_CELLS_H
#define MOTIF_CORE_DATA_UPLOADS_TABLES_COLLECTION_CELLS_H

#include "core/data/uploads/collection_build.h"

enum { CELLS_BYTES = 256 << 20 }; /* upper limit of the size of a matrix's text */

/* Texts of the three files. Each line of `features` has an id, and may have a tab and a name; more fields are
 * ignored. Each line of `barcodes` has the name of a cell. */
struct cells_text {
    const char *matrix, *features, *barcodes;
    size_t matrix_bytes, feature_bytes, barcode_bytes;
};

/* Adds each cell as a row of a table, and its name to `cells`. The matrix has a row for each feature and a column
 * for each cell, as 10x Genomics writes it, or the other way round. The column of a feature gets the feature's name,
 * or its id if another feature has the same name. STATUS_INVALID: the numbers of names differ from those of rows and
 * columns, a cell's name or an entry occurs twice, or a file has another fault. STATUS_LIMIT, STATUS_NO_MEMORY. */
enum status cells_add(struct builder *b, const struct cells_text *text, struct name_list *cells, struct error *err);

#endif
