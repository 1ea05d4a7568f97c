/* Reads and writes files of motifs. The formats that are written: MEME's minimal format and JASPAR's matrices of
 * counts.
 *
 * MEME minimal format, version 4, has a header with the alphabet, strands and background, and for each motif a line
 * "MOTIF ID NAME", a line "letter-probability matrix: alength= 4 w= W nsites= N E= E", and one row for each position
 * with the probabilities of A, C, G and T, or U for RNA. */
#ifndef MOTIF_CORE_GENOMICS_FILES_MOTIF_FILE_H
#define MOTIF_CORE_GENOMICS_FILES_MOTIF_FILE_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/data/alphabet.h"
#include "core/genomics/genomics.h"
#include "core/genomics/matrices/position_matrix.h"

/* Reads files of DNA or RNA motifs: MEME's minimal format and the formats that extend it, and JASPAR's matrices of
 * counts. A file whose first character is '>' is JASPAR's.
 *
 * MEME: "MEME version 4", optional lines about alphabet, strands and background, and for each motif a line
 * "MOTIF ID [NAME]", a line "letter-probability matrix: [alength= 4] [w= W] [nsites= N] [E= E]" and W rows of four
 * probabilities. A matrix ends after W rows or at the first line that is no row. Other lines (URL, log-odds matrices,
 * comments) are skipped. JASPAR: ">ID [NAME]" and four rows of counts, with or without brackets. Rows with letters may
 * have any order; without letters, they are those of A, C, G and T. Columns are divided by their sums. A matrix without
 * letters is transposed, as HOCOMOCO and HOMER write it, if it has more than four rows of four numbers, or if it has
 * four such rows and the sums of its rows are equal, but not those of its columns (within 1 %). A motif with an empty
 * column is left out. Read-only once parsed: any number of threads. */

struct motif_text_entry {
    char id[MOTIF_TEXT_NAME], name[MOTIF_TEXT_NAME]; /* name: the second word; "": none */
    int first, width; /* rows [first, first + width) of `row`; width in [1, MOTIF_TEXT_WIDTH] */
    double sites;     /* number of sites: nsites (20 if absent), or the largest sum of a column of counts */
};
/* How many motifs something happened to, and the first of them. */
struct motif_text_notice {
    int motifs;
    char first[MOTIF_TEXT_NAME];
};
struct motif_text {
    int motifs, rows;
    struct motif_text_notice turned, empty; /* matrices that were transposed; motifs that were left out */
    struct motif_text_entry *motif;
    double (*row)[4]; /* probabilities of A, C, G, T; each sum is 1 */
};

/* Parses a whole file; the caller calls motif_text_close(). Messages name the line. STATUS_INVALID: no motif, or none
 * without an empty column, two motifs with one id, an alphabet that is not of four letters, a row that is no
 * distribution. STATUS_LIMIT: too many motifs, a motif that is too wide, a name that is too long. After an error *out
 * is zeroed. */
enum status motif_text_parse(const char *text, size_t size, struct motif_text *out, struct error *err);
void motif_text_close(struct motif_text *motifs); /* a zeroed struct is allowed */

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
