/* The scores of names: how strongly g expects each name in an input. The presence objective, with which g has learned
 * the names, gives these scores. Unlike the predicted label, the scores do not depend on which positions are above
 * their thresholds, so they rank inputs without ties. If the run found that motifs lie on either strand, a score is the
 * mean of both readings of the input. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_NAME_SCORES_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_NAME_SCORES_H

#include "core/methods/sparling/queries/query_model.h"

/* Reads from a checkpoint whether scores are the means of both strands. A checkpoint without this state, for example an
 * imported one, gives false. Errors: STATUS_CORRUPT, STATUS_NO_MEMORY. */
enum status name_scores_read(const struct snapshot_reader *from, bool *both_strands, struct error *err);
/* Writes the list `presence` of names and scores; nothing for a model without the presence objective. A score is the
 * logit of the name in the objective. The inquiry's map must have been computed. Fails like exec_status(). */
enum status name_scores_write(struct inquiry *inquiry, const struct sink *out, struct error *err);

#endif
