/* The constants of SPARLING's Motif Identifiability Theorem (section 3, Appendices B.3 and D) for motifs on a line.
 *
 * The theorem: with the density of the true motifs, an end-to-end error below epsilon makes E_m (motif_errors.h) less
 * than k epsilon. alpha says how much of the data a wrong motif must spoil: motif patterns are paired with patterns
 * that read differently, m2 with m1 by a random process, such that no m2 is met more often than it occurs by itself;
 * alpha is the share of the data for which a partner is left. Two kinds of pairs are asked for: one motif deleted, and
 * one motif made another.
 *
 * The line (footnote 5, in the authors' computation): `slots` places, motifs at least `spacing` apart, every set of n
 * places equally likely, and so every way of naming them with symbols. The process picks one of the motifs that it may
 * change, all alike, and gives up where the result would be met too often. Pure functions; any thread. */
#ifndef MOTIF_CORE_METRICS_IMPORTANCE_H
#define MOTIF_CORE_METRICS_IMPORTANCE_H

#include <stdbool.h>

#include "core/base/error.h"

enum { IMPORTANCE_MOST = 64 };

struct importance_line {
    int slots, spacing;  /* [1, 256], [1, slots] */
    int most;            /* motifs of a pattern, [1, IMPORTANCE_MOST] */
    const double *share; /* [most + 1] of the patterns that have n motifs; they sum to 1 */
    int symbols;         /* at least 1 */
    bool distinct;       /* no symbol twice in a pattern; else each motif's symbol is drawn by itself */
    int picks; /* deletion: one of so many is picked, as the authors have it (5); 0: of those that are there */
};

struct importance {
    double deletion; /* alpha where any motif may be deleted: one kind of motif only (section 3.3) */
    double symbol;   /* where it must be one of a given symbol; all symbols are alike (Appendix B.3) */
    double exchange; /* where a given symbol becomes another given one */
};

/* STATUS_INVALID for a line that is none, or patterns with more motifs than fit on it. */
enum status importance_of(const struct importance_line *line, struct importance *out, struct error *err);

/* k = 16 most^2 cell n (n - 1) / (mean alpha^2) (Appendix D.3; of a single kind of motif n (n - 1) is left out). most,
 * mean: motifs of a sample; cell: positions of the map within a motif's cell, |Delta|; symbols: n. Infinite where alpha
 * is 0. */
double importance_constant(double most, double mean, double cell, int symbols, double alpha);

#endif
