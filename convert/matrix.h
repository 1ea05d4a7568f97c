/* The values of a table in an HDF5 file: a dense array, or a sparse matrix in compressed rows (CSR) or columns (CSC).
 * The functions write the values row after row. Their memory does not grow with the matrix. */
#ifndef MOTIF_CONVERT_MATRIX_H
#define MOTIF_CONVERT_MATRIX_H

#include "convert/hdf5_read.h"
#include "core/formats/table/table_stream.h"

struct matrix;

/* Opens the child `name` of a group in an AnnData file of any version: an array, or a group that is a sparse matrix.
 * The caller calls matrix_close(), also after an error. Errors as in hdf5_read.h. STATUS_LIMIT: more rows or columns
 * than a table may have. */
enum status matrix_open(hid_t group, const char *name, struct matrix **matrix, struct error *err);
/* Opens a sparse matrix whose group contains data, indices and indptr. by_rows: true for compressed rows, false for
 * compressed columns. */
enum status matrix_open_sparse(hid_t group, int64_t rows, int64_t cols, bool by_rows, struct matrix **matrix,
                               struct error *err);
int64_t matrix_rows(const struct matrix *matrix);
int64_t matrix_cols(const struct matrix *matrix);
/* Whether the numbers of the file need no more than single precision. */
bool matrix_single(const struct matrix *matrix);
/* Writes the values of the next row. */
enum status matrix_next(struct matrix *matrix, struct table_writer *to, struct error *err);
void matrix_close(struct matrix *matrix); /* NULL is allowed */

#endif
