/* Small .npy arrays as clients send them: numbers in C order, at most four dimensions.
 *
 * The bytes are foreign: every length is checked against what is there before anything is allocated.
 * Pure function; any thread. */
#ifndef MOTIF_CORE_DATA_NPY_H
#define MOTIF_CORE_DATA_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define NPY_RANK 4

struct npy {
    int rank;              /* 0 (one number) to NPY_RANK */
    int64_t dim[NPY_RANK];
    size_t count;          /* product of the dimensions; 1 for rank 0 */
    float *values;         /* row-major, malloc'ed: free() it */
};

/* Format versions 1 to 3; element types f4, f8, u1 and i8 in either byte order. Values are taken as they are
 * (bytes give 0..255). STATUS_CORRUPT: not such a file; STATUS_INVALID: an element type or order that is not
 * taken, or a value that is not finite as float; STATUS_LIMIT: more than max_count numbers. */
enum status npy_read(const void *bytes, size_t size, size_t max_count, struct npy *out, struct error *err);

#endif
