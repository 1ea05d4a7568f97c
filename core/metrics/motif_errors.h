/* How well the active motifs of a map mark the true symbols: false negatives, false positives and confusion (SPARLING,
 * Appendix C), counted in two forms.
 *
 * BOXES is the form of the published figures. It visits the boxes in order. The strongest motif inside a box is the
 * box's prediction (or none). All motifs inside the box are then used up, so the earlier of two overlapping boxes wins.
 * Each motif that is in no box is one false positive.
 *
 * WINDOWS is the form of the paper's text. A symbol's cell contains everything within `reach` of the symbol's point.
 * The reach is twice the radius of the receptive field (16 for a 17x17 window), so that a motif in the cell has a
 * footprint that overlaps the symbol's. A motif in several cells belongs to the one whose point is nearest (the first
 * on ties). The strongest motif of a cell is the cell's prediction. A symbol is missed if its cell contains no motif,
 * not even a motif that belongs to another cell. The false positive error is a share of all motifs, including those
 * that are not the strongest of their cell.
 *
 * Both forms work on lists of active motifs, because a motif map has few. A struct motif_errors sums over samples. The
 * figures are the same in any order. One thread at a time. */
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
    int reach;       /* WINDOWS: largest distance in positions between a symbol's point and the motifs of its cell */
    int64_t samples; /* samples added */
    int64_t motifs;  /* number of active elements of all samples */
    /* confusion matrix of the form BOXES: [symbols + 1][channels + 1], rows true, columns predicted; the last row
     * and column are "none" */
    int64_t *boxes;
    /* Confusion matrix of the form WINDOWS, of the same size. It does not count the weaker motifs of a cell. Missed
     * symbols are in the last column. */
    int64_t *windows;
    int64_t *lone;  /* the part of `boxes` that comes from boxes with exactly one motif */
    int64_t weaker; /* WINDOWS: motifs that were not the strongest of their cell */
    int64_t taken;  /* WINDOWS: symbols that count neither as hits nor as misses. The cell of such a symbol contains
                       motifs, but each of them is nearer to the point of another symbol, whose cell contains it too */
    /* counts[n]: samples with n boxes; the last entry counts samples with MOTIF_COUNTS or more */
    int64_t counts[MOTIF_COUNTS + 1];
    int64_t most; /* largest number of boxes of a sample */
    /* samples with two boxes whose windows overlap; the paper's assumption NON-OVERLAPPING excludes them */
    int64_t crowded;
    int *owner; /* scratch: the box of each motif */
    int owner_room;
};

/* Shares in [0, 1]; NaN where the denominator is 0.
 *   fne = misses / truths
 *   fpe = false_positives / predictions; predictions: hits plus false positives, in the form WINDOWS all motifs
 *   ce  = share of hits whose channel does not represent the symbol */
struct motif_report {
    double fne, fpe;
    double ce_assignment; /* ce if the best one-to-one matching decides which symbol a channel represents */
    double ce_majority;   /* ce if each channel represents the symbol that it marks most often */
    int64_t truths, hits, misses, predictions, false_positives;
};

enum motif_form { MOTIF_BOXES, MOTIF_WINDOWS };

/* Prepares counts without samples; symbols and channels in [1, 4096]. The caller calls motif_errors_close().
 * motif_errors_clear() sets all counts to zero. */
enum status motif_errors_init(struct motif_errors *errors, int symbols, int channels, int reach, struct error *err);
void motif_errors_close(struct motif_errors *errors);
void motif_errors_clear(struct motif_errors *errors);

/* Adds one sample. motifs: [motif_count] in any order. Of two motifs, the one with the larger value is the stronger; if
 * the values are equal, the one with the lower channel, then the lower row, then the lower column. Values that are not
 * above 0 are ignored. STATUS_INVALID: a symbol or channel is out of range. After an error nothing was counted. */
enum status motif_errors_add(struct motif_errors *errors, const struct motif *motifs, int motif_count,
                             const struct box *boxes, int box_count, struct error *err);
/* Adds one sample from a dense map: [channels][rows][cols]. Errors as for motif_errors_add(). */
enum status motif_errors_add_map(struct motif_errors *errors, const float *map, int rows, int cols,
                                 const struct box *boxes, int box_count, struct error *err);

/* Removes the boxes of `symbol` from the counts: a motif in such a box becomes a false positive, and a box without a
 * motif is no false negative. The caller uses this for symbols that are trivial to find (SPARLING, Appendix L: the
 * splice sites themselves). */
void motif_errors_fold(struct motif_errors *errors, int symbol);

/* Lists the active elements of a dense map: [channels][rows][cols] in scan order. Writes at most `room` of them and
 * returns the number of all. */
int motif_scan(const float *map, int channels, int rows, int cols, struct motif *out, int room);

/* E_m, the error of the paper's proof (section 3.2, Appendix B), with boxes as cells: 1 - c / max(motifs, truths). c is
 * the number of true symbols whose box contains exactly one motif, from a channel that represents the symbol. Channels
 * represent the symbols that make c largest. NaN without motifs and truths. If motifs and truths are equally many, FNE
 * and FPE are at most E_m, and the CE by majority is at most twice E_m (Appendix E). */
double motif_errors_proof(const struct motif_errors *errors);

/* Computes the report of one form. */
enum status motif_errors_report(const struct motif_errors *errors, enum motif_form form, struct motif_report *out,
                                struct error *err);

/* Writes to symbol_of: [channels] the symbol that each channel marks most often; -1 for a channel that marks no
 * symbol. */
void motif_errors_majority(const struct motif_errors *errors, enum motif_form form, int *symbol_of);

#endif
