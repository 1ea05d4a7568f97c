/* An upload while it arrives: bytes go to a part on the disk (storage/files/dataset.h), and a thread of its own reads
 * them back, takes their SHA-256 and parses them, always as far as they have come. So what is wrong with row 3 is known
 * when row 3 has arrived, and nothing of the size of the upload is held in memory but the collection itself.
 *
 * upload_begin() → upload_add() ... → upload_finish() | → upload_close(). One thread at a time. */
#ifndef MOTIF_API_DATASETS_UPLOADS_H
#define MOTIF_API_DATASETS_UPLOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/hash.h"
#include "core/data/uploads/collection.h"

struct api_upload;

struct upload_request {
    const struct collection_format *format;
    char label[64], group[64];
    bool channels_first;
    char hash[HASH_TEXT]; /* announced; "" */
    int64_t offset;       /* bytes that are here from before */
    int64_t most;         /* bytes of the whole */
};

/* root: the folder of data sets; borrowed. STATUS_CONFLICT: the part has another length than `offset` (*there says
 * which), or is being written. */
enum status upload_begin(const char *root, const struct upload_request *request, struct api_upload **upload,
                         int64_t *there, struct error *err);
/* What fails here is told by upload_finish(). */
void upload_add(struct api_upload *upload, const void *bytes, size_t count);
/* All has arrived: waits for the parser. The collection is the upload's. */
enum status upload_finish(struct api_upload *upload, const struct collection **collection, char hash[HASH_TEXT],
                          int64_t *bytes, struct error *err);
/* A part that can be resumed stays unless upload_drop() was called, which takes it away at once. NULL is fine. */
void upload_close(struct api_upload *upload);
void upload_drop(struct api_upload *upload);
const struct upload_request *upload_asked(const struct api_upload *upload);

#endif
