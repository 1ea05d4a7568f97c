/* Arrays in NumPy's format (.npy versions 1 to 3): in either order, of either byte order, at most four dimensions.
 *
 * Taken are bool, the integers of 1 to 8 bytes, floats of 2, 4 and 8, and text (S and U, at most NPY_TEXT bytes an
 * element). Refused by name are complex numbers, dates, objects (pickles), records and floats of 16 bytes.
 *
 * The bytes are foreign: memory grows with what has arrived, never with what a header says. Pure functions; any thread.
 */
#ifndef MOTIF_CORE_FORMATS_NPY_H
#define MOTIF_CORE_FORMATS_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/formats/byte_source.h"

#define NPY_RANK 4
#define NPY_TEXT 256 /* bytes of a text with its NUL */

enum npy_class { NPY_BOOL, NPY_UNSIGNED, NPY_SIGNED, NPY_FLOAT, NPY_BYTES, NPY_UNICODE };

struct npy_header {
    enum npy_class element;
    size_t item; /* bytes of an element */
    bool big, fortran;
    int rank; /* 0 (one element) to NPY_RANK */
    int64_t dim[NPY_RANK];
};
/* STATUS_CORRUPT: not such a file, or cut off; STATUS_INVALID: an element type or rank that is not taken. */
enum status npy_header_read(const struct source *from, struct npy_header *header, struct error *err);

struct npy {
    int rank;
    int64_t dim[NPY_RANK];
    size_t count;            /* product of the dimensions; 1 for rank 0 */
    float *values;           /* row-major; NULL where elements are text. npy_close() frees it */
    char (*texts)[NPY_TEXT]; /* the same for text: UTF-8, terminated */
    enum npy_class element;  /* as in the file */
};
void npy_close(struct npy *array); /* zeroed is fine */

/* A whole array and the end of the source. Values are taken as they are (bytes give 0..255, false and true 0 and 1).
 * Besides the header's errors: STATUS_CORRUPT where there are fewer bytes than the shape needs, or more; STATUS_INVALID
 * for a value that is not finite as float, or is no text; STATUS_LIMIT for more than max_count numbers, or a 64th as
 * many texts. */
enum status npy_read_from(const struct source *from, size_t max_count, struct npy *out, struct error *err);
/* The same of bytes in memory, and of numbers only. */
enum status npy_read(const void *bytes, size_t size, size_t max_count, struct npy *out, struct error *err);

#endif
