/* Shared by trial.c, which runs trials, and trial_space.c, which allocates their memory. */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_TRIAL_INT_H
#define MOTIF_CORE_METHODS_PATHWAYS_TRIAL_INT_H

#include "core/methods/pathways/trial.h"

struct trial_space {
    float *map[PATHWAYS_DEPTH + 1]; /* maps of the encoder: [0] is the signal, [l] the code of layer l */
    struct spikes truth[PATHWAYS_DEPTH], found;
    float *code, *noise, *scratch;
    double *sums;
    uint64_t *taken; /* a bit for each column: 1 if the column is drawn */
    int64_t room;    /* number of non-zeros for which the deepest layer's `truth`, `flips` and `terms` have room
                        (trial_space_room()) */
    bool whole;      /* true: `found` has room for all entries of a code; false: for `room` entries */
    uint8_t *flips;  /* flips [room] and terms [2 * room]: only for trials that handle several draws at once */
    struct banded_term *terms;
    uint32_t *signs[PATHWAYS_DEPTH];
};

static inline size_t code_size(const struct scenario *s, int layer)
{
    return dictionary_code_size(&s->dictionary[layer]);
}

static inline size_t signal_size(const struct scenario *s)
{
    return dictionary_signal_size(&s->dictionary[0]);
}

/* Makes room for `count` non-zeros of the deepest code. Error: STATUS_NO_MEMORY. */
enum status trial_space_room(struct trial_space *space, int layers, int64_t count, struct error *err);

#endif
