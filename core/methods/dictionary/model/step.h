/* One batch of a sparse autoencoder: codes, reconstructions and losses, and in training the gradients.
 *
 * Codes are sparse, so only the product h = (x - bias) encoder' is dense: 2 d m operations for a sample of d inputs and
 * m latents. With k active latents a sample, the reconstruction, the gradient of the codes and the gradients of both
 * matrices take 2 k d operations each.
 *
 * Work is cut into chunks of rows and of latents by shapes alone, and sums are taken in a fixed order, so results have
 * the same bits for any number of threads. One thread at a time may use a step. */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_MODEL_STEP_H
#define MOTIF_CORE_METHODS_DICTIONARY_MODEL_STEP_H

#include "core/base/parallel/thread_pool.h"
#include "core/kernels/kernels.h"
#include "core/methods/dictionary/model/sae.h"

/* A sparse table: row r has the entries index[i], value[i] for start[r] <= i < start[r] + count[r], by ascending index
 * (MATCHING_PURSUIT: in the order of the picks, where an index may repeat). */
struct entries {
    int *start, *count;
    int32_t *index;
    float *value;
    float *slope; /* gradient of the loss with respect to h, at each entry */
    float *edge;  /* JUMPRELU: gradient of the loss with respect to the threshold, at each entry; others: NULL */
    int total, room;
};

struct step {
    struct thread_pool *pool;
    const struct kernels *kernels;
    struct sae *sae; /* the autoencoder of the current batch */
    int room, count; /* room: upper limit of the number of samples in a batch; count: samples in the current batch */
    const float *x;  /* [count][inputs], borrowed */
    float *centred;  /* [room][inputs] x - bias */
    float *h;        /* [room][width] */
    float *pull;     /* [SAE_LEVELS + 1][room][inputs] residuals, then gradients of the loss with respect to xhat, of
                        each level and of the auxiliary loss */
    float *xhat;     /* [room][inputs] reconstruction by all latents */
    struct entries codes;     /* active latents; JUMPRELU: also those whose h is near the threshold, with value 0 */
    struct entries auxiliary; /* dead latents of the auxiliary loss */
    struct entries columns;   /* `codes`, sorted by latent: row j lists the samples with an entry for latent j */
    struct entries auxiliary_columns;
    int *level_count; /* [room][SAE_LEVELS] number of entries of a row in each level */
    float *cut;       /* [room] the cut of each sample: activations above it are kept */
    int *ties;        /* [room] number of activations equal to the cut that are kept */
    bool *dead;       /* [width] */
    int dead_count;
    double *loss;        /* [room] squared error of each sample, summed over all levels */
    double *error;       /* [room] squared error of the whole reconstruction */
    double *aux;         /* [room] auxiliary loss of each sample, without its weight */
    float *smallest;     /* [room] smallest value in the code of each sample; infinity if the code is empty */
    uint32_t *bins;      /* counts of activations, for batch_cut() */
    float *norms;        /* [width] L1: norms of the decoder's rows */
    float *before;       /* [width] JUMPRELU: the thresholds before the update */
    float *gram, *picks; /* MATCHING_PURSUIT: gram: products of the decoder's rows; picks: residuals before each pick,
                            and their gradients */
    double warm;         /* warm-up factor of the sparsity term, from 0 to 1; 1 after step_create() */
    float *scratch;      /* [workers][scratch_reals] */
    size_t scratch_reals;
    void *memory;
};

/* Bytes of a step with room for `room` samples of any autoencoder of this shape. */
int64_t step_bytes(const struct sae_shape *shape, int room, int threads);
enum status step_create(const struct sae_shape *shape, struct thread_pool *pool, const struct kernels *kernels,
                        int room, struct step **step, struct error *err);
void step_destroy(struct step *step); /* NULL is fine */

/* The outcome of a batch. */
struct step_outcome {
    double loss;                /* everything that training minimises */
    double error, aux, penalty; /* parts of `loss`, with their weights; error: reconstruction (all levels); aux:
                                   auxiliary loss; penalty: sparsity */
    double l0;
};

/* Computes codes, `xhat` and the losses of a batch of count samples x: [count][inputs]. The autoencoder must have the
 * learner and the sizes of the shape that step_create() got. Not for FISTA. train: also writes the gradients of the
 * autoencoder's arrays and marks them as ready. Returns false if the pool was stopped. */
bool step_run(struct step *step, struct sae *sae, const float *x, int count, bool train, struct step_outcome *out);
/* The trainings of SynthSAEBench call step_finish() with the rate STEP_LONG_RATE and have STEP_LONG_UPDATES updates. */
#define STEP_LONG_RATE 3e-4
#define STEP_LONG_UPDATES 195312
/* Call it after a training batch and its update. Updates the state of the autoencoder: how long each latent has not
 * been active (unfired), the running cut, and the tuner of the sparsity factor. In short trainings, also moves the
 * thresholds of JUMPRELU further than Adam has moved them. rate: largest relative change by the tuner. */
void step_finish(struct step *step, const struct step_outcome *outcome, double rate);

/* Factor of the sparsity term, with warm-up and tuning; 0 for learners without one. */
double step_sparsity(const struct step *step);
/* The number of active latents of a sample: entries of `codes` with a value that is not 0. */
int step_active(const struct step *step, int row);

#endif
