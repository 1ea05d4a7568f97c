/* Tables of cells in the form in which single-cell programs write them: a matrix in Matrix Market's format, a list
 * of the names of the features, and a list of the names of the cells. Also the names of features in any table of cells.
 */
#ifndef MOTIF_CORE_DATA_UPLOADS_TABLES_COLLECTION_CELLS_H
#define MOTIF_CORE_DATA_UPLOADS_TABLES_COLLECTION_CELLS_H

#include "core/data/uploads/collection_build.h"
#include "core/formats/table/table_stream.h"

/* The columns of a table of cells. Single-cell programs allow several features of the same name, but a data set does
 * not. If a name occurs again, the column gets the feature's id, or, if it has none or the id is in use, the name with
 * "-1", "-2", ..., like anndata's var_names_make_unique(). */
struct feature_columns {
    struct name_list names;
    struct collection_list renamed;
};
/* Adds a column. id: "" if the feature has none. STATUS_INVALID: two features cannot be told apart. */
enum status feature_columns_add(struct feature_columns *columns, const char *name, const char *id, struct error *err);
/* Gives the names to the collection, and warns of renamed features. */
enum status feature_columns_finish(struct feature_columns *columns, struct collection *c, struct error *err);

enum { CELLS_BYTES = 256 << 20 }; /* upper limit of the size of a matrix's text */

/* Texts of the three files. Each line of `features` has an id, and may have a tab and a name; more fields are
 * ignored. Each line of `barcodes` has the name of a cell. */
struct cells_text {
    const char *matrix, *features, *barcodes;
    size_t matrix_bytes, feature_bytes, barcode_bytes;
};

/* Adds each cell as a row of a table, and its name to `cells`. The matrix has a row for each feature and a column
 * for each cell, as 10x Genomics writes it, or the other way round. The names of the cells become the ids of the
 * samples. STATUS_INVALID: the file has another number of names than the matrix has rows or columns, a name of a cell
 * or an entry occurs twice, or a file has another fault. STATUS_LIMIT, STATUS_NO_MEMORY. */
enum status cells_add(struct builder *b, const struct cells_text *text, struct name_list *cells, struct error *err);

#endif
