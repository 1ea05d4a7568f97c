/* The constants of SPARLING's Motif Identifiability Theorem (section 3, Appendices B.3 and D) for motifs on a line.
 *
 * The theorem: given the density of the true motifs, an end-to-end error below epsilon makes E_m (motif_errors.h) less
 * than k epsilon. alpha is the share of the data that a wrong motif must spoil. A random process pairs motif patterns
 * m1 with patterns m2 that have another label, so that no m2 is used more often than it occurs; alpha is the share of
 * the data that gets a partner. There are two kinds of pairs: one motif is deleted, or one motif becomes another.
 *
 * The line (footnote 5, as the authors compute it): `slots` places; motifs are at least `spacing` apart; all sets of n
 * places are equally likely, and so are all assignments of symbols to them. The process picks one of the motifs that it
 * may change with equal probability, and gives up where the result would be used too often. Functions keep no state. */
#ifndef MOTIF_CORE_METRICS_IMPORTANCE_H
#define MOTIF_CORE_METRICS_IMPORTANCE_H

#include <stdbool.h>

#include "core/base/error.h"

enum { IMPORTANCE_MOST = 64 };

struct importance_line {
    int slots, spacing;  /* [1, 256], [1, slots] */
    int most;            /* most motifs of a pattern, [1, IMPORTANCE_MOST] */
    const double *share; /* [most + 1] share of the patterns with n motifs; they sum to 1 */
    int symbols;         /* at least 1 */
    bool distinct;       /* no symbol occurs twice in a pattern; otherwise symbols are drawn independently */
    int picks;           /* deletion: the process picks one of this many (the authors: 5); 0: one of those present */
};

struct importance {
    double deletion; /* alpha if any motif may be deleted: there is only one kind of motif (section 3.3) */
    double symbol;   /* alpha if the deleted motif must have a given symbol; equal for all symbols (Appendix B.3) */
    double exchange; /* alpha if a given symbol becomes another given symbol */
};

/* Computes alpha. STATUS_INVALID: a value is out of its range, or patterns have more motifs than fit on the line. */
enum status importance_of(const struct importance_line *line, struct importance *out, struct error *err);

/* k = 16 most^2 cell n (n - 1) / (mean alpha^2) (Appendix D.3; without n (n - 1) for a single kind of motif). most,
 * mean: motifs of a sample; cell: positions of the map within a motif's cell, |Delta|; symbols: n. Infinite if alpha is
 * 0. */
double importance_constant(double most, double mean, double cell, int symbols, double alpha);

#endif
