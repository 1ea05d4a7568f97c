/* Private to core/methods/dictionary/model: the parts of a step (step.h). */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_MODEL_STEP_INT_H
#define MOTIF_CORE_METHODS_DICTIONARY_MODEL_STEP_INT_H

#include "core/methods/dictionary/model/step.h"

enum { STEP_ROWS = 64, STEP_LATENTS = 32, STEP_BLOCK = 256, STEP_COLUMNS = 1024 };
/* Bins in which batch_cut() counts activations by their bits, and spare bins for values that are not above 0. */
enum { STEP_USED_BINS = 4096, STEP_SPARE_BINS = 64, STEP_BINS = STEP_USED_BINS + STEP_SPARE_BINS };

struct step_piece {
    int first, count;
};
static inline int step_pieces(int count, int size)
{
    return (count + size - 1) / size;
}
static inline struct step_piece step_piece(int chunk, int size, int count)
{
    int first = chunk * size, left = count - first;
    return (struct step_piece){first, left < size ? left : size};
}

/* Residuals or gradients of row `row` at level `level`; the index after the last level is the auxiliary loss. */
static inline float *step_pull(const struct step *s, int level, int row)
{
    return s->pull + ((ptrdiff_t)level * s->room + row) * s->sae->shape.inputs;
}
/* Number of picks for each sample: l0, rounded, in [1, width]. */
static inline int step_kept(const struct sae_shape *shape)
{
    int k = (int)(shape->l0 + 0.5);
    return k < 1 ? 1 : k < shape->width ? k : shape->width;
}
static inline float *step_scratch(const struct step *s, int worker)
{
    return s->scratch + (size_t)worker * s->scratch_reals;
}

/* The functions of type bool below return false if the pool was stopped. */

/* select.c: adds encoder_bias to h and chooses the entries of all rows. */
bool step_select(struct step *step);
/* select.c: chooses the dead latents of each row that the auxiliary loss uses. Sets dead_count. */
bool step_select_dead(struct step *step);
/* gradient.c: writes all gradients of a batch whose forward pass is done. */
bool step_gradients(struct step *step);
/* select.c: sorts the entries of rows [first, first + count) by latent and writes them to `columns`. The entries of
 * one latent keep their order. In `columns`, the index of an entry is its row or, if picks > 0, (row - first) * picks +
 * (place of the entry in its row). */
void step_by_latent(const struct step *step, const struct entries *rows, int first, int count, int picks,
                    struct entries *columns);
/* pursuit.c: step_pursuit() computes codes, residuals (level 0 of `pull`) and reconstructions by matching pursuit, and
 * step_pursuit_gradients() the gradients. */
bool step_pursuit(struct step *step);
bool step_pursuit_gradients(struct step *step);

#endif
