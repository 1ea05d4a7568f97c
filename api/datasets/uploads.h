/* The upload of a data set. Arriving bytes are written to a partial file (storage/files/dataset.h). At the same time, a
 * parser thread reads, hashes and parses them. So a fault in row 3 is found when row 3 arrives, and memory holds only
 * the parsed collection, not the bytes of the upload. If the format needs the converter (collection.h), reading begins
 * only when all bytes have arrived.
 *
 * Order of calls: upload_begin(), upload_add() any number of times, upload_finish() when all bytes have arrived,
 * upload_close(). Only one thread at a time may call these functions for an upload. */
#ifndef MOTIF_API_DATASETS_UPLOADS_H
#define MOTIF_API_DATASETS_UPLOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/datasets/reservations.h"
#include "api/http/options.h"
#include "core/base/hash.h"
#include "core/base/work.h"
#include "core/data/uploads/collection.h"
#include "storage/jobs/viewer.h"

struct api_upload;

/* What a client wants to upload. An upload of more than `most` bytes ends with STATUS_LIMIT. */
struct upload_request {
    const struct collection_format *format;
    const struct api_converter *converter; /* converter, for formats that need it; borrowed */
    struct collection_options options;     /* upload_begin() copies its texts */
    char hash[HASH_TEXT];       /* SHA-256 of the whole upload in hex, which the client announced; "": not announced */
    int64_t offset;             /* bytes that arrived in earlier requests */
    int64_t most;               /* upper limit of the bytes of the whole upload */
    int64_t stored;             /* upper limit of the bytes that the stored values take */
    enum visibility visibility; /* who may see the data set */
    char owner[128];            /* name of the token that uploads and owns the partial file; "": none */
    char team[STORAGE_TEAM];    /* its team; "": the team without a name */
    /* counts the place of the upload, and its temporary files; upload_begin() takes it over, also after an error */
    struct ledger_account account;
};

/* Starts an upload. root: the folder of data sets; borrowed. STATUS_CONFLICT: another request is writing the partial
 * file, or the length of this file is not `offset`. *there is then its length. */
enum status upload_begin(const char *root, const struct upload_request *request, struct api_upload **upload,
                         int64_t *there, struct error *err);
/* Adds bytes; upload_finish() reports errors. */
void upload_add(struct api_upload *upload, const void *bytes, size_t count);
/* Called after the last byte: waits until the parser has finished, and reports the first error. hash: receives the
 * SHA-256 of all bytes, in hex. The collection belongs to the upload. STATUS_CANCELLED: `work` has ended. */
enum status upload_finish(struct api_upload *upload, struct work *work, struct collection **collection,
                          char hash[HASH_TEXT], int64_t *bytes, struct error *err);
/* Frees the upload; NULL is fine. A partial file whose hash was announced stays for a later resume, unless
 * upload_drop() deleted it. */
void upload_close(struct api_upload *upload);
void upload_drop(struct api_upload *upload);
/* Lowers the upper limit of the whole upload; may be called only before the first upload_add(). */
void upload_limit(struct api_upload *upload, int64_t most);
/* Returns whether more bytes have arrived than the upper limit allows. */
bool upload_exceeds(const struct api_upload *upload);
/* Returns the reservation under which the quotas count the upload. datasets.c sets and releases it. */
struct reservation *upload_reservation(struct api_upload *upload);
/* The descriptor of the partial file if the file has a name, else -1. */
int upload_part(const struct api_upload *upload);
/* The request that upload_begin() received; the upload keeps it. */
const struct upload_request *upload_request_of(const struct api_upload *upload);

#endif
