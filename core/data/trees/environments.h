/* Inputs, outcomes and environments: each row belongs to a node of a tree. The outcome is a linear function of latent
 * variables of the input, and the function's weights change sparsely along the tree's edges.
 *
 *   z = psi(x), with the same psi for all nodes; each z_k has variance 1
 *   y = w_node . z + noise
 *   w_child = w_parent + change */
#ifndef MOTIF_CORE_DATA_TREES_ENVIRONMENTS_H
#define MOTIF_CORE_DATA_TREES_ENVIRONMENTS_H

#include "core/base/parallel/thread_pool.h"
#include "core/data/scale.h"
#include "core/data/trees/tree.h"

struct environments {
    int rows, features, latent; /* latent: number of latent variables z; 0: z and the weights are unknown */
    float *x;                   /* [rows][features] inputs */
    float *y;                   /* [rows] outcomes */
    int *node;                  /* [rows] node of each row */
    bool *test;                 /* [rows] whether the file states that the row is a test row; NULL: it states none */
    float *z;                   /* [rows][latent] latent variables */
    double *weights, *changes;  /* [nodes][latent] weights of each node, and their changes on the edge to its parent */
    char **names;               /* [features]; NULL: no names */
    int labels;                 /* 1: y was read from a file and every value is 0 or 1 */
};
void environments_free(struct environments *table); /* NULL is allowed */

/* How the weights change along edges, and the noise of the outcome. */
struct environments_outcome {
    uint64_t seed;
    int latent;
    /* number of coordinates that change on an edge, drawn without replacement; each change is drawn from N(0, 1) */
    int changes;
    double density; /* if above 0, each coordinate changes with this probability, and `changes` is ignored */
    double noise;   /* standard deviation of the noise */
};

/* psi is linear with rows of norm 1, or a layer of 32 tanh units between two matrices of normal numbers. */
enum environments_psi { PSI_LINEAR, PSI_TANH };

/* Simulates rows with x ~ N(0, I) as a function of (seed, set). Weights and psi depend on the seed alone; row i of a
 * node depends on (seed, set, node, i). nodes: [node_count], the nodes that get `per_node` rows each. The caller frees
 * *environments. STATUS_CANCELLED when `pool` is stopped; with NULL, it cannot be stopped. */
enum status environments_simulate(const struct tree *tree, const struct environments_outcome *outcome,
                                  enum environments_psi psi, int features, const int *nodes, int node_count,
                                  int per_node, uint32_t set, struct thread_pool *pool,
                                  struct environments **environments, struct error *err);

/* environments_read() reads an uploaded table with groups. The groups are the environments; names of groups that
 * contain
 * '/' are paths from the root of the tree.
 *
 * A column called y, outcome, label or resistant is the outcome; without one, the label is, if the labels are numbers
 * or two names. Without an outcome, or with `plant`, latent variables and an outcome are planted: z_k is the tanh of
 * the mean of some features. The `latent` sets of features are disjoint and drawn at random.
 *
 * The `features` of the largest variance stay, and constant ones do not. With `published`, and for a planted outcome,
 * features become log(1 + x) if they are counts (all are whole numbers, some above 30), and are standardised with the
 * statistics of all rows; `scale`, which must be zeroed, gets this scale. Other features stay as they are. */
struct environments_reading {
    int features; /* largest number of features that stay */
    bool plant, published;
    struct scale *scale; /* the caller closes it, after an error too; NULL: not wanted */
    struct environments_outcome outcome;
    struct thread_pool *pool; /* environments_read() returns STATUS_CANCELLED when the pool is stopped; may be NULL */
};
/* Reads the tree and the rows. The caller destroys *tree and frees *environments; after an error both are NULL.
 * STATUS_NOT_FOUND: the folder has no upload. STATUS_INVALID: the upload is not such a table. */
enum status environments_read(const char *folder, const struct environments_reading *reading, struct tree **tree,
                              struct environments **environments, struct error *err);

/* How the rows of an upload are divided, before environments are held out as a whole (`unseen`). */
struct environments_rows {
    int environments;
    bool stated; /* the file states the test rows; otherwise they are a share of the rows of each environment */
    int64_t training, test;
};
/* Checks an upload before environments_read(), without reading its values: it must be a table with at least two groups,
 * and if labels are the outcome, they must be numbers or two names. There must be two training rows and, unless
 * `unseen`, a test row. test: share of test rows. *planted: whether environments_read() would plant an outcome.
 * STATUS_NOT_FOUND: the folder is not an upload. STATUS_INVALID: the upload does not satisfy these conditions. */
enum status environments_check_upload(const char *folder, bool plant, double test, bool unseen, bool *planted,
                                      struct environments_rows *rows, struct error *err);

/* Copies the rows i with keep_row[i]; keep_row: [from->rows]; nodes: number of nodes of the tree. The caller frees
 * *environments. */
enum status environments_filter(const struct environments *from, int nodes, const bool *keep_row,
                                struct environments **environments, struct error *err);

#endif
