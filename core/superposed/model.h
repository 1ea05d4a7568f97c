/* The trained autoencoder: x' = f(decoder (encoder' x) + bias), W = decoder x encoder.
 *
 * Both matrices are stored by feature, [n_s][n_d]: row i of `encoder` is the direction that writes feature i, row i of
 * `decoder` the direction that reads it, so W_ij = decoder_i . encoder_j. Tied models use one matrix for both.
 *
 * All activations pass z above a threshold, f(z) = z where z > t, else 0, and differ in t:
 *
 * - relu: t = 0.
 * - threshold: t is a number of the configuration (Konda et al.'s TRec).
 * - k-sparse: t is the sample's (k + 1)-th largest z, or 0 where that is negative (Makhzani and Frey).
 * - gated: t_i = max(0, bias_i - gate_i), so the gate opens at z_i - bias_i + gate_i > 0. `gate` is trained on the loss
 *   of ReLU(z - bias + gate), whose gradient reaches no other parameter (after Rajamanoharan et al.). */
#ifndef MOTIF_CORE_SUPERPOSED_MODEL_H
#define MOTIF_CORE_SUPERPOSED_MODEL_H

#include "core/nn/params.h"

enum activation { ACTIVATION_RELU, ACTIVATION_THRESHOLD, ACTIVATION_KEEP, ACTIVATION_GATED, ACTIVATIONS };

struct autoencoder_shape {
    int n_s, n_d;
    bool tied, xavier; /* xavier: initial weights are normal and biases zero; otherwise U(+-1/sqrt(fan in)) */
    enum activation activation;
    float threshold; /* threshold of ACTIVATION_THRESHOLD */
    int kept;        /* k of ACTIVATION_KEEP */
};

struct autoencoder {
    struct autoencoder_shape shape;
    struct params *params;
    struct weight *encoder, *decoder; /* [n_s][n_d]; the same when tied */
    struct weight *bias, *gate;       /* [n_s]; gate NULL unless gated */
};

/* Creates a model whose weights are zero until params_init(). with_grad false: without gradients, for queries. */
enum status autoencoder_create(const struct autoencoder_shape *shape, bool with_grad, struct autoencoder **model,
                               struct error *err);
void autoencoder_destroy(struct autoencoder *model); /* NULL is fine */
/* Returns STATUS_CORRUPT if the weights of a checkpoint do not have this shape. Allocates no weights. */
enum status autoencoder_fit(const struct autoencoder_shape *shape, const struct snapshot_reader *from,
                            struct error *err);

/* Writes thresholds[i] from the current weights. k-sparse adds a threshold for each sample (autoencoder_cut()). */
void autoencoder_thresholds(const struct autoencoder *model, float *thresholds);
/* The threshold that keeps the `kept` largest of z[n], at least 0. scratch: [n]. */
float autoencoder_cut(const float *z, int n, int kept, float *scratch);

/* Applies the model to one sample on the calling thread: y [n_s]. scratch: [n_d + 2 n_s]. */
void autoencoder_apply(const struct autoencoder *model, const struct kernels *kernels, const float *x, float *y,
                       float *scratch);

#endif
