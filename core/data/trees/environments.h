/* Inputs, outcomes and environments: rows that each belong to a node of a tree, where the outcome is a linear
 * function of latent variables of the input, and that function changes sparsely along the arcs.
 *
 *   z = psi(x), the same everywhere, each of variance 1;  y = w_node . z + noise;  w_child = w_parent + change */
#ifndef MOTIF_CORE_DATA_TREES_ENVIRONMENTS_H
#define MOTIF_CORE_DATA_TREES_ENVIRONMENTS_H

#include "core/data/trees/tree.h"

struct environments {
    int rows, features, latent; /* latent 0: nothing is known of z and the weights */
    float *x;                   /* [rows][features] */
    float *y;                   /* [rows] */
    int *node;                  /* [rows] */
    float *z;                   /* [rows][latent] */
    double *weights, *changes;  /* [nodes][latent] of each node, and of the arc above it */
    char **names;               /* [features]; NULL: nothing */
    int labels;                 /* y was read, not made, and is 0 or 1 */
};
void environments_free(struct environments *table); /* NULL is fine */

/* How weights change along arcs, and the noise. */
struct environments_outcome {
    uint64_t seed;
    int latent;
    int changes;    /* coordinates that change on an arc, drawn without replacement; each by N(0, 1) */
    double density; /* above 0: each coordinate changes with this probability instead */
    double noise;   /* deviation */
};

enum environments_psi { PSI_LINEAR, PSI_TANH }; /* unit rows; 32 tanh units between normal matrices */

/* x ~ N(0, I). A function of (seed, set): the tree's weights and psi depend on the seed alone, rows on both, and row
 * i of a node on (seed, set, node, i). `nodes`: [node_count] those that get `per_node` rows each. */
enum status environments_simulate(const struct tree *tree, const struct environments_outcome *outcome,
                                  enum environments_psi psi, int features, const int *nodes, int node_count,
                                  int per_node, uint32_t set, struct environments **environments, struct error *err);

/* A data set's folder: tree_edges.tsv or tree.nwk, and a table.
 *
 * Either samples.tsv or cells.tsv, whose first column is an id, beside expression.tsv or counts.tsv with a line a
 * feature (the header begins with an empty field and names the ids in the same order); or one table, samples.tsv or
 * counts.tsv, with a column a feature. Of the columns that are text the one that names the most nodes of the tree says
 * where a row belongs (of two levels the lower), rows of other places are left out. A column called y, outcome, label
 * or resistant is the outcome; without it (or when `plant` is asked for) latent variables and outcomes are planted: z_k
 * the tanh of the mean of the k-th of `latent` disjoint groups of features, drawn at random.
 *
 * Or a table that was uploaded (set.snapshot): its groups are the environments, and where their names hold '/' these
 * are paths from the root. The outcome is a column as above or else the label, a number or one of two names.
 *
 * Features: log(1 + x) where `counts` (all are whole numbers, some above 30), the `features` of the largest variance,
 * standardised. */
struct environments_reading {
    int features; /* at most */
    bool plant;
    struct environments_outcome outcome;
};
enum status environments_read(const char *folder, const struct environments_reading *reading, struct tree **tree,
                              struct environments **environments, struct error *err);

/* Rows of some nodes, copied: keep[node]. */
enum status environments_filter(const struct environments *from, int nodes, const bool *keep_row,
                                struct environments **environments, struct error *err);

#endif
