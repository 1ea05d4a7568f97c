/* Position matrices: how often each base occurs at each position of a motif of DNA or RNA; their similarity, and the
 * placement of a matrix on a sequence.
 *
 * Bases have the numbers 0 to 3 for A, C, G and T (or U). The number BASE_UNKNOWN stands for any other letter and for
 * positions outside of a sequence; it is never counted. */
#ifndef MOTIF_CORE_GENOMICS_MATRICES_POSITION_MATRIX_H
#define MOTIF_CORE_GENOMICS_MATRICES_POSITION_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

enum { BASES = 4, BASE_UNKNOWN = 4, MATRIX_WIDTH = 100 };

struct position_matrix {
    int width;                         /* number of positions in [0, MATRIX_WIDTH] */
    double count[MATRIX_WIDTH][BASES]; /* number of sites with each base; can be fractions */
    int sites;                         /* number of aligned sites */
};

/* Writes the probability of each base at a position, with `pseudo` observations added in the proportions of
 * `background` (all of its entries are above 0). */
void position_matrix_column(const struct position_matrix *m, int position, const double background[BASES],
                            double pseudo, double probability[BASES]);

/* Writes ratio: [m->width][BASES], the logarithm of each probability of position_matrix_column() divided by the
 * background. */
void position_matrix_ratios(const struct position_matrix *m, const double background[BASES], double pseudo,
                            double (*ratio)[BASES]);

/* Information of a position in bits, between 0 and 2: 2 + sum of p log2 p, less the correction 3 / (2 ln 2 n) for the n
 * counted bases of the position (Schneider et al. 1986), and 0 where the correction is larger. */
double position_matrix_information(const struct position_matrix *m, int position);

/* Replaces the matrix by that of the other strand. */
void position_matrix_reverse(struct position_matrix *m);
/* Removes positions from both ends until both end positions have at least `least` bits. If an end position has less
 * than 2.5 times `least` bits, one of the next two positions must also have at least `least`. Without this rule,
 * matrices of palindromes would keep uninformative ends: their alignment chooses the strand by chance agreements beside
 * the motif, and these look like information. The width can become 0. Returns the number of positions that were removed
 * on the left. */
int position_matrix_trim(struct position_matrix *m, double least);

/* Windows of sequences around the places that a detector marked. */
struct site_windows {
    int count, width;          /* count: number of windows; width: number of positions in each */
    const unsigned char *base; /* [count][width], each 0 to BASE_UNKNOWN */
};
struct site_placement {
    int first;    /* the matrix begins at this position of the window; it can be below 0 */
    bool reverse; /* the site is on the other strand, and `first` is the position of the matrix's last column */
};

/* Aligns the windows and counts their bases. A detector marks a motif a few positions beside its centre, and a motif
 * can be on either strand. So each window is shifted by at most `shift` positions and, with both_strands, read on the
 * strand on which it fits better.
 *
 * The alignment begins with a word that occurs in more windows than expected. It places each window where its
 * log-likelihood ratio to the windows' own composition is largest, counts again, and repeats until no window moves, at
 * most 20 times. It tries the best five words and keeps the alignment with the largest sum of these ratios.
 *
 * width: positions of the matrix, in [1, MATRIX_WIDTH]; those beyond a window are not counted. placement: [count], or
 * NULL. The result is the same for the same windows on every machine. STATUS_NO_MEMORY. STATUS_NOT_FOUND: the windows
 * have no word of six known bases. */
enum status position_matrix_align(const struct site_windows *windows, int width, int shift, bool both_strands,
                                  struct position_matrix *out, struct site_placement *placement, struct error *err);

/* One-sided p-value of Fisher's exact test. Of `all` sequences, `labelled` have a label and `sites` have a site.
 * Returns the probability that by chance at least `both` sequences have the label and a site. */
double position_fisher(int all, int labelled, int sites, int both);

/* Measures whether two matrices describe the same motif. */

/* The largest Pearson correlation of the probabilities of all aligned positions: over all offsets and, with
 * both_strands, over both strands. At least five positions and three quarters of the narrower matrix must be aligned.
 * -1 if a matrix has fewer than five positions. */
double motif_similarity(const struct position_matrix *one, const struct position_matrix *two, bool both_strands);

/* Places a position matrix on a sequence: the start and the strand of a site near a position that a detector marked. */

/* Logarithms of the ratio of a matrix to the background. */
struct site_ratios {
    int width;
    double ratio[MATRIX_WIDTH][BASES];
};
/* Computes the ratios, with one pseudo-count added to each column of the matrix. */
void site_ratios_make(const struct position_matrix *m, const double background[BASES], struct site_ratios *out);

/* Finds the placement whose sum of ratios is largest, among those whose middle is at most `shift` positions from
 * `middle` and that lie inside the sequence. base: [count], 0 to BASE_UNKNOWN, which adds 0 to a sum. Returns false if
 * there is no such placement. */
bool site_place(const struct site_ratios *ratios, const unsigned char *base, int count, int middle, int shift,
                bool both_strands, struct site_placement *out);

#endif
