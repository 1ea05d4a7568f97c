/* Files that clients send as inputs of a query: pictures, recordings, arrays, sequences and tables become float arrays,
 * and texts stay texts.
 *
 * The bytes are untrusted. Functions keep no state; any thread. */
#ifndef MOTIF_CORE_DATA_FILES_INPUT_FILE_H
#define MOTIF_CORE_DATA_FILES_INPUT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "core/formats/table/table_columns.h"

#define INPUT_FILE_NUMBERS (4u << 20) /* largest number of values of one array */
#define INPUT_FILE_ARRAYS 64          /* most members of an .npz file */
#define INPUT_FILE_UNPACKED                                                                                            \
    ((size_t)64 << 20) /* most bytes that the compressed files of a query have when unpacked                           \
                        */

/* What is known about the tables of a model: the columns that the upload of its data set named, and the names of its
 * features in their order (NULL: not known). */
struct input_file_table {
    struct table_wanted wanted;
    const char *const *feature; /* [features] */
    int features;
    const char *text; /* the inputs are the texts of this column; NULL: they are numbers */
};

/* What the reader did on its own. */
struct input_file_notes {
    char left_out[200]; /* the columns of a table that are no features of the model, as "'a', 'b'"; "": none */
    struct rounded rounded;
};

/* Receives the arrays of a file one by one. */
struct input_file_sink {
    void *context;
    size_t *unpacked; /* number of bytes that compressed files may still have when unpacked; each file reduces it */
    /* Receives one array, or a text: rank is then 0, and the NUL-terminated text follows the first value. values:
     * malloc'ed, row-major, [dim[0]]...[dim[rank - 1]] with rank of at most 4; the callee owns it, also when it fails.
     * rate: samples per second of a recording; else 0. */
    enum status (*add)(void *context, int rank, const int64_t *dim, float *values, int rate, struct error *err);
    const struct input_file_table *table; /* NULL: nothing is known */
    struct input_file_notes *notes;       /* NULL: nobody needs them */
};

/* Media types that input_file_read() takes; ends with NULL. */
extern const char *const input_file_types[];

/* Reads a file of a type in input_file_types, which may be compressed by gzip, and passes its arrays to `to`. A picture
 * becomes [rows][cols] with values in [0, 1], or [3][rows][cols] if it has colours. A recording becomes [samples] at
 * its own rate. An array keeps its shape; of an .npz file, it is the array with the name x, or the only one. Each
 * record of a sequence file becomes [4][1][length], and each row of a table [columns of features]: if the table has all
 * features of the model, these, by their names; otherwise all columns that have no other role; if the model reads
 * texts, each row is a text. Each line of a text that is not blank is a text. STATUS_INVALID, STATUS_CORRUPT or
 * STATUS_LIMIT: the bytes are not a file of this type, or the file is empty or has too many numbers. STATUS_NOT_FOUND:
 * the type is unknown. */
enum status input_file_read(const char *media_type, const void *bytes, size_t count, const struct input_file_sink *to,
                            struct error *err);

#endif
