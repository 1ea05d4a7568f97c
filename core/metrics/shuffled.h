/* Motif errors of random predictions: the predictions keep their channels and values but get random positions.
 *
 * The active elements of each channel are put at positions drawn without replacement from all positions of all
 * sequences, independently of the other channels. The errors of the result are counted against the true boxes. This is
 * repeated `shuffles` times (SPARLING, Appendix L: ten). Shuffle i draws from the legacy generator of seed i. */
#ifndef MOTIF_CORE_METRICS_SHUFFLED_H
#define MOTIF_CORE_METRICS_SHUFFLED_H

#include <stdbool.h>

#include "core/metrics/interval.h"
#include "core/metrics/motif_errors.h"

struct shuffled_sequence {
    const struct motif *motifs; /* [motif_count] motifs with row 0 and col in [first, first + length); the caller
                                 * passes first and length */
    int motif_count;
    const struct box *boxes;
    int box_count;
};

struct shuffled_errors {
    struct bootstrap fpe, fne, ce, ce_majority; /* means of the errors over the shuffles, with 95 % intervals */
};

/* Shuffles the sequences `shuffles` >= 1 times. Each call of shuffling_next() does one shuffle and sets *done after the
 * last one; shuffling_finish() then computes the means. The sequences must outlive the shuffling. folded: symbols from
 * this index on count as "none" (motif_errors_fold()). STATUS_INVALID: a motif is outside [first, first + length). Time
 * is proportional to motifs times boxes of a sequence, memory to positions. One thread at a time. */
struct shuffling;
enum status shuffling_create(const struct shuffled_sequence *sequences, int count, int first, int length, int symbols,
                             int folded, int channels, int shuffles, struct shuffling **out, struct error *err);
enum status shuffling_next(struct shuffling *shuffling, bool *done, struct error *err);
enum status shuffling_finish(const struct shuffling *shuffling, struct shuffled_errors *out, struct error *err);
void shuffling_destroy(struct shuffling *shuffling); /* NULL is allowed */

#endif
