/* Changes samples that are sequences of letters during training.
 *
 * replace_letters and drop_letters: with few training samples, a model learns them by heart. Here each sample gets some
 * random letters, and loses some, each time it is drawn. The model must then rely on motifs, which a few wrong letters
 * do not hide.
 *
 * The other strand: a sample that is read from the other strand has its motifs in reverse order. If labels list
 * names by position, the label must be reversed as well. If labels list names alphabetically, it must not. */
#include "core/methods/sparling/domains/dataset_letters.h"

#include <stdlib.h>

#include "core/base/random/philox.h"

enum { STREAM_REPLACE = 0x7265706C };

bool dataset_in_letters(const struct collection *c, const struct collection_moments *m)
{
    return c->kind == COLLECTION_TEXTS || (c->rows == 1 && c->channels > 1 && m->min >= 0 && m->max <= 1 &&
                                           m->sum == m->squares && m->sum <= (double)m->count / c->channels);
}

bool dataset_has_letters(const struct collection *c, const struct collection_moments *m)
{
    const double least = 0.9; /* minimum share of the positions that have a letter */
    return dataset_in_letters(c, m) &&
           (c->kind == COLLECTION_TEXTS || m->sum >= least * (double)m->count / c->channels);
}

void dataset_change_letters(float *planes, const struct domain_shape *shape, int64_t length,
                            const struct letter_changes *changes, int64_t seed, int64_t index)
{
    struct philox from = philox_stream((uint64_t)seed, STREAM_REPLACE, (uint64_t)index);
    for (int64_t i = 0; i < length; i++) {
        double drawn = (double)philox_u32(&from, (uint64_t)(2 * i)) / 4294967296.0;
        if (drawn >= changes->replaced + changes->dropped)
            continue;
        bool drops = drawn >= changes->replaced;
        int letter = drops ? -1 : (int)(philox_u32(&from, (uint64_t)(2 * i + 1)) % (uint32_t)domain_planes_read(shape));
        if (shape->words > 0)
            planes[i] = (float)(letter + 1);
        for (int c = 0; shape->words == 0 && c < shape->channels; c++)
            planes[(ptrdiff_t)c * shape->cols + i] = c == letter ? 1 : 0;
    }
}

/* Notes the order of each pair of names in a label. seen: [names][names]. Returns false if the labels so far have a
 * pair of names in both orders. */
static bool same_order(const int32_t *label, int length, bool *seen, size_t names)
{
    for (int later = 1; later < length; later++) {
        for (int i = 0; i < later; i++) {
            size_t a = (size_t)label[i], b = (size_t)label[later];
            if (a != b && seen[b * names + a])
                return false;
            seen[a * names + b] = true;
        }
    }
    return true;
}

enum status dataset_order_follows_positions(const struct collection *c, bool *follows, struct error *err)
{
    size_t names = (size_t)c->vocabulary.count;
    bool *seen = calloc(names * names + 1, sizeof *seen);
    if (!seen)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the order of %zu names", names);
    *follows = false;
    for (int64_t i = 0; i < c->count && !*follows; i++) {
        const int32_t *label;
        int length = collection_labels(c, i, &label);
        *follows = !same_order(label, length, seen, names);
    }
    free(seen);
    return STATUS_OK;
}
