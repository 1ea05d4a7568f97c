/* Changes of the names of labels that the user asks for: different spellings become one name (fold_names), and one name
 * becomes the empty label (absent). */
#ifndef MOTIF_CORE_DATA_UPLOADS_LABELS_LABEL_NAMES_H
#define MOTIF_CORE_DATA_UPLOADS_LABELS_LABEL_NAMES_H

#include "core/data/uploads/collection_build.h"

/* Applies the options, and refers boxes to names instead of symbols. Call it when all samples have their labels, and
 * before the vocabulary is sorted. If `absent` takes the only name from samples of one class, *set becomes true, and
 * the target becomes sets. Adds warnings: names that differ only in their spelling, and what the options have changed.
 * STATUS_INVALID: no label has the name `absent`, or no other name is left; a box has a symbol that no label has. */
enum status label_names_settle(struct builder *b, bool *set, struct error *err);

#endif
