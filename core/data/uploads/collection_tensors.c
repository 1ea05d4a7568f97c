/* Reads safetensors files: tensors with the names of the arrays of an .npz (collection_npz.c), which the file contains
 * in any order. If there is no x and exactly one other tensor, that is x. Texts do not exist in this format, so ids,
 * groups and labels are integers. */
#include "core/data/uploads/collection_npz.h"
#include "core/formats/tensors.h"

#include <string.h>

/* The tensor that is x without being called so; -1: none. */
static int unnamed(const struct tensors *t)
{
    int found = -1, unknown = 0;
    for (int i = 0; i < t->count; i++) {
        int member = npz_member(t->entry[i].name, strlen(t->entry[i].name));
        if (member == MEMBER_X)
            return -1;
        if (member < 0) {
            found = i;
            unknown++;
        }
    }
    return unknown == 1 ? found : -1;
}

enum status npz_add_tensors(struct npz *n, const struct byte_source *from, struct error *err)
{
    struct tensors t;
    int64_t first = n->b->c->count;
    npz_begin(n);
    enum status status = tensors_head_read(from, &t, err);
    int x = status ? -1 : unnamed(&t);
    for (int i = 0; !status && i < t.count; i++) {
        const struct tensors_entry *e = &t.entry[i];
        struct tensors_piece piece = {from, e->end - e->begin};
        struct byte_source bytes = tensors_piece_source(&piece);
        status =
            npz_array(n, i == x ? MEMBER_X : npz_member(e->name, strlen(e->name)), e->name, &e->header, &bytes, err);
    }
    if (!status)
        status = byte_source_end(from, "the last tensor", err);
    tensors_close(&t);
    return status ? status : npz_end(n, first, err);
}

static enum status read_tensors(const struct byte_source *from, const struct collection_options *options,
                                const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct builder b;
    struct npz n;
    builder_init(&b, c, options, limits);
    npz_open(&n, &b, options);
    enum status status = npz_add_tensors(&n, from, err);
    if (!status)
        status = npz_finish(&n, err);
    npz_close(&n);
    builder_close(&b);
    return status;
}

const struct collection_format safetensors_format = {"safetensors", "application/x-safetensors", false, read_tensors};
