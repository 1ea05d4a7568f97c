/* Protein binding: position-specific affinity matrices, several for each protein, as RNA Bind-n-Seq measures them.
 *
 * The affinity of a protein for the bases around a position is
 *
 *     (1 / 0.2) * sum over its matrices m of weight[m] * product over columns c of entry[m][c][base at column c]
 *
 * The weight of a matrix is its A0 (from the measurement) divided by the largest A0 of the protein. All matrices of a
 * protein have the same number of columns: columns of ones extend the shorter matrices on both sides, with one more on
 * the right if their number is odd. A window of w columns begins (w - 1) / 2 (rounded down) positions before the base
 * in its middle. A column at an unknown base or beyond the ends of the sequence contributes the factor 1. If the base
 * in the middle is unknown, the affinity is 0.
 *
 * A protein binds where its affinity exceeds its threshold, which is given or is a quantile of its affinities on some
 * sequences (affinity_calibrate()). Read-only after that; any number of threads. */
#ifndef MOTIF_CORE_DATA_SPLICING_SPLICING_AFFINITY_H
#define MOTIF_CORE_DATA_SPLICING_SPLICING_AFFINITY_H

#include "core/base/error.h"
#include "core/data/splicing/splicing.h"

enum { AFFINITY_NAME = 32, AFFINITY_COLUMNS = 64, AFFINITY_MATRICES = 64, AFFINITY_PROTEINS = 512 };
enum { AFFINITY_FILE_BYTES = 1 << 20 };

struct affinity_matrix {
    double weight; /* A0 divided by the largest A0 of the protein */
    /* [column][base] affinities; the best base of a column has an affinity of about 1 */
    double entry[AFFINITY_COLUMNS][SPLICING_BASES];
};
struct affinity_protein {
    char name[AFFINITY_NAME];
    int columns, matrices;
    struct affinity_matrix *matrix; /* owned by the set */
    double threshold;               /* the protein binds where its affinity exceeds this */
};
struct affinity_set {
    int proteins;
    struct affinity_protein *protein; /* [proteins]; in alphabetical order if they come from a folder */
};

void affinity_close(struct affinity_set *set); /* a zeroed set is allowed */
/* Removes all proteins but the first `proteins`. */
void affinity_keep(struct affinity_set *set, int proteins);

/* Adds a protein from the text of an RBNS file:
 *
 *     # comment                                (any number, anywhere)
 *     PSAM  A0=0.06 n=11 acc_k=11 ...          (n columns follow; names other than A0 and n are ignored)
 *     1.00000 0.82999 0.64232 0.75472 a        (A C G U and a letter, which is ignored)
 *
 * The text is untrusted. STATUS_INVALID: the message names the line. STATUS_LIMIT: too many columns, matrices or
 * proteins. After an error the set is unchanged. The new protein's threshold is 1. */
enum status affinity_add_text(struct affinity_set *set, const char *name, const char *text, size_t size,
                              struct error *err);
/* Adds all files NAME.txt of a folder, in alphabetical order. Messages name the file, never the folder. */
enum status affinity_add_folder(struct affinity_set *set, const char *folder, struct error *err);

/* Adds a protein from `count` consensus words of equal length with weights 1, 0.6, 0.36, ... An upper-case letter is
 * specific: its base has the affinity 1, the base's partner (A-G, C-T) 0.1, the others 0.02. A lower-case letter is
 * soft: the affinities are 1, 0.6 and 0.1. */
enum status affinity_add_words(struct affinity_set *set, const char *name, const char *const *words, int count,
                               double threshold, struct error *err);

/* Computes the affinities at `count` positions of `bases`: out[i] is the affinity at position first + i. bases:
 * [length]; out: [count]. */
void affinity_score(const struct affinity_protein *protein, const uint8_t *bases, int length, int first, int count,
                    double *out);

/* affinity_scan() finds the positions in [first, first + count) where proteins bind, ordered by position and then by
 * protein. It writes at most `room` hits to `out` and returns the number of all hits. */
struct affinity_hit {
    int position, protein;
    double affinity;
};
int affinity_scan(const struct affinity_set *set, const uint8_t *bases, int length, int first, int count,
                  struct affinity_hit *out, int room);

/* affinity_calibrate() sets every protein's threshold to the quantile of its affinities (with linear interpolation)
 * that `share` of the positions exceed. Positions closer than `flank` to an end of their sequence do not count.
 * STATUS_INVALID: there are no positions. */
struct splicing_sequence {
    const uint8_t *bases;
    int length;
};
enum status affinity_calibrate(struct affinity_set *set, const struct splicing_sequence *sequences, int count,
                               int flank, double share, struct error *err);

#endif
