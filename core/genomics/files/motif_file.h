/* Writes files of motifs: MEME's minimal format and JASPAR's matrices of counts.
 *
 * MEME minimal format, version 4, has a header with the alphabet, strands and background, and for each motif a line
 * "MOTIF ID NAME", a line "letter-probability matrix: alength= 4 w= W nsites= N E= E", and one row for each position
 * with the probabilities of A, C, G and T, or U for RNA. */
#ifndef MOTIF_CORE_GENOMICS_FILES_MOTIF_FILE_H
#define MOTIF_CORE_GENOMICS_FILES_MOTIF_FILE_H

#include "core/base/buf.h"
#include "core/data/alphabet.h"
#include "core/genomics/matrices/position_matrix.h"

enum { MOTIF_ID = 64, MOTIF_NAME = 64 };
struct named_motif {
    char id[MOTIF_ID];     /* unique in a file */
    char name[MOTIF_NAME]; /* "": none */
    struct position_matrix matrix;
    double evalue; /* number of equally good motifs that are expected by chance; NaN: unknown */
};

/* Write `count` motifs and leave out those of width 0. Characters of ids and names that the formats do not allow
 * (blanks, '=', control characters) become '_'. `alphabet` is that of DNA or RNA: the MEME format contains its letters
 * and the strands on which motifs can be. JASPAR's format has the row T for RNA too. If `out` cannot grow, out->failed
 * is set. */
void motif_file_meme(const struct named_motif *motifs, int count, const double background[BASES],
                     const struct alphabet *alphabet, struct buf *out);
void motif_file_jaspar(const struct named_motif *motifs, int count, struct buf *out);

#endif
