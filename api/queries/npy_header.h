/* Writes headers of .npy files. */
#ifndef MOTIF_API_QUERIES_NPY_HEADER_H
#define MOTIF_API_QUERIES_NPY_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/* Appends the header of an array of float32 in row-major order, of shape [inputs] followed by dim: [rank]. */
void npy_header_write(struct buf *out, size_t inputs, int rank, const int64_t *dim);

#endif
