/* Describes a collection to people: figures as JSON members, and a preview picture. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_SHOW_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_SHOW_H

#include "core/base/sink.h"
#include "core/data/uploads/collection.h"
#include "core/draw/picture.h"

/* Writes the members kind, target, samples, shape, lengths, values, vocabulary, columns, groups, boxes and warnings
 * into an object that the caller has opened. */
void collection_describe(const struct collection *c, const struct sink *out);
/* Draws the first samples: images side by side, sequences and recordings below each other, a table as a map of its
 * standardised columns. The caller destroys *picture. */
enum status collection_preview(const struct collection *c, struct picture **picture, struct error *err);

#endif
