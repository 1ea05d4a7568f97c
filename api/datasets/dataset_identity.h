/* The hash by which jobs recognise a data set. Two uploads of the same bytes with different options are different
 * data. */
#ifndef MOTIF_API_DATASETS_DATASET_IDENTITY_H
#define MOTIF_API_DATASETS_DATASET_IDENTITY_H

#include "api/datasets/uploads.h"

/* Computes the hash that the file `sha256` of a data set contains, and that dataset_hash() reads. The request must be
 * that of dataset_options_effective(), without options that change nothing. If all options have their defaults, it is
 * the hash of the uploaded bytes. Otherwise it is the SHA-256 of that hash, the format and the options that differ from
 * their defaults. If the samples also come from a genome or a signal of the operator, it covers the stored form `c`
 * too, because the operator may change these files. bytes: SHA-256 of the uploaded bytes in hex. Errors: those of
 * collection_write(). */
enum status dataset_identity(const struct upload_request *request, const struct collection *c,
                             const char bytes[HASH_TEXT], char identity[HASH_TEXT], struct error *err);

#endif
