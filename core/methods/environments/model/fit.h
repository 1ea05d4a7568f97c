/* One model in training: an encoder, latent variables of unit variance, and heads on a tree. Adam minimises the squared
 * error of batches of rows drawn at random. A proximal step after each update applies the penalty on changes, which
 * sets many changes to exactly zero (arXiv:2405.20482). */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_MODEL_FIT_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_MODEL_FIT_H

#include "core/data/trees/environments.h"
#include "core/methods/environments/model/edges.h"
#include "core/methods/environments/model/least.h"
#include "core/nn/adam.h"
#include "core/nn/gradients.h"
#include "core/nn/layers.h"

enum fit_encoder { ENCODER_LINEAR, ENCODER_MLP, ENCODER_GIVEN }; /* GIVEN: the true latent variables, no encoder */
enum { TREE_PIECE_ROWS = 1024 };                                 /* rows that tree_model_encode() encodes at once */
enum fit_penalty { PENALTY_NONE, PENALTY_L1, PENALTY_L2 };

struct fit_setup {
    enum fit_encoder encoder;
    int features, latent, hidden;
    bool unit_variance;
    enum fit_penalty penalty;
    double weight;    /* weight of the penalty; the mean squared error of a row has weight 1 */
    double sharpness; /* if above 0, the penalty on a change of size d is multiplied by sharpness / (sharpness + d),
                         after the first third of the updates */
    double learning_rate;
    int batch;
    int64_t updates;
    uint64_t seed;
};

/* The encoder and the heads as named arrays. Their names follow the prefix: encoder.*, latent.deviation [latent],
 * heads.base [latent], heads.changes [edges][latent]. */
struct tree_model {
    struct fit_setup setup;
    struct params *params;
    struct mlp encoder;
    struct weight *deviation, *base, *changes; /* base: NULL without w_0; changes: NULL if no edge has a change */
};
/* Returns STATUS_CORRUPT unless a checkpoint has an encoder of the shapes of this setup. Allocates no weights. */
enum status tree_model_fit(const struct fit_setup *setup, const struct snapshot_reader *from, struct error *err);

struct tree_fit {
    struct tree_model *model;
    const struct tree_edges *edges;
    const struct environments *data;
    struct adam *adam;
    struct gradients gradients;
    struct comm *comm; /* ranks that share the rows of a batch; NULL: one rank */
    struct arena arena;
    struct exec exec;
    struct thread_pool *own; /* a pool of one thread for this fit alone; NULL: the fit uses the pool of its creator */
    float *x, *slope;        /* buffers of one batch */
    float *y;
    int32_t *node;
    int64_t updates;
    double last_loss; /* mean squared error of the last batch */
};

/* Creates a fit with random initial weights. data, edges and pool must outlive it. With `alone`, the fit computes on
 * the caller's thread only, so that several fits can run at once; otherwise it uses `pool`. */
enum status tree_fit_create(const struct fit_setup *setup, const struct tree_edges *edges,
                            const struct environments *data, const char *prefix, const struct kernels *kernels,
                            struct thread_pool *pool, bool alone, struct tree_fit **fit, struct error *err);
/* Makes the ranks of `comm` share the rows of each batch. */
void tree_fit_share(struct tree_fit *fit, struct comm *comm);
void tree_fit_destroy(struct tree_fit *fit); /* NULL is fine */
enum status tree_fit_update(struct tree_fit *fit, struct error *err);
bool tree_fit_done(const struct tree_fit *fit);
/* Copies the weights, the optimiser and the position in training. The setups of the two fits may differ only in the
 * seed. */
void tree_fit_copy(struct tree_fit *to, const struct tree_fit *from);
/* Computes the value that training minimises, over all rows: mean squared error plus penalty. Stores the
 * standard deviations of the latent variables over all rows in the fit. */
enum status tree_fit_objective(struct tree_fit *fit, double *objective, struct error *err);
/* Declares the optimiser's moments or the position in training as entries of a snapshot. The name of each entry begins
 * with `prefix`. Call it for all fits with one role before calling it with the next role. */
enum status tree_fit_snapshot(struct tree_fit *fit, enum snapshot_role role, struct snapshot *snapshot,
                              const char *prefix, struct error *err);
/* Ends the training: sets the deviations to those over all rows. With `refit`, it then fits the non-zero weights once
 * more, without the penalty. */
enum status tree_fit_settle(struct tree_fit *fit, bool refit, struct error *err);

/* Computes latent variables of rows, z: [rows][latent], with the final deviations, on the pool of `e`. given:
 * [rows][latent] for ENCODER_GIVEN, else NULL. */
enum status tree_model_encode(struct tree_model *model, struct exec *e, const float *x, const float *given, int rows,
                              float *z, struct error *err);
/* Number of changes whose size is above `least`. */
int tree_fit_found(const struct tree_fit *fit, double least);

#endif
