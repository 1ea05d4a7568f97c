/* A batch of fresh samples through an autoencoder: loss and, in training, gradients.
 *
 * Of a step's five products (hidden, output, and three backward) only the output is dense: inputs are zero but for a
 * share p, and the gradient is zero wherever the activation is. The others are taken by sparse products while these
 * shares are below BATCH_SPARSE, else by dense ones. All sums have an order fixed by shapes and data. */
#ifndef MOTIF_CORE_METHODS_SUPERPOSITION_BATCH_H
#define MOTIF_CORE_METHODS_SUPERPOSITION_BATCH_H

#include "core/base/thread_pool.h"
#include "core/methods/superposition/model.h"

#define BATCH_SPARSE 0.2 /* measured: about where a sparse product stops being faster */

struct batch;

/* What to draw (data.h). */
struct batch_samples {
    uint64_t seed;
    uint32_t stream;
    int64_t first;
    int count; /* at most the batch's room */
    double p;
    int total; /* of all ranks, whose gradients are added up; 0: count */
};

/* `importance`: [n_s] weights of the features' squared errors (copied), or NULL for ones. With `dense` every product
 * is. The model outlives the batch. */
enum status batch_create(struct autoencoder *model, struct thread_pool *pool, const struct kernels *kernels, int room,
                         const float *importance, bool dense, struct batch **batch, struct error *err);
void batch_destroy(struct batch *batch); /* NULL is fine */
size_t batch_bytes(const struct autoencoder_shape *shape, int room, int threads);

/* Mean over samples and features of the weighted squared error. `gradients`: also writes those of the model's params
 * (their grad_ready is set). */
double batch_run(struct batch *batch, const struct batch_samples *samples, bool gradients);
/* Of the last run: each sample's mean over features. [count] */
const double *batch_losses(const struct batch *batch);
/* Share of outputs that were not zero; and what it is with other ranks'. */
double batch_active(const struct batch *batch);
void batch_set_active(struct batch *batch, double active);

#endif
