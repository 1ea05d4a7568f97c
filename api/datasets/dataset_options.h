/* The identity of an upload and its options: those that have an effect, their form in the document of a data set, and
 * the comparison of an upload with a stored data set. */
#ifndef MOTIF_API_DATASETS_DATASET_OPTIONS_H
#define MOTIF_API_DATASETS_DATASET_OPTIONS_H

#include "api/datasets/uploads.h"
#include "core/base/sink.h"

/* The hash by which jobs recognise a data set. Two uploads of the same bytes with different options are different
 * data. */

/* Computes the hash that the file `sha256` of a data set contains, and that dataset_hash() reads. The request must be
 * that of dataset_options_effective(), without options that change nothing. If all options have their defaults, it is
 * the hash of the uploaded bytes. Otherwise it is the SHA-256 of that hash, the format and the options that differ from
 * their defaults. If the samples also come from a genome or a signal of the operator, it covers the stored form `c`
 * too, because the operator may change these files. bytes: SHA-256 of the uploaded bytes in hex. Errors: those of
 * collection_write(). */
enum status dataset_identity(const struct upload_request *request, const struct collection *c,
                             const char bytes[HASH_TEXT], char identity[HASH_TEXT], struct error *err);

/* Returns the request without the options that change nothing, because the reader would have used their values anyway
 * (the member `implied` of the collection). Two uploads of the same bytes are the same data if these requests have the
 * same options. */
struct upload_request dataset_options_effective(const struct upload_request *request, const struct collection *c);
/* Writes the members `options` (those that have an effect) and `stated` (those that the client has stated, as text) of
 * the document. effective: the request of dataset_options_effective(); given: the request of the client. */
void dataset_options_write(const struct upload_request *effective, const struct upload_request *given,
                           const struct collection *c, const struct sink *to);

/* How an upload differs from an existing data set. */
struct dataset_difference {
    bool bytes, any;   /* bytes: in the bytes of the file; any: in the bytes or in an option */
    char options[160]; /* names of the options that differ, separated by commas */
};
/* Compares an upload with a data set. document: the JSON text about the data set, [size]; hash: SHA-256 of the uploaded
 * bytes in hex. Errors: those of a text that is not JSON. */
enum status dataset_options_compare(const struct upload_request *request, const struct collection *c, const char *hash,
                                    const char *document, size_t size, struct dataset_difference *out,
                                    struct error *err);

#endif
