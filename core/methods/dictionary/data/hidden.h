/* The hidden layer of a toy model of superposition (core/superposed): n_s features write into n_d dimensions, each
 * along its own vector. The vectors are those of a Persian rug (core/superposed/rug.h) or of an autoencoder that
 * hidden_vectors() trains. */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_DATA_HIDDEN_H
#define MOTIF_CORE_METHODS_DICTIONARY_DATA_HIDDEN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"
#include "core/kernels/kernels.h"

struct hidden {
    int features, inputs; /* features: n_s; inputs: n_d; for a rug, n_s must be a power of two and n_d <= n_s */
    bool trained;         /* false: a rug */
    double p;             /* probability of a feature */
    uint64_t seed;
    int64_t samples; /* training samples of the autoencoder */
};

/* Writes the vectors: [features][inputs]. The vectors depend on *h only, not on the number of threads. STATUS_CANCELLED
 * when the pool was stopped, STATUS_NUMERIC when the training diverged. */
enum status hidden_vectors(const struct hidden *h, const struct kernels *kernels, struct thread_pool *pool,
                           float *vectors, struct error *err);
/* Return the number of operations of hidden_vectors(), and the bytes of memory that it needs in addition to the
 * vectors. Estimates of jobs use both numbers. */
double hidden_work(const struct hidden *h);
int64_t hidden_bytes(const struct hidden *h, int threads);
/* Returns, in closed form, the share of the features' variance that a rug with the best ReLU output explains. p:
 * probability that a feature is active; ratio: n_d / n_s. */
double hidden_explained(double p, double ratio);

#endif
