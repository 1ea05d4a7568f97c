/* Runs a batch of fresh samples through an autoencoder and computes the loss and, in training, gradients.
 *
 * A step has five products: hidden, output, and three backward. Only the output's product is always dense. Of the
 * inputs only a share p is not zero, and the gradient of the output is zero wherever the activation gives 0. The other
 * products are sparse while these shares are below BATCH_SPARSE, and dense otherwise. Shapes and data alone determine
 * the order of all sums. */
#ifndef MOTIF_CORE_SUPERPOSED_BATCH_H
#define MOTIF_CORE_SUPERPOSED_BATCH_H

#include "core/base/parallel/thread_pool.h"
#include "core/superposed/model.h"

#define BATCH_SPARSE 0.2 /* measured: above about this share, a dense product is faster */

struct batch;

/* Which samples to draw (data.h), or the samples themselves. */
struct batch_samples {
    uint64_t seed;
    uint32_t stream;
    int64_t first;
    int count; /* at most the batch's room */
    double p;  /* for given samples: the share of values that are not zero */
    int total; /* number of samples of the whole batch, if several ranks share the batch and add up their gradients; 0:
                  `count` */
    const float *given; /* [count][n_s] samples to run instead of drawn ones; NULL: draws them */
};

/* Creates a batch for a model. `importance`: [n_s] weights of the features' squared errors (copied), or NULL for ones.
 * `dense` makes every product dense. The model must outlive the batch. */
enum status batch_create(struct autoencoder *model, struct thread_pool *pool, const struct kernels *kernels, int room,
                         const float *importance, bool dense, struct batch **batch, struct error *err);
void batch_destroy(struct batch *batch); /* NULL is fine */
size_t batch_bytes(const struct autoencoder_shape *shape, int room, int threads);

/* Runs a batch and returns the mean over samples and features of the weighted squared error. `gradients`: also writes
 * the gradients of the model's parameters and sets their grad_ready. NaN if the pool was stopped: the caller checks the
 * pool. */
double batch_run(struct batch *batch, const struct batch_samples *samples, bool gradients);
/* Mean error of each sample of the last run. [count] */
const double *batch_losses(const struct batch *batch);
/* Share of outputs of the last run that were not zero, over all ranks. */
double batch_active(const struct batch *batch);
void batch_set_active(struct batch *batch, double active);

#endif
