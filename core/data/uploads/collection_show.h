/* What a collection holds, for people: figures, and a picture. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_SHOW_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_SHOW_H

#include "core/base/sink.h"
#include "core/data/uploads/collection.h"
#include "core/draw/picture.h"

/* Members of an object the caller has opened: kind, target, samples, shape, lengths, values, vocabulary, columns,
 * groups, boxes. */
void collection_describe(const struct collection *c, const struct sink *out);
/* The first samples: pictures side by side, sequences and recordings below each other, of a table standardised columns
 * as a map. */
enum status collection_preview(const struct collection *c, struct picture **picture, struct error *err);

#endif
