/* An environments run in progress: private to core/methods/environments.
 *
 * Training runs all restarts side by side. run.c has the run's table, work.c opens and trains the model, evaluate.c
 * measures it, result.c and plots.c report. */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_RUN_INT_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_RUN_INT_H

#include "core/methods/environments/config.h"
#include "core/methods/shared/multi_start.h"

/* Indices of the sets of simulated rows. Evaluations simulate the sets from index SETS_FRESH on. */
enum { SET_TRAINING, SET_TEST, SETS_FRESH = 1000 };

/* The figures of the model. NaN marks a figure that does not apply. A checkpoint stores the members before `restart`,
 * which are doubles, as one array. */
struct outcome {
    double mcc, linear_r2; /* recovery of the latent variables, on test rows of the training environments; mcc: up to
                              permutation and scale; linear_r2: up to a linear map */
    /* mse: mean squared error on test rows of the training environments; mse_unseen: on unseen environments, with the
     * weights of their parents */
    double mse, mse_unseen;
    double mse_unseen_fit; /* as mse_unseen, but with a change of the parent's weights that was fitted to the first rows
                              of each environment; the error is that of its other rows */
    double changes_found, changes_true;
    double changes_right; /* number of true changes that the model has found: on the same edge of the tree, in the
                             latent variable that is matched with the true one */
    /* For outcomes of 0 and 1: share of the rows that are classified correctly. accuracy: of the rows of mse;
     * accuracy_unseen: of the rows of mse_unseen */
    double accuracy, accuracy_unseen;
    double train_loss;
    double objective, worst_objective; /* value of the best restart, and of the worst */
    int64_t restart;                   /* index of the best restart */
    int64_t updates, samples;
};
enum { OUTCOME_REALS = offsetof(struct outcome, restart) / sizeof(double) };

struct method_run {
    /* The first two members are those of struct multi_start_run, because the functions of multi_start.h read them. */
    struct model_run base;
    struct multi_start multi_start; /* fits of type `struct tree_fit` */

    struct environments_config config;
    struct outcome outcome;

    /* The data, open with the model. */
    struct tree *tree;
    struct environments *train, *test, *unseen; /* unseen: NULL when there are none */
    char **names;                               /* [features] column names of a table, else NULL */
    int name_count;
    struct scale scale, outcome_scale; /* of a table's features and of its outcome; columns 0: unscaled */
    int *place;                        /* [nodes] the position in the tree at which the model sees each environment */
    int *unseen_node;                  /* [unseen_count] nodes of the tree */
    int unseen_count;
    struct tree_edges edges;

    /* Stored in checkpoints. */
    int64_t features; /* number of features of the data */
};
_Static_assert(offsetof(struct method_run, multi_start) == offsetof(struct multi_start_run, multi_start),
               "a run begins like struct multi_start_run");

static inline struct tree_fit *tree_fit_of(const struct method_run *run)
{
    return run->multi_start.fit[0];
}

/* Defined in work.c. */
/* Opens the data, the edges, and all restarts (or only the chosen one) with their initial weights, if they are not
 * open. */
enum status tree_run_open(struct method_run *run, struct error *err);
void tree_run_close(struct method_run *run);
/* Runs one update of every fit. After screen_updates updates, it also chooses the best of the restarts. */
enum status tree_run_update(struct method_run *run, struct error *err);
bool tree_run_trained(const struct method_run *run);

/* For an evaluation: replaces the test rows by newly simulated rows. Only for simulated data. */
enum status tree_run_fresh(struct method_run *run, struct error *err);

/* Defined in evaluate.c. */
enum status tree_run_evaluate(struct method_run *run, struct outcome *out, struct error *err);

enum { COLUMNS_SHOWN = 5 };
struct column_link {
    int column; /* index of the column; -1 ends a list that is shorter than COLUMNS_SHOWN */
    double correlation;
};
/* Finds the columns that correlate most with each latent variable, on test rows, or on training rows where there are no
 * test rows. links: [latent][COLUMNS_SHOWN]. */
enum status environments_columns(struct method_run *run, struct column_link *links, struct error *err);

/* Defined in plots.c. */
enum status environments_plots(struct method_run *run, struct error *err);

#endif
