/* One model in training on one table: batches, loss, Adam, and closed-form updates.
 *
 * The loss of a batch of B rows, for G features, K latent variables and N training rows, in the form of the authors'
 * code and in that of the paper (arXiv:2110.10804):
 *
 *                       code                                   paper
 *    Gaussian           1/(B G) sum ((x - y)/sigma)^2 / 2      1/B sum of the same + log sigma
 *    multinomial        1/B sum of -x log softmax              the same
 *    divergence         beta/(B K) sum                         beta/B sum
 *    prior of W         1/B sum lambda* |w|                    1/N sum
 *    prior of sigma     1/B of (B + nu + 2) log sigma + ...    1/N of (nu + 2) log sigma + nu xi / (2 sigma^2)
 *
 * In the last two rows, the code's B is the configured batch size, also for a shorter last batch. */
#ifndef MOTIF_CORE_METHODS_FACTORS_MODEL_FIT_H
#define MOTIF_CORE_METHODS_FACTORS_MODEL_FIT_H

#include "core/data/tables/features.h"
#include "core/methods/factors/model/prior.h"
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
    /* zeros_after: number of epochs before proximal steps may set weights to exactly zero */
    int64_t batch, epochs, zeros_after;
    double group_penalty; /* OI-VAE: weight of the group lasso */
    double rate;          /* VSC: alpha, the prior probability that a latent variable is on */
    bool printed; /* VSC: true: the divergence that a published program computes; false: the divergence that follows
                     from the model */
    uint64_t seed;
    bool relative;   /* divide a row by its sum before the encoder */
    int64_t warm_up; /* VSC: epochs of warm-up (latent_model.warmth) */
    bool bf16;       /* round the decoder's products to bf16 in training */
};

/* Rows of a table; borrowed. */
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
    struct comm *comm; /* ranks that share the rows of a batch; NULL: one rank. With fewer rows than ranks, every rank
                          takes all rows */
    struct exec exec, decoder; /* decoder: a tape for the passes of the decoder, which take a few rows at a time */
    struct arena arena, decoder_arena;
    struct thread_pool *own; /* a pool of one thread for this fit alone; NULL: the fit uses the pool of its creator */
    float *x, *input, *dz, *coefficients; /* dz: [batch][latent] */
    int *order;
    int64_t ordered; /* epoch to which the row order in `order` belongs */
    int piece;       /* upper limit of the rows of one fit_view() */
    double xi;
    double last_loss; /* loss of the last batch */
    int last_rows;

    /* stored in checkpoints */
    int64_t updates, epoch, position; /* position: rows of this epoch that are done */
    double loss_sum, loss; /* loss_sum: sum over the rows of this epoch so far; loss: mean of the last complete epoch */
};

/* Creates a fit with random initial weights; `data` and `pool` must outlive it. With `alone`, the fit computes on the
 * caller's thread only, so that several fits can run at once; otherwise it uses `pool`. */
enum status fit_create(const struct fit_setup *setup, const struct fit_data *data, const char *prefix,
                       const struct kernels *kernels, struct thread_pool *pool, bool alone, struct fit **fit,
                       struct error *err);
/* Makes the ranks of `comm` share the rows of each batch. */
void fit_share(struct fit *fit, struct comm *comm);
void fit_destroy(struct fit *fit); /* NULL is fine */
/* Trains on one batch. STATUS_NUMERIC when the loss is not finite. */
enum status fit_update(struct fit *fit, struct error *err);
bool fit_done(const struct fit *fit);
/* Copies weights, optimiser and position of a fit of the same setup and data. */
void fit_copy(struct fit *to, const struct fit *from);
/* Declares the weights, the optimiser's moments or the position in training (the three roles) as entries of a snapshot.
 * Call it for all fits of a run with one role before calling it with the next role. */
enum status fit_snapshot(struct fit *fit, enum snapshot_role role, struct snapshot *snapshot, const char *prefix,
                         struct error *err);
/* Call it after a snapshot was read: sets the members of `fit` that snapshots do not contain. */
void fit_loaded(struct fit *fit);
/* Mean loss of the last complete epoch, by which restarts are compared. */
double fit_objective(const struct fit *fit);

/* Upper limit, in bytes, of the memory for activations of the decoder. The decoder takes as many rows at once as fit
 * into this memory. skipping: whether the decoder skips zeros. */
double fit_piece_bytes(bool skipping);
/* The results of the model for a few rows: the means of the latent variables, and the decoder's output y (logits for
 * counts). The decoder reads the means or, with `sampled`, a sample. The arrays are valid until the next call. */
struct fit_view {
    const float *x, *mean, *log_variance, *y; /* [count][features or latent] */
};
enum status fit_view(struct fit *fit, const int *rows, int count, bool sampled, int64_t first, struct fit_view *view,
                     struct error *err);

/* Returns the parameter xi of the prior on variances: q^2 * c / 3, where q is the 5 % quantile of `deviation` (the
 * standard deviations of `count` columns) and c is the 10 % quantile of chi^2 with 3 degrees of freedom. */
double fit_calibrate(const double *deviation, int count);

#endif
