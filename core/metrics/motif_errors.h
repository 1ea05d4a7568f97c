/* How well the active motifs of a map mark the true symbols: false negatives, false positives,
 * confusion (SPARLING, Appendix C), counted in two ways.
 *
 * BOXES, the form behind the published figures. Boxes are visited in order. The strongest motif
 * inside a box is its prediction (or none), and every motif inside it is used up, so an earlier box
 * wins where two overlap. Motifs in no box are false positives, one each.
 *
 * WINDOWS, the form of the paper's text. A symbol's cell is everything within `reach` of its point
 * (footprint overlap: twice the receptive field's radius, 16 for a 17x17 window). A motif belongs to
 * the cell whose point is nearest (the first on ties); the strongest of a cell is its prediction.
 * A symbol is missed when no motif at all lies in its cell, even one that belongs to another; false
 * positives are measured against all motifs, the weaker ones of a cell included.
 *
 * Both work on a list of active motifs: a motif map has few. A struct motif_errors sums over samples;
 * parts summed apart are joined with motif_errors_merge() and give the same figures in any order.
 * One thread at a time. */
#ifndef MOTIF_CORE_METRICS_MOTIF_ERRORS_H
#define MOTIF_CORE_METRICS_MOTIF_ERRORS_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/data/box.h"

/* An active element of a motif map: value > 0. */
struct motif {
    int row, col, channel;
    float value;
};

enum { MOTIF_COUNTS = 64 };
struct motif_errors {
    int symbols, channels;
    int reach;       /* of WINDOWS */
    int64_t samples; /* pictures counted */
    int64_t motifs;  /* active elements in all of them */
    /* [symbols + 1][channels + 1], rows true, columns predicted; the last row and column are "none". */
    int64_t *boxes;
    int64_t *windows; /* without the weaker motifs of a cell; a missed symbol has its row's last column */
    int64_t *lone;    /* of `boxes`, those that hold one motif only */
    int64_t weaker;   /* WINDOWS: motifs in a cell that were not its strongest */
    int64_t taken;    /* WINDOWS: symbols whose only motifs belonged to other cells (neither hit nor missed) */
    int64_t counts[MOTIF_COUNTS + 1]; /* samples with so many boxes; the last with that many or more */
    int64_t most;                     /* boxes of a sample */
    int64_t crowded; /* samples with two boxes whose windows meet: what the paper's NON-OVERLAPPING excludes */
    int *owner;      /* scratch: a motif's box */
    int owner_room;
};

/* All shares in [0, 1]; NaN where nothing was counted that they could be a share of.
 *   fne = misses / truths
 *   fpe = false_positives / predictions; predictions are hits and false positives, in WINDOWS all motifs
 *   ce  = share of hits whose channel does not stand for the symbol */
struct motif_report {
    double fne, fpe;
    double ce_assignment; /* best one-to-one matching of channels to symbols */
    double ce_majority;   /* each channel means the symbol it most often marks */
    int64_t truths, hits, misses, predictions, false_positives;
};

enum motif_form { MOTIF_BOXES, MOTIF_WINDOWS };

/* symbols, channels in [1, 4096]. */
enum status motif_errors_init(struct motif_errors *errors, int symbols, int channels, int reach, struct error *err);
void motif_errors_close(struct motif_errors *errors);
void motif_errors_clear(struct motif_errors *errors);

/* One sample. motifs[] in any order: of equal values the lower channel is the stronger, then the
 * lower row and column. Values that are not above 0 are ignored. STATUS_INVALID for a symbol or
 * channel out of range, STATUS_NO_MEMORY; nothing is counted then. */
enum status motif_errors_add(struct motif_errors *errors, const struct motif *motifs, int motif_count,
                             const struct box *boxes, int box_count, struct error *err);
/* The same from a dense map [channels][rows][cols]. */
enum status motif_errors_add_map(struct motif_errors *errors, const float *map, int rows, int cols,
                                 const struct box *boxes, int box_count, struct error *err);
/* Adds the counts of another with the same symbols, channels and reach (STATUS_INVALID if not). */
enum status motif_errors_merge(struct motif_errors *into, const struct motif_errors *from, struct error *err);

/* Counts what was true of `symbol` as of none: its hits become false positives, its misses are forgotten. Of motifs
 * that are trivial to find and shall not count (SPARLING, Appendix L: the splice sites themselves). */
void motif_errors_fold(struct motif_errors *errors, int symbol);

/* Active elements of a dense map [channels][rows][cols] in scan order, at most `room`; returns how
 * many there are. */
int motif_scan(const float *map, int channels, int rows, int cols, struct motif *out, int room);

/* E_m, the error of the paper's proof (§3.2, Appendix B), with boxes for cells: 1 less the true symbols whose box holds
 * exactly one motif, of a channel that stands for the symbol, as a share of the motifs or of the truths, whichever are
 * more. Each channel stands for the symbol that serves it best. NaN with neither. At equal numbers of motifs and truths
 * FNE and FPE are at most E_m, and the CE by majority at most twice E_m (Appendix E). */
double motif_errors_proof(const struct motif_errors *errors);

enum status motif_errors_report(const struct motif_errors *errors, enum motif_form form, struct motif_report *out,
                                struct error *err);

/* symbol_of: [channels], the symbol that each channel stands for: by the best one-to-one matching
 * (-1 where it has none), or by majority (-1 for a channel that never marks a symbol). */
enum status motif_errors_assign(const struct motif_errors *errors, enum motif_form form, int *symbol_of,
                                struct error *err);
void motif_errors_majority(const struct motif_errors *errors, enum motif_form form, int *symbol_of);

#endif
