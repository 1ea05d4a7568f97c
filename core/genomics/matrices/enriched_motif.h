/* Finds motifs that are enriched in some sequences, compared with others, by the method of STREME (Bailey 2021,
 * "STREME: accurate and versatile sequence motif discovery", Bioinformatics 37(18)): count words, turn the most
 * enriched ones into matrices, keep the best matrix, erase its sites, and repeat. */
#ifndef MOTIF_CORE_GENOMICS_MATRICES_ENRICHED_MOTIF_H
#define MOTIF_CORE_GENOMICS_MATRICES_ENRICHED_MOTIF_H

#include <stdint.h>

#include "core/genomics/matrices/position_matrix.h"

/* Sequence i is base[first[i] ... first[i + 1]), with the values for bases that position_matrix.h defines. Erased bases
 * are BASE_UNKNOWN. */
struct enriched_set {
    int sequences;
    const int64_t *first;
    unsigned char *base;
    const bool *with; /* [sequences] true: motifs must be enriched in this sequence; false: it serves for comparison */
    bool both_strands;
    int width; /* largest width of a matrix, in [6, MATRIX_WIDTH - 20] */
};

/* The best site of a motif in a sequence. */
struct enriched_site {
    int sequence;
    int64_t at;   /* index of its first base in enriched_set.base */
    bool reverse; /* whether it lies on the other strand */
};

/* Finds the most enriched motif and erases its sites in all sequences. *p: p-value of Fisher's exact test for sequences
 * with a site, not corrected for the search. site: [sequences] receives the best site of each sequence that has one,
 * in the order of falling scores; *sites: their number. Both may be NULL. The result is the same for the same sequences
 * on every machine. STATUS_NOT_FOUND: no word is enriched. STATUS_NO_MEMORY. */
enum status enriched_motif_find(const struct enriched_set *set, struct position_matrix *out, double *p,
                                struct enriched_site *site, int *sites, struct error *err);

#endif
