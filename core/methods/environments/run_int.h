/* An environments run in progress: private to core/methods/environments.
 *
 * Training has restarts side by side; an evaluation settles, refits and measures. run.c is the walk's table, with
 * what is saved; work.c opens cases (what the data, the tree and the edges are), evaluate.c measures, result.c and
 * plots.c write what came out. */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_RUN_INT_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_RUN_INT_H

#include "core/methods/environments/config.h"
#include "core/methods/shared/multi_start.h"
#include "core/methods/shared/case_sweep.h"

enum { SET_TRAINING, SET_TEST, SETS_FRESH = 1000 }; /* of simulated rows; evaluations draw from SETS_FRESH on */

/* What was measured of a case. Doubles only: saved as a table. NaN where a figure has no meaning. */
struct outcome {
    double mcc, linear_r2;  /* of test rows of the environments that were seen */
    double mse, mse_unseen; /* of test rows; of environments that were not, by their parents' weights */
    double mse_unseen_fit;  /* of those after a fit of their own change to a few rows */
    double changes_found, changes_true, changes_right; /* right: found where there is one, of the matched variable */
    double accuracy, accuracy_unseen;                  /* outcomes that are 0 or 1 */
    double train_loss, updates, samples;
    double objective, worst_objective, restart; /* of the restart that was kept, of the worst; which was kept */
};
enum { OUTCOME_COLUMNS = 16 };
_Static_assert(sizeof(struct outcome) == OUTCOME_COLUMNS * sizeof(double), "an outcome is a row of doubles");
#define OUTCOME_COLUMN(member) (offsetof(struct outcome, member) / sizeof(double))

struct method_run {
    /* These three as in struct multi_start_run. */
    struct case_sweep sweep;
    struct multi_start multi_start; /* of `struct tree_fit` */
    int64_t restarts;

    struct environments_config config;
    struct environments_case *cases;
    struct outcome *outcomes; /* as the walk's */

    /* The open case. */
    struct environments_config own;
    struct tree *tree;
    struct environments *train, *test, *unseen; /* unseen: NULL when there are none */
    char **names;                               /* [features] of a table that was read, else NULL */
    int name_count;
    int *place;       /* [nodes] where the model is told that an environment stands */
    int *unseen_node; /* [unseen_count] in the tree */
    int unseen_count;
    struct tree_edges edges;

    /* Saved. */
    int64_t features; /* of the open case */
};
_Static_assert(offsetof(struct method_run, restarts) == offsetof(struct multi_start_run, restarts),
               "a run begins like struct multi_start_run");

static inline struct tree_fit *case_fit(const struct method_run *run)
{
    return run->multi_start.fit[0];
}

/* work.c */
/* Makes data, edges and fits of case `at` ready: all restarts, or the chosen one; weights as at the start. */
enum status tree_case_open(struct method_run *run, int at, struct error *err);
void tree_case_close(struct method_run *run);
/* One update of every fit; decides between restarts when it is time. */
enum status tree_case_update(struct method_run *run, struct error *err);
bool tree_case_trained(const struct method_run *run);

/* Replaces the rows of test by fresh ones, where these can be drawn: the evaluation's. */
enum status tree_case_fresh(struct method_run *run, struct error *err);

/* evaluate.c */
enum status tree_case_evaluate(struct method_run *run, struct outcome *out, struct error *err);

/* summary.c: medians over seeds of neighbouring cases that differ in nothing else. */
struct summary {
    int baseline, count;
    double value;
    struct spread {
        double median, low, high; /* low, high: the least and the largest */
    } column[OUTCOME_COLUMNS];
};
int environments_summarise(const struct method_run *run, struct summary *out, int room);

/* columns.c */
enum { COLUMNS_SHOWN = 5 };
struct column_link {
    int column; /* -1: there are no more */
    double correlation;
};
/* The columns that correlate the most with each latent variable on test rows, or without any on those of training.
 * links: [latent][COLUMNS_SHOWN]. */
enum status environments_columns(struct method_run *run, struct column_link *links, struct error *err);

/* plots.c */
enum status environments_plots(struct method_run *run, struct error *err);

#endif
