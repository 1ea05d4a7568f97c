/* Edits of a motif map between g and h. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_INTERVENTION_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_INTERVENTION_H

#include "core/methods/method.h"
#include "core/methods/sparling/queries/annotation.h"

/* Applies the edits of `input` to `planes`, [channels][rows][cols], the map of `annotation`. With keep_maximal, motifs
 * near a stronger one are removed first. All edits then apply to that map at once, so no edit sees the result of
 * another. When two motifs arrive at one position, the stronger stays. Errors: STATUS_INVALID with a pointer into the
 * input ("/edits/0/position"), STATUS_NO_MEMORY. */
enum status intervention_apply(const struct annotation *annotation, const struct method_input *input, float *planes,
                               struct error *err);

#endif
