/* Tables of cells as single-cell programs write them: a matrix in Matrix Market's format, with the names of its
 * features and of its cells in two lists. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_CELLS_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_CELLS_H

#include "core/data/uploads/collection_int.h"

enum { CELLS_BYTES = 256 << 20 }; /* largest text of a matrix */

/* Texts of the three files. features: lines "id", or "id", a tab and "name", and more fields, which are not read.
 * barcodes: a name on a line. */
struct cells_text {
    const char *matrix, *features, *barcodes;
    size_t matrix_bytes, feature_bytes, barcode_bytes;
};

/* Adds each cell as a row of a table, and its name to `cells`. The matrix has a row for each feature and a column for
 * each cell, as 10x writes it, or the other way round. A feature is called by its name, or by its id if another one has
 * the same name. STATUS_INVALID: the numbers of names and of rows or columns differ, a cell's name or an entry occurs
 * twice; faults of the files. STATUS_LIMIT, STATUS_NO_MEMORY. */
enum status cells_add(struct builder *b, const struct cells_text *text, struct name_list *cells, struct error *err);

#endif
