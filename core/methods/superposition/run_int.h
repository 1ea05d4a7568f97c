/* A superposition run in progress: private to core/methods/superposition.
 *
 *   for each case:  TRAIN (trained models only) --> EVALUATE (a rug once for each draw) --> next case
 *   after the last: DONE, with the last case's model still there
 *
 * run.c drives the phases, work.c does an update or a piece of an evaluation, checkpoint.c names what is saved,
 * result.c and plots.c write what came out. */
#ifndef MOTIF_CORE_METHODS_SUPERPOSITION_RUN_INT_H
#define MOTIF_CORE_METHODS_SUPERPOSITION_RUN_INT_H

#include "core/base/arena.h"
#include "core/data/chart.h"
#include "core/methods/superposition/batch.h"
#include "core/methods/superposition/config.h"
#include "core/methods/superposition/rug.h"
#include "core/methods/superposition/statistics.h"
#include "core/methods/superposition/theory.h"
#include "core/nn/adam.h"

enum run_phase { PHASE_TRAIN, PHASE_EVALUATE, PHASE_DONE };

enum { METRIC_UPDATES = 20, EVALUATION_PIECE = 256 };

/* What was measured of a case. Doubles only: saved as a table. */
struct outcome {
    double loss, error;      /* mean over samples and features, and its standard error */
    double low, high;        /* over the draws of a rug */
    double train_loss;       /* mean of the last window of updates */
    double updates, samples; /* of training */
    double active;           /* share of outputs above zero in the last batch */
    struct statistics statistics;
};
enum { OUTCOME_COLUMNS = 8 + STATISTICS };
_Static_assert(sizeof(struct outcome) == OUTCOME_COLUMNS * sizeof(double), "an outcome is a row of doubles");

struct method_run {
    struct superposition_config config;
    struct method_env env;
    struct superposition_case *cases;
    struct outcome *outcomes; /* [count] */
    int count;
    double *flops, total_flops; /* of each case, for progress */

    /* The open case. */
    int opened, opened_draw; /* -1: none */
    struct autoencoder *model;
    struct adam *adam;
    struct batch *batch;
    struct rug rug;
    double scale, offset; /* of the rug */
    struct arena arena;
    struct exec exec;
    float *scratch; /* of rugs: per worker 2 n_s, or 2 n_s and the transform's */

    /* Saved. */
    int64_t phase, at, draw;
    int64_t updates, samples; /* of the open case */
    int64_t seen, work;       /* of the run: samples, test samples too; updates and pieces */
    double *losses;           /* [2 window] of the last updates, a ring */
    double loss_sum;          /* since the last metric */
    int64_t position;         /* of the evaluation */
    double sum, squares;      /* of its samples' losses */
    int64_t evaluation_seed, evaluation_samples, alone; /* alone: evaluate the open case and end */
};

/* run.c. A value that is not finite is left out. */
void superposition_metric(const struct method_run *run, const char *name, double value);

/* work.c */
/* Makes the model of case `at` (and its draw) ready; weights as at the start. */
enum status work_open(struct method_run *run, int at, int draw, struct error *err);
void work_close(struct method_run *run);
enum status work_update(struct method_run *run, struct error *err);
/* Whether training ends before the next update. */
bool work_trained(const struct method_run *run);
double work_window_loss(const struct method_run *run); /* mean of the last window */
/* Evaluates some more samples; *done after the last, with the loss in the case's outcome. */
enum status work_evaluate(struct method_run *run, bool *done, struct error *err);

/* plots.c, plots_one.c */
enum status plots_write(struct method_run *run, struct error *err);
enum status plots_one(struct method_run *run, struct error *err);

/* n_d / n_s of a case. */
static inline double case_ratio(const struct superposition_case *c)
{
    return (double)c->n_d / c->n_s;
}
static inline double case_sigma(const struct superposition_case *c)
{
    return theory_sigma(c->p, case_ratio(c));
}
/* The closed form of its loss: of the best ReLU model, of the best linear one. */
static inline double case_predicted(const struct superposition_case *c)
{
    return c->model == MODEL_LINEAR ? theory_linear(c->p, case_ratio(c)) : theory_optimum(c->p, case_sigma(c)).loss;
}

#endif
