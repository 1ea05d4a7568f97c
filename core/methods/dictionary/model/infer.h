/* Computes the codes of single samples by a trained dictionary. The codes are those that step_run() computes in
 * training, with one exception: BATCHTOPK and MATRYOSHKA keep the activations above their running threshold instead of
 * the largest ones of a batch.
 *
 * A struct infer owns no memory. Any number of threads may use the same one, each with its own scratch. */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_MODEL_INFER_H
#define MOTIF_CORE_METHODS_DICTIONARY_MODEL_INFER_H

#include "core/coding/plain.h"
#include "core/methods/dictionary/model/sae.h"

enum { INFER_ROWS = 64 };

struct infer {
    const struct sae *sae;
    const struct kernels *kernels;
    struct plain plain; /* FISTA */
};

/* scratch: infer_scratch() floats. */
struct infer infer_make(const struct sae *sae, const struct kernels *kernels, float *scratch);
size_t infer_scratch(const struct sae_shape *shape);
/* Computes the codes of up to INFER_ROWS scaled samples. x: [count][inputs], code: [count][width]. Entry j of a code is
 * the factor of row j of the decoder; the rows need not have norm 1. Entries that are not active are 0. */
void infer_codes(const struct infer *infer, const float *x, int count, float *code, float *scratch);

#endif
