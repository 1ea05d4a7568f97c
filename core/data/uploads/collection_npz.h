/* Adds the samples of .npz files to a collection, one file after another. Private to collection*.c. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_NPZ_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_NPZ_H

#include "core/data/uploads/collection_arrays.h"

enum {
    NPZ_LINE = 1 << 20, /* upper limit of the columns of a sample of one row, in a file that has no array `length` */
    NPZ_OTHER_NUMBERS = 1 << 27, /* upper limit of the elements of an array other than x */
};

struct npz {
    struct builder *b;
    const struct collection_options *options; /* of the request */
    enum collection_layout layout; /* the layout that the request names, or else the one that the file states */
    struct arrays arrays;          /* the arrays of the current file, except x and id */
    bool complete;                 /* no array follows that says how x is read */
    char late[81];                 /* name of the member x that waits in the store for all others; "": none */
    struct npy_header x;           /* its header */
    struct rounded rounded;        /* whole numbers of x that lost digits */
    struct id_list ids;            /* the ids of the samples of all files */
    enum array_use use;            /* how y is read; the same in all files */
    int files;                     /* files that were added */
    int64_t cols;          /* columns of a sample; if the file has the array `length`, columns of the longest sample */
    unsigned char *sample; /* room for two copies of a sample as floats: in the file's order, and with channels first */
};
void npz_open(struct npz *n, struct builder *b, const struct collection_options *options);
void npz_close(struct npz *n);
/* Whether the ending of a name is that of a file of arrays: .npz, .npy or .safetensors. */
bool npz_named(const char *name);
/* Reads a file of arrays and adds its samples or, if the name says so (id.npy), ids of samples. name: of a member of an
 * archive; only the ending if there is no archive. STATUS_INVALID: a fault of the file, or its samples differ in kind
 * or shape from those of earlier files. */
enum status npz_add(struct npz *n, const char *name, const struct byte_source *from, struct error *err);

/* Finishes the builder's collection after the last file. */
enum status npz_finish(struct npz *n, struct error *err);

#endif
