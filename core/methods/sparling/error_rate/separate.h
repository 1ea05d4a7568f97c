/* Whether the labels tell what a channel marks from what merely accompanies its name.
 *
 * A channel may answer to something that accompanies its name in most labels: another name, the companion. Its marks on
 * the companion are false, but negatives in which the companion is rare have few of them. Three facts about inputs
 * decide what is known: whether the label has a name of the channel, whether it has the other name, and how many marks
 * the channel has. Another name is a companion if it occurs clearly more often with a name of the channel than without.
 * Then:
 *
 *   - The negatives with the companion are enough: they alone become the negatives, if the channel answers in a larger
 *     share of them than in the others. This share is that of inputs with the companion, so the error rate is too high
 *     for other inputs, never too low.
 *   - They are not enough, or the channel marks most of them: the marks in inputs with the name decide. If the channel
 *     has clearly more marks with the companion than without, given the name, or if there are too few inputs to tell,
 *     nobody can tell from these labels what the channel marks.
 *
 * What no label names cannot be told apart either, and no figure shows it. Pure functions; any thread. */
#ifndef MOTIF_CORE_METHODS_SPARLING_ERROR_RATE_SEPARATE_H
#define MOTIF_CORE_METHODS_SPARLING_ERROR_RATE_SEPARATE_H

#include <stdbool.h>
#include <stdint.h>

/* The inputs of one channel. Rows have one bit for each input. */
struct separation_inputs {
    int64_t samples;
    const uint64_t *named;      /* the label has a name of the channel */
    const uint64_t *active;     /* the channel has a mark */
    const unsigned char *marks; /* [samples] number of marks of the channel */
};

/* What one other name means for a channel. */
enum separation {
    SEPARATION_FREE,    /* the other name changes nothing */
    SEPARATION_STRATUM, /* only inputs with the other name are negatives */
    SEPARATION_TOGETHER /* the labels do not tell them apart */
};
/* other: the row of the other name. least: number of negatives that are enough. *share: with SEPARATION_STRATUM, the
 * share of the negatives with the other name in which the channel has a mark. */
enum separation separation_of(const struct separation_inputs *inputs, const uint64_t *other, int64_t least,
                              double *share);

#endif
