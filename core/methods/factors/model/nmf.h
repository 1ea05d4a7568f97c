/* Non-negative matrix factorisation, X ~ A H with A, H >= 0, by coordinate descent (Cichocki and Phan 2009). NNDSVD
 * (Boutsidis and Gallopoulos 2008) gives the initial matrices. It minimises half the squared error of X plus penalty /
 * 2 times the sum of the squares of all entries of A and H.
 *
 * Features with negative training entries are shifted up so that their minimum is 0; held-out entries below that
 * minimum count as the minimum. */
#ifndef MOTIF_CORE_METHODS_FACTORS_MODEL_NMF_H
#define MOTIF_CORE_METHODS_FACTORS_MODEL_NMF_H

#include <stdbool.h>

#include "core/base/snapshot.h"
#include "core/base/parallel/thread_pool.h"
#include "core/data/tables/features.h"
#include "core/kernels/kernels.h"

struct nmf_setup {
    int features, latent;
    double penalty, tolerance;
    int64_t iterations; /* upper limit of the number of iterations */
};

struct nmf {
    struct nmf_setup setup;
    const struct kernels *kernels;
    struct thread_pool *pool;
    int rows;
    float *x;      /* [rows][features] shifted data; NULL in a model for queries */
    float *codes;  /* [rows][latent] A */
    float *parts;  /* [features][latent] H' */
    float *lowest; /* [features] minima */
    float *products;
    int64_t done;       /* number of iterations that are done */
    double first, last; /* distance from the optimum; first: at the first iteration; last: at the last one */
};

/* The functions below end early when the pool is stopped. Their results are then undefined, and the caller checks the
 * pool. */

/* Creates a factorisation of rows `rows` of `features`, started by NNDSVD. If rows is NULL, the matrices are zero until
 * a snapshot is read into them. */
enum status nmf_create(const struct nmf_setup *setup, const struct features *features, const int *rows, int count,
                       const struct kernels *kernels, struct thread_pool *pool, struct nmf **nmf, struct error *err);
void nmf_destroy(struct nmf *nmf); /* NULL is fine */
/* Runs one pass over A and one over H. */
void nmf_iterate(struct nmf *nmf);
bool nmf_finished(const struct nmf *nmf);
/* Half the squared error plus the penalty. */
double nmf_objective(const struct nmf *nmf);

/* Computes the codes of one row of features with the current H, and the reconstruction of the row. pool: only to end
 * early. codes: [latent]; y: [features]. */
void nmf_apply(const struct nmf *nmf, struct thread_pool *pool, const float *x, float *codes, float *y);

/* Declares the entries of the given role in a snapshot. */
enum status nmf_snapshot(struct nmf *nmf, enum snapshot_role role, struct snapshot *snapshot, struct error *err);

#endif
