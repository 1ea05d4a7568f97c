/* The networks: an encoder of two layers with heads for mean and log variance, and a decoder.
 *
 *    sparse VAE      y_ij = v_j . h(w_j * z_i) + c_j; all features share h, two layers; W: [features][latent]
 *    VAE, beta-VAE   y_i = V h(z_i) + c, the same h
 *    VSC             the same decoder; a latent variable is off with probability 1 - gamma_k(x), and the prior is a
 *                    mixture of the encoder's output for trained pseudo-inputs (op_spike_kl)
 *    OI-VAE          y_ij = v_j . relu(W_j z_i + b_j) + c_j, W_j: [group][latent]: every feature is a group
 *
 * The first layer of h has no bias. Likelihoods: Gaussian with a deviation for each feature, multinomial over a row's
 * features, Bernoulli for each feature. */
#ifndef MOTIF_CORE_METHODS_FACTORS_MODEL_MODEL_H
#define MOTIF_CORE_METHODS_FACTORS_MODEL_MODEL_H

#include "core/nn/layers.h"

enum factors_model { MODEL_SPARSE_VAE, MODEL_VAE, MODEL_BETA_VAE, MODEL_VSC, MODEL_OI_VAE, MODEL_NMF, FACTORS_MODELS };
/* For VSC. LATENT_PSEUDO: number of pseudo-inputs; LATENT_SHARPNESS: steepness of the gates. */
enum { LATENT_PSEUDO = 10, LATENT_SHARPNESS = 10 };
enum factors_likelihood { LIKELIHOOD_GAUSSIAN, LIKELIHOOD_MULTINOMIAL, LIKELIHOOD_BERNOULLI };

struct latent_shape {
    enum factors_model model;
    enum factors_likelihood likelihood;
    int features, latent, hidden;
    int group; /* OI-VAE: number of units in a feature's group */
};

/* Separates the features that the decoder computes in full from those that a cheaper kernel computes (op_arc_head). */
struct latent_skip {
    int dense_count, few_count, group_count;
    int32_t *dense, *few; /* [features] dense: indices of the features that the decoder computes in full; few: indices
                             of the other features, sorted by group */
    struct arc_group *groups; /* [features] */
};

struct latent_model {
    struct latent_shape shape;
    struct params *params;
    struct linear encoder[2], mean, log_variance;
    /* VSC: odds_head: the head that gives gamma; selector: the weights that make the pseudo-inputs */
    struct linear odds_head, selector;
    struct weight *pseudo; /* VSC: [LATENT_PSEUDO][features] */
    /* OI-VAE: W as [features * group][latent], and b as [features * group] */
    struct weight *group, *group_bias;
    struct weight *first, *head, *head_bias; /* [hidden][latent], [features][hidden], [features] */
    struct linear second;
    struct weight *mask;      /* [features][latent] W of the sparse VAE; NULL in other models */
    struct weight *log_sigma; /* [features] with the Gaussian likelihood, otherwise NULL */
    struct weight *odds;      /* [features * latent] p_jk (prior.h), saved as state; NULL except in the sparse VAE */
    struct weight *rate;      /* [latent] eta_k (prior.h), saved as state; NULL except in the sparse VAE */
    struct weight *scales;    /* [2] scales of the horseshoe prior, saved as state; NULL except in the sparse VAE */
    struct weight no_bias;
    float *zeros;
    double warmth; /* VSC: the slab is N(warmth * m, (warmth * s + 1 - warmth)^2) with the encoder's mean m and
                      deviation s; 1 after the warm-up */
    bool skipping; /* the decoder uses `skip` */
    struct latent_skip skip;
};

/* Creates a model; the name of every array begins with `prefix`. with_grad false: for queries. Values are undefined
 * until latent_init(). */
enum status latent_create(const struct latent_shape *shape, const char *prefix, bool with_grad,
                          struct latent_model **model, struct error *err);
void latent_destroy(struct latent_model *model); /* NULL is fine */
/* Creates a model whose arrays have shapes but no memory, for counting (params_count()) and comparing
 * (params_fit()). */
enum status latent_declare(const struct latent_shape *shape, const char *prefix, struct latent_model **model,
                           struct error *err);
/* Sets weights to PyTorch's defaults, W to standard normal values, p to 1/2, eta to uniform values, and log_sigma from
 * `deviation` [features]. */
void latent_init(struct latent_model *model, uint64_t seed, const double *deviation, struct thread_pool *pool);

/* Sorts features by the number of non-zero entries of W. From now on the decoder skips the zeros of W. */
void latent_skip(struct latent_model *model);

/* Runs the encoder. x: [rows][features]. `odds` of the result is NULL except for VSC. */
struct spike_code latent_encode(struct latent_model *model, struct exec *e, struct tensor *x);
/* Draws the latent variables of rows. `first`: index of the first row within its batch. */
struct tensor *latent_sample(struct latent_model *model, struct exec *e, const struct spike_code *code, int64_t first);
/* Expected values of the latent variables, for evaluation. */
struct tensor *latent_mean(struct latent_model *model, struct exec *e, const struct spike_code *code);
/* Returns factor * the sum, over rows and latent variables, of the divergence from the prior. */
struct tensor *latent_divergence(struct latent_model *model, struct exec *e, struct tensor *x,
                                 const struct spike_code *code, bool printed, double factor);
/* VSC: returns factor * the divergence of the mean gamma of the pseudo-inputs from `rate`. */
struct tensor *latent_rate(struct latent_model *model, struct exec *e, double rate, double factor);
/* Whether the model has a mask, which says which latent variables feed which features (prior_mask()). */
static inline bool latent_masked(const struct latent_model *model)
{
    return model->mask || model->group;
}
/* Runs the decoder. z: [rows][latent]. Returns [rows][features], logits for counts. */
struct tensor *latent_decode(struct latent_model *model, struct exec *e, struct tensor *z);

/* Bytes of activations and gradients for one row of the decoder; fewer after latent_skip(). */
double latent_row_bytes(const struct latent_model *model);
/* Floating-point operations of a training step for one row of data. */
double latent_flops(const struct latent_shape *shape);

#endif
