/* Grows the extents of channels over what the inputs around their motifs have in common. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_EXTENTS_GROW_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_EXTENTS_GROW_H

#include "core/methods/sparling/evaluation/extents.h"

/* Grows the extent of a channel over the part of the input that is alike around its motifs. found: [count] training
 * samples and positions. Errors: STATUS_NO_MEMORY, and those of the domain. */
enum status extents_grow(const struct method_run *run, const struct extent_candidate *found, int64_t count,
                         struct channel_extent *extent, struct error *err);

#endif
