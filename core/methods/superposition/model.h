/* The trained autoencoder: x' = f(decoder (encoder' x) + bias), W = decoder x encoder.
 *
 * Both matrices are kept by feature, [n_s][n_d]: row i of `encoder` is the direction that feature i is written in,
 * row i of `decoder` the one it is read along, so W_ij = decoder_i . encoder_j. Tied models have one for both.
 *
 * All activations are a line above a threshold, f(z) = z where z > t, else 0, and differ in t:
 *   relu       t = 0
 *   threshold  t = a number of the configuration (Konda et al.'s TRec)
 *   k-sparse   t = the sample's (k + 1)-th largest z, or 0 where that is below (Makhzani and Frey)
 *   gated      t_i = max(0, bias_i - gate_i): the gate opens at z_i - bias_i + gate_i > 0. `gate` is trained on the
 * loss of ReLU(z - bias + gate), whose gradient goes nowhere else (after Rajamanoharan et al.) */
#ifndef MOTIF_CORE_METHODS_SUPERPOSITION_MODEL_H
#define MOTIF_CORE_METHODS_SUPERPOSITION_MODEL_H

#include "core/nn/params.h"

enum activation { ACTIVATION_RELU, ACTIVATION_THRESHOLD, ACTIVATION_KEEP, ACTIVATION_GATED, ACTIVATIONS };

struct autoencoder_shape {
    int n_s, n_d;
    bool tied, xavier; /* xavier: normal weights and zero biases at first; else U(+-1/sqrt(fan in)) */
    enum activation activation;
    float threshold; /* ACTIVATION_THRESHOLD */
    int kept;        /* ACTIVATION_KEEP: k */
};

struct autoencoder {
    struct autoencoder_shape shape;
    struct params *params;
    struct weight *encoder, *decoder; /* [n_s][n_d]; the same when tied */
    struct weight *bias, *gate;       /* [n_s]; gate NULL unless gated */
};

/* with_grad false: for queries. Weights are zero until params_init(). */
enum status autoencoder_create(const struct autoencoder_shape *shape, bool with_grad, struct autoencoder **model,
                               struct error *err);
void autoencoder_destroy(struct autoencoder *model); /* NULL is fine */

/* thresholds[i], from the present weights; what k-sparse adds per sample is not in them. */
void autoencoder_thresholds(const struct autoencoder *model, float *thresholds);
/* The threshold that keeps the `kept` largest of z[n], not below 0. scratch: [n]. */
float autoencoder_cut(const float *z, int n, int kept, float *scratch);

/* One sample on the calling thread: y [n_s]. scratch: [n_d + 2 n_s]. */
void autoencoder_apply(const struct autoencoder *model, const struct kernels *kernels, const float *x, float *y,
                       float *scratch);

#endif
