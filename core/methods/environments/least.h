/* Least squares for heads when the latent variables are given: everything about the rows of a node that a head can
 * know is a small matrix. Pure functions in double precision. */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_LEAST_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_LEAST_H

#include "core/methods/environments/edges.h"

/* Sums over rows of z z', z y and y^2. */
struct least_sums {
    int nodes, latent;
    double *products; /* [nodes][latent][latent] */
    double *outcomes; /* [nodes][latent] */
};
enum status least_sums_create(int nodes, int latent, struct least_sums *sums, struct error *err);
void least_sums_close(struct least_sums *sums);
void least_sums_add(struct least_sums *sums, int node, const float *z, float y);

/* The unpenalised optimum over w_0 and those changes that are not zero, written over them. More unknowns than
 * LEAST_UNKNOWNS: nothing happens. */
enum { LEAST_UNKNOWNS = 1500 };
enum status least_refit(const struct tree_edges *edges, const struct least_sums *sums, struct weight *base,
                        struct weight *changes, struct error *err);

/* min over d of (mean squared error of y = (w + d) . z over `rows`) + penalty |d|_1, by coordinate descent. z:
 * [rows][latent]; w, d: [latent]. */
void least_change(const float *z, const float *y, int rows, int latent, const float *w, double penalty, double *d);

#endif
