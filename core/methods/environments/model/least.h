/* Least squares for heads with given latent variables. A row has the latent variables z and the outcome y. The sums of
 * z z' and z y over a node's rows contain all that a head can learn from these rows. Pure functions in double
 * precision. */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_MODEL_LEAST_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_MODEL_LEAST_H

#include "core/methods/environments/model/edges.h"

/* Sums over rows of z z' and of z y, for each node. */
struct least_sums {
    int nodes, latent;
    double *products; /* [nodes][latent][latent] */
    double *outcomes; /* [nodes][latent] */
};
enum status least_sums_create(int nodes, int latent, struct least_sums *sums, struct error *err);
void least_sums_close(struct least_sums *sums);
void least_sums_add(struct least_sums *sums, int node, const float *z, float y);

/* least_refit() replaces w_0 and the changes that are not zero by the values that minimise the error without a penalty.
 * It does nothing when there are more unknowns than LEAST_UNKNOWNS. `pool` may be NULL. Error: STATUS_CANCELLED if the
 * pool was stopped. */
enum { LEAST_UNKNOWNS = 1500 };
enum status least_refit(const struct tree_edges *edges, const struct least_sums *sums, struct weight *base,
                        struct weight *changes, struct thread_pool *pool, struct error *err);

/* Finds the d that minimises (mean over the rows of (y - (w + d) . z)^2) + penalty * |d|_1, by coordinate descent. z:
 * [rows][latent]; w, d: [latent]. Ends early if the pool was stopped; the caller checks the pool. */
void least_change(const float *z, const float *y, int rows, int latent, const float *w, double penalty,
                  struct thread_pool *pool, double *d);

#endif
