/* Motif errors of chance: what is predicted stays what it is, channel by channel and value by value, but not where.
 *
 * Each channel's active elements are put at positions drawn without replacement from all positions of all
 * sequences, independently of the other channels; the errors of the result are counted against the true boxes,
 * `shuffles` times over (SPARLING, Appendix L: ten). Shuffle number i draws from the legacy generator of seed i. */
#ifndef MOTIF_CORE_METRICS_SHUFFLED_H
#define MOTIF_CORE_METRICS_SHUFFLED_H

#include "core/metrics/bootstrap.h"
#include "core/metrics/motif_errors.h"

struct shuffled_sequence {
    const struct motif *motifs; /* col in [first, first + length) of the call, row 0 */
    int motif_count;
    const struct box *boxes;
    int box_count;
};

struct shuffled_errors {
    struct bootstrap fpe, fne, ce, ce_majority; /* means over the shuffles, with 95 % intervals */
};

/* Symbols from `folded` on are folded into none (motif_errors_fold()); `symbols` folds none. shuffles >= 1.
 * STATUS_INVALID: a motif outside; STATUS_NO_MEMORY. Time grows with motifs times boxes of a sequence, memory with the
 * positions. */
enum status shuffled_motif_errors(const struct shuffled_sequence *sequences, int count, int first, int length,
                                  int symbols, int folded, int channels, int shuffles, struct shuffled_errors *out,
                                  struct error *err);

#endif
