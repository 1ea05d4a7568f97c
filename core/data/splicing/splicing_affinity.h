/* What proteins bind: position-specific affinity matrices, several a protein, as RNA Bind-n-Seq gives them.
 *
 * The affinity of a protein for the bases around a position is
 *
 *     sum over its matrices m of (A0[m] / max A0) * product over columns of the entry of the base there / 0.2
 *
 * All matrices of a protein have the same number of columns (ones on both sides make up for it, the odd one on the
 * right). A window of w columns stands around its base (w - 1) / 2, rounded down. An unknown base, or none beyond the
 * ends of the sequence, counts as 1; where the base in the middle itself is unknown the affinity is 0.
 *
 * A protein binds where its affinity exceeds its threshold: one that is given, or a quantile of what it has on some
 * sequence (splicing_calibrate()). Read-only after that; any number of threads. */
#ifndef MOTIF_CORE_DATA_SPLICING_SPLICING_AFFINITY_H
#define MOTIF_CORE_DATA_SPLICING_SPLICING_AFFINITY_H

#include "core/base/error.h"
#include "core/data/splicing/splicing.h"

enum { AFFINITY_NAME = 32, AFFINITY_COLUMNS = 64, AFFINITY_MATRICES = 64, AFFINITY_PROTEINS = 512 };
enum { AFFINITY_FILE_BYTES = 1 << 20 };

struct affinity_matrix {
    double weight;                                  /* A0 / max A0 of its protein */
    double entry[AFFINITY_COLUMNS][SPLICING_BASES]; /* best base of a column about 1 */
};
struct affinity_protein {
    char name[AFFINITY_NAME];
    int columns, matrices;
    struct affinity_matrix *matrix; /* owned by the set */
    double threshold;               /* binds above this */
};
struct affinity_set {
    int proteins;
    struct affinity_protein *protein; /* in alphabetical order where they come from a folder */
};

void affinity_close(struct affinity_set *set); /* a zeroed set is fine */
/* Drops all but the first `proteins`. */
void affinity_keep(struct affinity_set *set, int proteins);

/* Adds a protein from the text of an RBNS file:
 *
 *     # comment                                (any number, anywhere)
 *     PSAM  A0=0.06 n=11 acc_k=11 ...          (n columns follow; names other than A0 and n are passed over)
 *     1.00000 0.82999 0.64232 0.75472 a        (A C G U and a letter that is passed over)
 *
 * The text is foreign: STATUS_INVALID names the line at fault, STATUS_LIMIT where there are too many columns, matrices
 * or proteins; the set is as before then. The threshold is 1, the affinity 0.2 before it is divided. */
enum status affinity_add_text(struct affinity_set *set, const char *name, const char *text, size_t size,
                              struct error *err);
/* All files NAME.txt of a folder, in alphabetical order. Messages name the file, never the folder. */
enum status affinity_add_folder(struct affinity_set *set, const char *folder, struct error *err);

/* A protein from consensus words: upper case is specific (the base's partner, A-G or C-T, has 0.1 and the others
 * 0.02), lower case soft (0.6 and 0.1). words: alike in length, weight 1, 0.6, 0.36, ... */
enum status affinity_add_words(struct affinity_set *set, const char *name, const char *const *words, int count,
                               double threshold, struct error *err);

/* out[i], i in [0, count): the affinity at position first + i of a sequence. */
void affinity_score(const struct affinity_protein *protein, const uint8_t *bases, int length, int first, int count,
                    double *out);

/* Positions of bases[] where proteins bind, by position and then by protein; at most `room` are written, all are
 * counted. */
struct affinity_hit {
    int position, protein;
    double affinity;
};
int affinity_scan(const struct affinity_set *set, const uint8_t *bases, int length, int first, int count,
                  struct affinity_hit *out, int room);

/* Sets the threshold of every protein to the quantile (linear interpolation) that leaves `share` of the positions of
 * `sequences` above it. Each sequence counts from `flank` to `flank` before its end. STATUS_INVALID without positions.
 */
struct splicing_sequence {
    const uint8_t *bases;
    int length;
};
enum status affinity_calibrate(struct affinity_set *set, const struct splicing_sequence *sequences, int count,
                               int flank, double share, struct error *err);

#endif
