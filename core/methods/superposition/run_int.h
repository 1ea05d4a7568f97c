/* A superposition run in progress: private to core/methods/superposition.
 *
 * Rugs are not trained; they are evaluated once for each draw. run.c contains the functions of the table of
 * model_run.h, work.c runs an update or evaluates a few samples, result.c and plots.c report. */
#ifndef MOTIF_CORE_METHODS_SUPERPOSITION_RUN_INT_H
#define MOTIF_CORE_METHODS_SUPERPOSITION_RUN_INT_H

#include "core/base/arena.h"
#include "core/draw/chart.h"
#include "core/superposed/batch.h"
#include "core/methods/superposition/config.h"
#include "core/methods/superposition/features.h"
#include "core/superposed/rug.h"
#include "core/superposed/statistics.h"
#include "core/superposed/theory.h"
#include "core/methods/shared/model_run.h"
#include "core/nn/adam.h"
#include "core/nn/gradients.h"

enum { METRIC_UPDATES = 20, EVALUATION_PIECE = 256, EVALUATION_MOST = 100000000 };

/* The figures of the model. A checkpoint stores the members before `updates`, which are doubles, as one array. */
struct outcome {
    double loss, error; /* loss: mean over samples and features; error: its standard error */
    double low, high;   /* smallest and largest loss over the draws of a rug */
    double train_loss;  /* mean training loss of the last window of updates */
    double active;      /* share of outputs above zero in the last batch */
    struct statistics statistics;
    int64_t updates, samples; /* numbers of training updates and samples */
};

struct method_run {
    struct model_run base;
    struct superposition_config config;
    struct superposition_setup setup;
    struct outcome outcome;

    /* The open model. */
    int opened_draw; /* index of the open draw of a rug; -1: none */
    struct autoencoder *model;
    struct adam *adam;
    struct gradients gradients;
    struct batch *batch;
    struct rug rug;
    double scale, offset;     /* scale and offset of the rug's output (rug.h) */
    struct features features; /* uploaded features; open if the job has a data set */
    float *given;             /* [superposition_room()][n_s] the uploaded samples of the current batch */
    struct arena arena;
    struct exec exec;
    float *scratch; /* for rugs: 2 n_s floats for each worker (for wide rugs, 2 n_s floats in total), and the scratch of
                       the transform */

    /* Stored in checkpoints. */
    int64_t draw;
    int64_t updates;
    /* number of training samples; base.seen also counts test samples, and base.work counts steps of the evaluation,
     * too */
    int64_t samples;
    double *losses;      /* [2 window] ring buffer of the losses of the last updates */
    int64_t position;    /* number of samples evaluated so far */
    double sum, squares; /* sum of the losses of the evaluated samples, and of their squares */
    double unit;         /* features.scale; 1 for drawn features */
};

/* Defined in work.c. */
/* Creates the model with its initial weights; draw: that of a rug. */
enum status work_open(struct method_run *run, int draw, struct error *err);
/* Opens the data set, if there is one. */
enum status work_open_features(struct method_run *run, struct error *err);
/* Limits the number of test samples to the number of test rows of the data set. */
void work_limit_tests(struct method_run *run);
void work_close(struct method_run *run);
enum status work_update(struct method_run *run, struct error *err);
/* Whether training ends before the next update. */
bool work_trained(const struct method_run *run);
double work_window_loss(const struct method_run *run); /* mean of the last window */
/* Evaluates some more samples. Sets *done after the last one. */
enum status work_evaluate(struct method_run *run, bool *done, struct error *err);

/* plots.c: draws the model's matrix, its diagonal and bias, and its off-diagonal entries. */
enum status plots_write(struct method_run *run, struct error *err);

/* n_d / n_s of a model. */
static inline double setup_ratio(const struct superposition_setup *c)
{
    return (double)c->n_d / c->n_s;
}
static inline double setup_sigma(const struct superposition_setup *c)
{
    return theory_sigma(c->p, setup_ratio(c));
}
/* The loss of a model without weights, whose output for each feature is the mean of the feature. */
static inline double setup_blind(const struct method_run *run, const struct superposition_setup *c)
{
    return superposition_uploaded(&run->config) ? run->features.variance : theory_variance(c->p);
}
/* The loss by the closed form: of the best ReLU model, and of the best linear one. */
static inline double setup_predicted(const struct superposition_setup *c)
{
    return c->model == MODEL_LINEAR ? theory_linear(c->p, setup_ratio(c)) : theory_optimum(c->p, setup_sigma(c)).loss;
}

#endif
