/* The learner FISTA: it alternates between the codes of a batch and the dictionary (online dictionary learning, Mairal
 * et al. 2010).
 *
 * Each update computes the codes a of a batch with the current rows (core/coding/plain.h), and adds a'a and a'x to sums
 * that forget old batches. From these sums, one pass of block coordinate descent over the rows lowers the squared
 * error, and scales each row to norm 1. A row that no code has used becomes the residual of a sample that the
 * dictionary reconstructs badly. The bias stays 0.
 *
 * The penalty begins high and falls. With the final penalty from the start, a code of random rows would use half of
 * all rows. The sums would then contain little information about any single row, and hundreds of updates would
 * change the dictionary little. */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_MODEL_ALTERNATE_H
#define MOTIF_CORE_METHODS_DICTIONARY_MODEL_ALTERNATE_H

#include "core/methods/dictionary/model/step.h"

struct alternate {
    float *gram, *target; /* gram: [width][width] sum of a'a over codes a; target: [width][inputs] sum of a'x over codes
                             a and samples x */
    int64_t updates;
};

/* Allocates the sums. The caller calls alternate_close(), after an error too. */
enum status alternate_create(const struct sae_shape *shape, struct alternate *out, struct error *err);
void alternate_close(struct alternate *a);

/* Computes the codes, reconstructions and errors of a batch, as step_run() does for the other learners. Returns false
 * if the pool was stopped. */
bool alternate_encode(struct step *step, struct sae *sae, const float *x, int count, struct step_outcome *out);
/* Returns the penalty for a batch x: [count][inputs] when the share `part` of the training is done. The penalty
 * depends on the mean norm of these samples. */
double alternate_penalty(const struct sae_shape *shape, const struct kernels *kernels, const float *x, int count,
                         double part);
/* Computes the codes of a batch with the penalty of alternate_penalty() and then updates the dictionary. Returns
 * false if the pool was stopped. */
bool alternate_update(struct alternate *a, struct step *step, struct sae *sae, const float *x, int count, double part,
                      struct step_outcome *out);

#endif
