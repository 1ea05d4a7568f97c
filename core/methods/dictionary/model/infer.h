/* Codes of single samples by a trained dictionary: what step_run() computes in training, except that BATCHTOPK and
 * MATRYOSHKA keep what exceeds their running threshold instead of the largest of a batch.
 *
 * An infer is borrowed memory and numbers: any number of threads may use one, each with its own scratch. */
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
/* Codes of up to INFER_ROWS scaled samples x: [count][inputs] to code: [count][width]. A code is the factor of a row of
 * the decoder as it is, of whatever norm; entries that are not active are 0. */
void infer_codes(const struct infer *infer, const float *x, int count, float *code, float *scratch);

#endif
