/* An .npz file that is made while it is read, so that memory does not grow with its arrays: a zip of .npy files without
 * compression. The size of the whole file is known before its first byte.
 *
 * The checksum of an array follows its data (a "data descriptor"), because it is known only then. The file uses ZIP64
 * throughout, so an array may have any size. One thread at a time. */
#ifndef MOTIF_CORE_FORMATS_NPZ_NPZ_STREAM_H
#define MOTIF_CORE_FORMATS_NPZ_NPZ_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/formats/npy.h"

enum { NPZ_STREAM_ARRAYS = 16 };

/* An array of the file, in row-major order. */
struct npz_stream_array {
    const char *name; /* static text: the array's name, without ".npy" */
    char type[8];     /* NumPy's type, such as "<f4" or "<U12" */
    size_t item;      /* bytes of an element, at most 1024 */
    int rank;
    int64_t dim[NPY_RANK];
};

/* Where the elements come from. */
struct npz_stream_source {
    void *context;
    /* Writes elements [first, first + count) of an array, of which `array` is the index, to `to` [count][item]. */
    void (*elements)(void *context, int array, int64_t first, int64_t count, void *to);
};

struct npz_stream;
/* Opens the file. The arrays are copied, the source is borrowed. count: from 1 to NPZ_STREAM_ARRAYS. The caller closes
 * *stream, also after a failure. STATUS_NO_MEMORY. */
enum status npz_stream_open(const struct npz_stream_array *arrays, int count, const struct npz_stream_source *source,
                            struct npz_stream **stream, struct error *err);
void npz_stream_close(struct npz_stream *stream); /* NULL is allowed */

/* The size of the file in bytes. */
uint64_t npz_stream_bytes(const struct npz_stream *stream);
/* Copies at most `count` bytes of the file, from `offset` on, and returns how many: at least one if `offset` is inside
 * the file. Offsets may come in any order. To make the checksum of an array, the function reads the parts of its data
 * that no earlier call has read; a caller that reads the file from front to back causes no such extra reading. */
size_t npz_stream_read(struct npz_stream *stream, uint64_t offset, void *to, size_t count);

#endif
