/* One model in training on one table: batches, loss, Adam, and what is updated in closed form.
 *
 * The loss of a batch, in the terms of facts that published code and paper share (B rows, G features, K latents, N
 * rows of training):
 *
 *                      code                                   paper
 *   Gaussian           1/(B G) sum ((x - y)/sigma)^2 / 2      1/B sum of the same + log sigma
 *   multinomial        1/B sum of -x log softmax              the same
 *   divergence         beta/(B K) sum                         beta/B sum
 *   prior of W         1/B sum lambda* |w|                    1/N sum
 *   prior of sigma     1/B of (B + nu + 2) log sigma + ...    1/N of (nu + 2) log sigma + nu xi / (2 sigma^2)
 *
 * where the code's B in the last two rows is the configured one, also for a short last batch. */
#ifndef MOTIF_CORE_METHODS_FACTORS_FIT_H
#define MOTIF_CORE_METHODS_FACTORS_FIT_H

#include "core/data/tables/features.h"
#include "core/methods/factors/prior.h"
#include "core/nn/adam.h"
#include "core/nn/gradients.h"

enum factors_objective { OBJECTIVE_CODE, OBJECTIVE_PAPER };
enum factors_zeros { ZEROS_THRESHOLD, ZEROS_PROXIMAL, ZEROS_SKIP };

struct fit_setup {
    struct latent_shape shape;
    struct prior prior;
    enum factors_objective objective;
    enum factors_zeros zeros;
    double beta, learning_rate;
    int64_t batch, epochs, zeros_after; /* zeros_after: epochs before zeros are exact */
    double group_penalty;               /* OI-VAE: of the group lasso */
    double rate;                        /* VSC: alpha, of latent variables that are on */
    bool printed;                       /* VSC: the divergence as a published program has it */
    uint64_t seed;
    bool relative;   /* the encoder sees a row divided by its sum */
    int64_t warm_up; /* VSC: epochs (latent_model.warmth) */
    bool bf16;       /* training: the decoder rounds what it multiplies to bf16 */
};

/* Rows of a table: borrowed. */
struct fit_data {
    const struct features *features;
    const int *train, *test; /* row numbers */
    int train_count, test_count;
};

struct fit {
    struct fit_setup setup;
    struct fit_data data;
    struct latent_model *model;
    struct adam *adam;
    struct gradients gradients;
    struct comm *comm; /* ranks that share the rows of a batch; NULL: one. Of a batch with fewer rows than ranks each
                          takes all */
    struct exec exec, decoder; /* the decoder's passes have a tape of their own, a few rows at a time */
    struct arena arena, decoder_arena;
    struct thread_pool *own;              /* NULL: that of whoever made it */
    float *x, *input, *dz, *coefficients; /* dz: [batch][latent] */
    int *order;
    int64_t ordered; /* the epoch that `order` is of */
    int piece;       /* rows that fit_view() takes */
    double xi;
    double last_loss; /* of the last batch */
    int last_rows;

    /* Saved. */
    int64_t updates, epoch, position; /* position: rows of this epoch that were seen */
    double loss_sum, loss;            /* this epoch's sum over rows; the mean of the last whole epoch */
};

/* With `alone` the fit has a thread of its own (that of its caller), else it works on `pool`. */
enum status fit_create(const struct fit_setup *setup, const struct fit_data *data, const char *prefix,
                       const struct kernels *kernels, struct thread_pool *pool, bool alone, struct fit **fit,
                       struct error *err);
/* From now on ranks share the rows of each batch. */
void fit_share(struct fit *fit, struct comm *comm);
void fit_destroy(struct fit *fit); /* NULL is fine */
/* One batch. STATUS_NUMERIC where the loss is not finite. */
enum status fit_update(struct fit *fit, struct error *err);
bool fit_done(const struct fit *fit);
/* Weights, optimiser and position of another fit of the same setup and data. */
void fit_copy(struct fit *to, const struct fit *from);
/* Entries of a snapshot in its three roles; call for all fits of a run in one role before the next. */
enum status fit_snapshot(struct fit *fit, enum snapshot_role role, struct snapshot *snapshot, const char *prefix,
                         struct error *err);
/* After entries were read. */
void fit_loaded(struct fit *fit);
/* The mean loss of the last whole epoch: what restarts are compared by. */
double fit_objective(const struct fit *fit);

/* Up to `piece` rows: means of the latent variables and, from those or from a sample, what is decoded (logits for
 * counts). The arrays are valid until the next call. */
struct fit_view {
    const float *x, *mean, *log_variance, *y; /* [count][features or latent] */
};
enum status fit_view(struct fit *fit, const int *rows, int count, bool sampled, int64_t first, struct fit_view *view,
                     struct error *err);

/* xi of the prior on variances: the 5 % quantile of the columns' deviations, squared, times the 10 % quantile of
 * chi^2_3, over 3. */
double fit_calibrate(const double *deviation, int count);

#endif
