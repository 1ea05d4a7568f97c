/* Changes of a motif map between g and h, as a client asks for them. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_INTERVENTION_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_INTERVENTION_H

#include "core/methods/method.h"
#include "core/methods/sparling/queries/annotation.h"

/* planes: [channels][rows][cols], the map of `reading`. First, with keep_maximal, only motifs that no stronger one is
 * near stay; then all edits at once: what they name is taken out, and what they make of it put in, the strongest where
 * two meet. STATUS_INVALID with a pointer below the input ("/edits/0/position"). */
enum status intervention_apply(const struct annotation *annotation, const struct method_input *input, float *planes,
                               struct error *err);

#endif
