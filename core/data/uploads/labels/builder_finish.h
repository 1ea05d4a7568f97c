/* The end of a collection, when all samples were added to its builder. */
#ifndef MOTIF_CORE_DATA_UPLOADS_LABELS_BUILDER_FINISH_H
#define MOTIF_CORE_DATA_UPLOADS_LABELS_BUILDER_FINISH_H

#include "core/data/uploads/collection_build.h"

/* Leaves out samples without a label, if the user wants that, reads the texts of labels, sorts the vocabulary and the
 * label sets, determines the target, sorts the boxes by sample, and checks the boxes. The target is c->target if that
 * is set, else the target that the user wants, if any. Otherwise it is NONE without labels, LABELS if `set` or if the
 * texts are sets, CLASS if every sample has one token, and SEQUENCE in all other cases. Groups that are named train,
 * validation or test, at least two of them, are the parts that the file states, and no groups. STATUS_INVALID: the
 * labels do not fit what the user wants. */
enum status builder_finish(struct builder *b, bool set, struct error *err);

#endif
