/* The constants of SPARLING's Motif Identifiability Theorem (section 3, Appendices B.3 and D) for motifs on a line.
 *
 * The theorem: given the density of the true motifs, an end-to-end error below epsilon makes E_m (motif_errors.h) less
 * than k epsilon. The constant k depends on a share alpha: a motif that the model marks wrongly must make the answers
 * wrong for at least the share alpha of the data.
 *
 * Alpha is computed from a random process, which makes from a motif pattern m1 a pattern m2 with another label. It
 * deletes a motif of m1, or exchanges a motif's symbol for another; it picks one of the motifs that it may change with
 * equal probability. m2 is then the partner of m1, unless it has already been used as often as it occurs in the data.
 * Alpha is the share of the data that gets a partner.
 *
 * The line (footnote 5, as the authors compute it) has `slots` places, and motifs are at least `spacing` places apart.
 * All sets of n places are equally likely, and so are all assignments of symbols to them. Functions keep no state. */
#ifndef MOTIF_CORE_METRICS_IMPORTANCE_H
#define MOTIF_CORE_METRICS_IMPORTANCE_H

#include <stdbool.h>

#include "core/base/error.h"

enum { IMPORTANCE_MOST = 64 };

struct importance_line {
    /* slots: number of places, in [1, 256]; spacing: least distance between motifs, in [1, slots] */
    int slots, spacing;
    int most;            /* maximum number of motifs of a pattern, in [1, IMPORTANCE_MOST] */
    const double *share; /* [most + 1] share[n] is the share of the patterns that have n motifs; the shares sum to 1 */
    int symbols;         /* number of symbols, at least 1 */
    bool distinct;       /* no symbol occurs twice in a pattern; otherwise symbols are drawn independently */
    int picks; /* a deletion picks a given motif with probability 1 / picks (the authors: 5); 0: 1 / (number of
                * motifs) */
};

struct importance {
    double deletion; /* alpha if any motif may be deleted, because there is only one kind of motif (section 3.3) */
    double symbol;   /* alpha if the deleted motif must have a given symbol; equal for all symbols (Appendix B.3) */
    double exchange; /* alpha if a given symbol becomes another given symbol */
};

/* Computes alpha. STATUS_INVALID: a value is out of its range, or patterns have more motifs than fit on the line. */
enum status importance_of(const struct importance_line *line, struct importance *out, struct error *err);

/* The constant of the theorem (Appendix D.3):
 *     k = 16 most^2 cell n (n - 1) / (mean alpha^2), without n (n - 1) if n is 1
 * most, mean: maximum and mean number of motifs of a sample. cell: number of positions of the map in a motif's cell
 * (|Delta| in the paper). symbols: n. The result is infinite if alpha is 0. */
double importance_constant(double most, double mean, double cell, int symbols, double alpha);

#endif
