/* A sparse autoencoder: a dictionary of `width` latents for inputs of `inputs` numbers.
 *
 *     h = (x - bias) encoder' + encoder_bias        a = the learner's activation of h        xhat = a decoder + bias
 *
 * encoder, decoder: [width][inputs]; row j belongs to latent j. The learners differ in the activation and in the loss:
 *
 * L1                a = max(0, h);                       loss + sparsity mean_B sum_j a_j |decoder_j|
 * TOPK              the l0 largest h of a sample, then max(0, .)
 * BATCHTOPK         the floor(l0 B) largest h > 0 of the batch
 * JUMPRELU          a = h where h > threshold_j;         loss + sparsity mean_B (number of active latents)
 * MATRYOSHKA        as BATCHTOPK;                        loss = sum over levels l of the loss of the first w_l latents
 * MATCHING_PURSUIT  l0 times: adds the latent with the largest max(0, residual . decoder_j); no encoder
 * FISTA             the code that minimises |x - xhat|^2 / 2 + penalty |a|_1, a >= 0; no encoder (alternate.h)
 *
 * The loss is the mean over the batch of |x - xhat|^2, summed over inputs. The gradient of JUMPRELU's step functions is
 * that of Rajamanoharan et al. 2024, with a rectangle of width `bandwidth`. TOPK, BATCHTOPK and MATRYOSHKA have an
 * auxiliary loss: latents that have not fired for `dead_after` updates reconstruct the residual of the other latents.
 * Rules and defaults are those of SAELens (docs/explanation/dictionary.md). */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_MODEL_SAE_H
#define MOTIF_CORE_METHODS_DICTIONARY_MODEL_SAE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/nn/params.h"

enum learner {
    LEARNER_L1,
    LEARNER_TOPK,
    LEARNER_BATCHTOPK,
    LEARNER_JUMPRELU,
    LEARNER_MATRYOSHKA,
    LEARNER_MATCHING_PURSUIT,
    LEARNER_FISTA,
    LEARNERS
};

enum { SAE_LEVELS = 8 };

struct sae_shape {
    enum learner learner;
    int inputs, width;
    double l0; /* active latents of a sample: exactly this number (TOPK, MATCHING_PURSUIT), or a mean or a target
                  (others) */
    int levels, level_end[SAE_LEVELS]; /* levels: number of levels, 1 except for MATRYOSHKA; level_end: their widths,
                                          ascending; the last is `width` */
    bool unit_rows;                    /* rows of the decoder keep norm 1 */
    double sparsity;                   /* L1, JUMPRELU: factor of the sparsity term, before tuning */
    bool tuned;                        /* L1, JUMPRELU: training adjusts the factor until the mean L0 is l0 */
    double bandwidth;                  /* JUMPRELU */
    double aux_weight;                 /* 0: no auxiliary loss */
    int aux_latents, dead_after;       /* aux_latents: number of dead latents that the auxiliary loss of a sample uses;
                                          dead_after: a latent that has not fired for this number of updates is dead */
    double penalty;                    /* FISTA, for scaled samples */
    int iterations;                    /* FISTA: number of iterations that compute a code */
};

/* Indices into the array `cut`: the running mean of the smallest activation of a batch, and the number of updates. */
enum { CUT_MEAN, CUT_COUNT, CUTS };
/* Indices into the array `tuner`: the factor of the sparsity term, the running means of L0 and of its change, and the
 * number of updates. */
enum { TUNER_FACTOR, TUNER_L0, TUNER_CHANGE, TUNER_UPDATES, TUNERS };

struct sae {
    struct sae_shape shape;
    struct params *params;
    struct weight *encoder, *encoder_bias; /* NULL: MATCHING_PURSUIT, FISTA */
    struct weight *decoder, *bias;
    struct weight *threshold; /* [width] JUMPRELU: trained; a threshold below 0 counts as 0. Others: NULL */
    /* State that is saved with the weights: */
    struct weight *unfired; /* [width] updates since the latent was active */
    struct weight *cut;     /* [CUTS] BATCHTOPK, MATRYOSHKA: the running mean of the smallest activation of a batch,
                             * which is the threshold of a single sample; others: NULL */
    struct weight *tuner;   /* [TUNERS] L1, JUMPRELU; others: NULL */
};

bool sae_has_encoder(enum learner learner);
/* Whether the learner has the auxiliary loss. */
bool sae_has_auxiliary_loss(enum learner learner);

/* Creates an autoencoder without values. name: prefix of its arrays. with_grad: for training. The caller calls
 * sae_destroy(), which accepts NULL. */
enum status sae_create(const struct sae_shape *shape, const char *name, bool with_grad, struct sae **sae,
                       struct error *err);
void sae_destroy(struct sae *sae);
/* Draws initial values: decoder rows in random directions with the learner's norm, encoder = decoder, biases 0. */
void sae_init(struct sae *sae, uint64_t seed);
/* Returns the threshold of a latent for a single sample: the latent is active if its h is above the threshold. */
float sae_threshold(const struct sae *sae, int latent);
/* Scales rows of the decoder to norm 1. */
void sae_unit_rows(struct sae *sae);
/* Removes from the decoder's gradient the part that changes the norms of rows. */
void sae_project_gradient(struct sae *sae);

#endif
