/* Sparse matrices in the format of Matrix Market (math.nist.gov/MatrixMarket/formats.html):
 * - the line "%%MatrixMarket matrix coordinate FIELD general";
 * - comments, which begin with '%';
 * - a line with the numbers of rows, columns and entries;
 * - a line "ROW COLUMN VALUE" for each entry; ROW and COLUMN are counted from 1.
 * FIELD is real, integer or pattern. The entries of a pattern have no value and count as 1. */
#ifndef MOTIF_CORE_FORMATS_TABLE_MATRIX_MARKET_H
#define MOTIF_CORE_FORMATS_TABLE_MATRIX_MARKET_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum { MATRIX_MARKET_SIDE = 1 << 22 }; /* largest number of rows or columns */

struct matrix_market {
    int32_t rows, cols;
    int64_t count;
    struct matrix_entry {
        int32_t row, col; /* from 0 */
        float value;
    } * entry; /* [count] in the order of the file */
};

/* Parses a whole file. The caller calls matrix_market_close() also after a failure. STATUS_INVALID: a fault of the
 * file; the message names the line. STATUS_NO_MEMORY. */
enum status matrix_market_parse(const char *text, size_t size, struct matrix_market *out, struct error *err);
void matrix_market_close(struct matrix_market *matrix); /* a zeroed struct is allowed */

#endif
