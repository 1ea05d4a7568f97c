/* Arrays in NumPy's .npy format, versions 1 to 3, in either memory order and byte order, of at most four dimensions.
 *
 * Element types that can be read: bool, integers of 1 to 8 bytes, floats of 2, 4 and 8 bytes, and text (S and U, at
 * most NPY_TEXT bytes an element). Complex numbers, dates, objects (pickles), records and floats of 16 bytes are
 * refused, and the message names the type.
 *
 * The bytes are untrusted: memory grows with the bytes that have arrived, never with the size that a header claims.
 * Functions keep no state; any thread. */
#ifndef MOTIF_CORE_FORMATS_NPY_H
#define MOTIF_CORE_FORMATS_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/rounded.h"
#include "core/formats/byte_source.h"

#define NPY_RANK 4
#define NPY_TEXT 256 /* bytes of a text element with its NUL */

/* BFLOAT: bfloat16, which only safetensors files contain (tensors.h). BYTES and the classes after it are text. */
enum npy_class { NPY_BOOL, NPY_UNSIGNED, NPY_SIGNED, NPY_FLOAT, NPY_BFLOAT, NPY_BYTES, NPY_UNICODE };

struct npy_header {
    enum npy_class element;
    size_t item;       /* bytes of an element in the file */
    bool nan;          /* set by the caller: NaN is a value and stays */
    bool big, fortran; /* big: the byte order is big-endian; fortran: the memory order is column-major */
    int rank;          /* 0 (a single element) to NPY_RANK */
    int64_t dim[NPY_RANK];
};
/* Reads the header only. STATUS_CORRUPT: the bytes are no .npy file or end early. STATUS_INVALID: an element type or
 * rank that cannot be read. */
enum status npy_header_read(const struct byte_source *from, struct npy_header *header, struct error *err);
/* Appends the header of an array in row-major order. type: NumPy's type, such as "<f4"; dim: [rank], rank at most
 * NPY_RANK + 1. */
void npy_header_write(struct buf *out, const char *type, int rank, const int64_t *dim);

struct npy {
    int rank;
    int64_t dim[NPY_RANK];
    size_t count;            /* product of the dimensions; 1 for rank 0 */
    float *values;           /* [count] row-major; NULL where elements are text */
    char (*texts)[NPY_TEXT]; /* [count] UTF-8, NUL-terminated; NULL where elements are numbers */
    enum npy_class element;  /* type of the elements in the file */
    struct rounded rounded;  /* whole numbers that lost digits; the place counts from 0 */
};
void npy_close(struct npy *array); /* frees values and texts; a zeroed struct is allowed */

/* Reads a whole array up to the end of the source; the caller closes it. Bytes become 0 to 255, false and true 0 and 1;
 * no value is scaled. Errors are those of npy_header_read() and these: STATUS_CORRUPT: fewer or more bytes than the
 * shape needs. STATUS_INVALID: a value that is not finite as a float, or text that is not valid. STATUS_LIMIT: more
 * than max_count numbers, or more than max_count / 64 texts. */
enum status npy_read_from(const struct byte_source *from, size_t max_count, struct npy *out, struct error *err);
/* Reads what follows a header, like npy_read_from(). */
enum status npy_body_read(const struct byte_source *from, const struct npy_header *header, size_t max_count,
                          struct npy *out, struct error *err);
/* Reads the next `count` numbers that follow a header, in the order of the file, for arrays that are read in pieces.
 * first: index of the first of these numbers, for messages. rounded: counts whole numbers that lost digits; may be
 * NULL. */
enum status npy_values_read(const struct byte_source *from, const struct npy_header *header, size_t first, size_t count,
                            float *values, struct rounded *rounded, struct error *err);
/* Reads the next `count` elements as text. Integers of any size become decimal numbers. first: index of the first of
 * these elements, for messages. STATUS_INVALID: the elements have another type, or are not valid text. */
enum status npy_names_read(const struct byte_source *from, const struct npy_header *header, size_t first, size_t count,
                           char (*names)[NPY_TEXT], struct error *err);
/* The number whose 16 bits are those of an IEEE 754 half; NaN also for infinity. */
float npy_half(uint64_t bits);
/* Like npy_read_from(), but reads bytes in memory and refuses text. */
enum status npy_read(const void *bytes, size_t size, size_t max_count, struct npy *out, struct error *err);

#endif
