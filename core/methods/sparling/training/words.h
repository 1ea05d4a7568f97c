/* The search for words that are enriched in training samples: what words.c and misread.c share. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_WORDS_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_WORDS_H

#include "core/methods/sparling/config.h"
#include "core/genomics/matrices/enriched_motif.h"

/* Turns one-hot planes, [BASES][cols], into bases. If all planes are equal at a position, the base is unknown. */
void words_bases(const float *planes, int cols, unsigned char *base);
/* Largest width of a motif. */
int words_width(const struct sparling_config *config);
/* Searches for a motif with enriched_motif_find(), which also describes the arguments. *found is false if no motif is
 * significant. */
enum status words_search(const struct enriched_set *set, struct position_matrix *out, struct enriched_site *site,
                         int *sites, bool *found, struct error *err);

#endif
