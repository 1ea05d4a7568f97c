/* What the owner of a file calls each sample: text or integers of any size. Ids need not differ. They become the
 * collection's `records`. Private to collection*.c. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_IDS_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_IDS_H

#include "core/data/uploads/collection.h"
#include "core/formats/npy.h"

struct id_list {
    struct collection_names names;
    int room;
};
/* Adds the ids of an array of one dimension; `most` is the upper limit of all ids. */
enum status id_list_read(struct id_list *ids, const struct byte_source *from, const struct npy_header *header,
                         int64_t most, struct error *err);
/* STATUS_INVALID: there are ids, but not one for each sample. */
enum status id_list_check(const struct id_list *ids, int64_t samples, struct error *err);
void id_list_close(struct id_list *ids);

#endif
