/* Adds the samples of .npz files to a collection, one file after another. Private to collection*.c. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_NPZ_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_NPZ_H

#include "core/data/uploads/collection_arrays.h"
#include "core/data/uploads/collection_ids.h"

struct npz {
    struct builder *b;
    const struct collection_options *options;
    struct arrays arrays;  /* the present file's arrays except x and id */
    struct id_list ids;    /* of the samples of all files */
    enum array_use use;    /* how y is read; the same in all files */
    int files;             /* files that were added */
    int64_t cols;          /* columns of a sample */
    unsigned char *sample; /* two samples as floats: in the order of the file, and with channels first */
};
void npz_open(struct npz *n, struct builder *b, const struct collection_options *options);
void npz_close(struct npz *n);
/* Reads a file and adds its samples. STATUS_INVALID: also where they are unlike those of earlier files. */
enum status npz_add(struct npz *n, const struct byte_source *from, struct error *err);
/* Adds the samples of an .npy file, or, if `ids`, the ids of samples. */
enum status npz_add_npy(struct npz *n, bool ids, const struct byte_source *from, struct error *err);
/* Adds the samples of a safetensors file (collection_tensors.c). */
enum status npz_add_tensors(struct npz *n, const struct byte_source *from, struct error *err);

/* For files that contain several arrays: npz_begin(), npz_array() for each array, npz_end(). npz_member() finds the
 * array that has a name; -1: there is none, and npz_array() then names those that are allowed. first: the number of
 * samples before the file. */
void npz_begin(struct npz *n);
int npz_member(const char *name, size_t bytes);
enum status npz_array(struct npz *n, int member, const char *name, const struct npy_header *header,
                      const struct byte_source *from, struct error *err);
enum status npz_end(struct npz *n, int64_t first, struct error *err);

/* Finishes the builder's collection after the last file. */
enum status npz_finish(struct npz *n, struct error *err);

#endif
