/* Reads the ids of samples from an array while it arrives (collection_ids.h). */
#include "core/data/uploads/collection_ids.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };

static enum status add(struct id_list *ids, const char *id, struct error *err)
{
    struct collection_names *names = &ids->names;
    if (names->count == ids->room) {
        int room = ids->room > 0 ? 2 * ids->room : 1024;
        char **larger = realloc(names->name, (size_t)room * sizeof *larger);
        if (!larger)
            return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for ids");
        names->name = larger;
        ids->room = room;
    }
    names->name[names->count] = strdup(id);
    if (!names->name[names->count])
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for ids");
    names->count++;
    return STATUS_OK;
}

enum status id_list_read(struct id_list *ids, const struct byte_source *from, const struct npy_header *h, int64_t most,
                         struct error *err)
{
    char block[BLOCK][NPY_TEXT];
    enum status status = STATUS_OK;
    if (h->rank != 1)
        return error_set(err, STATUS_INVALID, NULL, "must have one dimension, with one id for each sample");
    if (h->dim[0] > most - ids->names.count)
        return error_set(err, STATUS_LIMIT, NULL, "has more ids than the %lld samples that are allowed",
                         (long long)most);
    for (int64_t at = 0; !status && at < h->dim[0]; at += BLOCK) {
        size_t count = h->dim[0] - at < BLOCK ? (size_t)(h->dim[0] - at) : BLOCK;
        status = npy_names_read(from, h, (size_t)at, count, block, err);
        for (size_t i = 0; !status && i < count; i++)
            status = add(ids, block[i], err);
    }
    return status ? status : byte_source_end(from, "the array of ids", err);
}

enum status id_list_check(const struct id_list *ids, int64_t samples, struct error *err)
{
    return ids->names.count == 0 || ids->names.count == samples
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL,
                           "there are %d ids for %lld samples; every sample needs one, in the same order",
                           ids->names.count, (long long)samples);
}

void id_list_close(struct id_list *ids)
{
    for (int i = 0; i < ids->names.count; i++)
        free(ids->names.name[i]);
    free(ids->names.name);
    *ids = (struct id_list){0};
}
