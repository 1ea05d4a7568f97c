/* A factors run in progress: private to core/methods/factors.
 *
 * Training runs all restarts side by side. run.c has the run's table, work.c opens and trains the model, evaluate.c
 * measures it, result.c and plots.c report. */
#ifndef MOTIF_CORE_METHODS_FACTORS_RUN_INT_H
#define MOTIF_CORE_METHODS_FACTORS_RUN_INT_H

#include "core/data/scale.h"
#include "core/data/tables/lda.h"
#include "core/methods/factors/config.h"
#include "core/methods/shared/multi_start.h"

/* synthetic data sets from this index on serve evaluations only; training never uses them */
enum { FRESH_SETS = 1 << 30 };

/* The figures of the model. NaN marks a figure that does not apply. A checkpoint stores the members before `restart`,
 * which are doubles, as one array. */
struct outcome {
    double mse, mse_mean; /* mean squared error of a held-out entry; mse: with sampled latent variables; mse_mean: with
                             their means */
    double nll, nll_mean; /* held-out negative log likelihood per row, only for counts and 0/1 data; nll: with sampled
                             latent variables; nll_mean: with their means */
    double dci, dci_16;   /* DCI scores; dci: from 500 training rows; dci_16: from 16 */
    double support_f1, hamming;
    double columns;                    /* number of mask columns with a non-zero entry */
    double anchors;                    /* number of features that depend on a single factor */
    double objective, worst_objective; /* objective: that of the best restart; worst_objective: that of the worst */
    double recall, ndcg;               /* held-out recall at 5 and NDCG at 10 (core/metrics/ranking.h); ratings only */
    double accuracy;      /* accuracy of predicting the rows' classes from the means of the latent variables */
    double anchors_apart; /* fraction of anchors whose largest covariance is with another anchor of their factor
                             (Theorem 2) */
    double anchors_found; /* fraction of the true anchors that the mask shows as anchors */
    double factors_apart; /* fraction of the pairs of used factors in which both variances exceed |covariance|
                             (assumption A3) */
    int64_t restart;      /* index of the best restart */
    int64_t updates, samples;
};
enum { OUTCOME_REALS = offsetof(struct outcome, restart) / sizeof(double) };

struct method_run {
    /* The first two members are those of struct multi_start_run, because the functions of multi_start.h read them. */
    struct model_run base;
    struct multi_start multi_start; /* fits of type `struct fit` */

    struct factors_config config;
    struct outcome outcome;

    /* The data, open with the model. */
    struct features *features;
    struct features *table; /* the table that was read, which may be `features`; NULL: none */
    struct lda topics;      /* topics of the table, for shifted documents; zeroed until they are fitted */
    struct nmf *nmf;        /* if the model is nmf: the factorisation, which takes the place of the fits */
    float *view;            /* scratch of case_view() for a factorisation: [rows][features + features + latent] */
    int *rows;              /* indices of the training rows, then of the test rows */
    struct fit_data data;

    struct scale scale; /* of the table; its columns are 0 until the table was scaled, and for generated data */

    /* Stored in checkpoints. */
    int64_t width; /* number of features */
};
_Static_assert(offsetof(struct method_run, multi_start) == offsetof(struct multi_start_run, multi_start),
               "a run begins like struct multi_start_run");

static inline struct fit *case_fit(const struct method_run *run)
{
    return run->multi_start.fit[0];
}

/* Defined in work.c. */
/* Opens the data, and all restarts (or only the chosen one) with their initial weights, if they are not open. */
enum status factors_run_open(struct method_run *run, struct error *err);
void factors_run_close(struct method_run *run);
/* Runs one update of every fit. After screen_epochs epochs, or at the end of training, it also chooses the best of the
 * restarts. */
enum status case_update(struct method_run *run, struct error *err);
/* For an evaluation: replaces the rows by newly drawn rows of the same kind. Only for synthetic data. */
enum status case_fresh(struct method_run *run, struct error *err);
bool case_trained(const struct method_run *run);

/* Applies the model to up to case_piece() rows: *view gets the model's input, the means of the latent variables, and
 * the reconstruction from the means or, if `sampled`, from a sample (see fit.h). */
enum status case_view(struct method_run *run, const int *rows, int count, bool sampled, int64_t first,
                      struct fit_view *view, struct error *err);
int case_piece(const struct method_run *run);
/* Writes the model's mask, [features][latent]; false when it has none. */
bool case_mask(const struct method_run *run, float *mask);
/* Only for a model with a mask: writes how strongly each weight acts on the decoder (prior_reach()), also for weights
 * that the mask sets to zero. */
void case_reach(const struct method_run *run, float *reach);

/* Defined in evaluate.c. */
enum status factors_evaluate(struct method_run *run, struct outcome *out, struct error *err);
/* Means of the latent variables of `rows`, [count][latent]; the caller frees them. */
enum status case_encode(struct method_run *run, const int *rows, int count, float **codes, struct error *err);

/* Defined in plots.c. */
enum status factors_plots(struct method_run *run, struct error *err);

#endif
