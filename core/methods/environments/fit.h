/* One model in training: an encoder, latent variables of unit variance, and heads on a tree. By Adam on the squared
 * error of batches of rows drawn at random; the penalty on changes by a proximal step after each update, which leaves
 * zeros. */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_FIT_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_FIT_H

#include "core/data/trees/environments.h"
#include "core/methods/environments/edges.h"
#include "core/methods/environments/least.h"
#include "core/nn/adam.h"
#include "core/nn/gradients.h"
#include "core/nn/layers.h"

enum fit_encoder { ENCODER_LINEAR, ENCODER_MLP, ENCODER_GIVEN }; /* given: z itself */
enum fit_penalty { PENALTY_NONE, PENALTY_L1, PENALTY_L2 };

struct fit_setup {
    enum fit_encoder encoder;
    int features, latent, hidden;
    bool unit_variance;
    enum fit_penalty penalty;
    double weight;    /* of the penalty against the mean squared error of a row */
    double sharpness; /* above 0: from a third of the updates on a change of size d counts sharpness / (sharpness + d)
                         times */
    double learning_rate;
    int batch;
    int64_t updates;
    uint64_t seed;
};

/* Encoder and heads as arrays, their names behind the prefix: encoder.*, latent.deviation [latent], heads.base
 * [latent], heads.changes [edges][latent]. */
struct tree_model {
    struct fit_setup setup;
    struct params *params;
    struct mlp encoder;
    struct weight *deviation, *base, *changes; /* base or changes NULL where the edges have none */
};
enum status tree_model_create(const struct fit_setup *setup, const struct tree_edges *edges, const char *prefix,
                              bool with_grad, struct tree_model **model, struct error *err);
void tree_model_destroy(struct tree_model *model); /* NULL is fine */

struct tree_fit {
    struct tree_model *model;
    const struct tree_edges *edges;
    const struct environments *data;
    struct adam *adam;
    struct gradients gradients;
    struct comm *comm; /* ranks that share the rows of a batch; NULL: one */
    struct arena arena;
    struct exec exec;
    struct thread_pool *own; /* NULL: that of others */
    float *x, *slope;        /* of a batch */
    float *y;
    int32_t *node;
    int64_t updates;
    double last_loss; /* mean squared error of the last batch */
};

/* data, edges and pool outlive the fit. With `alone` it has a thread of its own (that of its caller), else it works on
 * `pool`. */
enum status tree_fit_create(const struct fit_setup *setup, const struct tree_edges *edges,
                            const struct environments *data, const char *prefix, const struct kernels *kernels,
                            struct thread_pool *pool, bool alone, struct tree_fit **fit, struct error *err);
/* From now on ranks share the rows of each batch. */
void tree_fit_share(struct tree_fit *fit, struct comm *comm);
void tree_fit_destroy(struct tree_fit *fit); /* NULL is fine */
enum status tree_fit_update(struct tree_fit *fit, struct error *err);
bool tree_fit_done(const struct tree_fit *fit);
/* Weights, optimiser and position of another fit of the same setup but for the seed. */
void tree_fit_copy(struct tree_fit *to, const struct tree_fit *from);
/* What training brings down, over all rows: the mean squared error and the penalty. Settles the deviations. */
enum status tree_fit_objective(struct tree_fit *fit, double *objective, struct error *err);
/* Optimiser and position under names behind the prefix, in their roles; call for all fits in one role before the
 * next. */
enum status tree_fit_snapshot(struct tree_fit *fit, enum snapshot_role role, struct snapshot *snapshot,
                              const char *prefix, struct error *err);
/* After training: settles the deviations over all rows, and refits what is not zero without the penalty (refit). */
enum status tree_fit_settle(struct tree_fit *fit, bool refit, struct error *err);

/* Latent variables of rows, [rows][latent], with the settled deviations. given: [rows][latent] for ENCODER_GIVEN,
 * else NULL. On the exec's pool. */
enum status tree_model_encode(struct tree_model *model, struct exec *e, const float *x, const float *given, int rows,
                              float *z, struct error *err);
/* Changes whose size is above `least`. */
int tree_fit_found(const struct tree_fit *fit, double least);

#endif
