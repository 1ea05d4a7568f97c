/* The search for words that are enriched in training samples: what enriched_filters.c, missed_motifs.c
 * and matrix_fit.c share. */
#ifndef MOTIF_CORE_METHODS_SPARLING_GENOMICS_ENRICHED_FILTERS_H
#define MOTIF_CORE_METHODS_SPARLING_GENOMICS_ENRICHED_FILTERS_H

#include "core/genomics/matrices/enriched_motif.h"
#include "core/methods/sparling/config.h"

struct method_run;
struct misread;

/* Turns one-hot planes, [BASES][cols], into bases. If all planes are equal at a position, the base is unknown. */
void words_bases(const float *planes, int cols, unsigned char *base);
/* Largest width of a motif. */
int words_width(const struct sparling_config *config);
/* Searches for a motif with enriched_motif_find(), which also describes the arguments. *found is false if no motif is
 * significant. */
enum status words_search(const struct enriched_set *set, struct position_matrix *out, struct enriched_site *site,
                         int *sites, bool *found, struct error *err);

/* Computes the filters of the motifs that are enriched in training samples, as motif_start_filters() does for known
 * motifs. Errors: STATUS_NO_MEMORY, and those of the domain. */
enum status words_filters(struct method_run *run, float *filter, int *count, struct error *err);
/* Searches the samples of the probes (training/prototype.h) for motifs of a name that g misses. Finds none if the
 * configuration does not set motif_start_words. The caller calls misread_close(), also after a failure. Errors:
 * STATUS_NO_MEMORY, and those of the computation. */
enum status misread_search(struct method_run *run, int name, struct misread *out, struct error *err);

#endif
