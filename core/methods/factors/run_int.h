/* A factors run in progress: private to core/methods/factors.
 *
 * Training has restarts side by side. run.c is the walk's table, with what is saved; work.c opens cases and updates
 * fits, evaluate.c measures, result.c and plots.c write what came out. */
#ifndef MOTIF_CORE_METHODS_FACTORS_RUN_INT_H
#define MOTIF_CORE_METHODS_FACTORS_RUN_INT_H

#include "core/data/tables/lda.h"
#include "core/methods/factors/config.h"
#include "core/methods/shared/multi_start.h"
#include "core/methods/shared/case_sweep.h"

enum { FRESH_SETS = 1 << 30 }; /* synthetic data sets from FRESH_SETS on are never trained on */

/* What was measured of a case. Doubles only: saved as a table. NaN where a figure has no meaning. */
struct outcome {
    double mse, mse_mean; /* held out, per entry: of sampled and of mean latent variables */
    double nll, nll_mean; /* held out, per row; counts and 0/1 only */
    double dci, dci_16;   /* from 500 and from 16 rows of training */
    double support_f1, hamming;
    double columns;                    /* of the mask that are not zero */
    double anchors;                    /* features that one factor feeds */
    double objective, worst_objective; /* of the kept restart, and of the worst */
    double restart;                    /* which was kept */
    double updates, samples;
    double recall, ndcg; /* of the five, of the ten best held-out scores; ratings only */
    double accuracy;     /* of the rows' classes, from the means of the latent variables */
    double
        anchors_apart; /* share of anchors whose covariance with another of their factor is the largest (Theorem 2) */
    double anchors_found; /* share of the true anchors that are anchors of the mask */
    double factors_apart; /* share of pairs of used factors that vary each more than together (assumption A3) */
};
enum { OUTCOME_COLUMNS = 21 };
_Static_assert(sizeof(struct outcome) == OUTCOME_COLUMNS * sizeof(double), "an outcome is a row of doubles");
#define OUTCOME_COLUMN(member) (offsetof(struct outcome, member) / sizeof(double))

struct method_run {
    /* These three as in struct multi_start_run. */
    struct case_sweep sweep;
    struct multi_start multi_start; /* of `struct fit` */
    int64_t restarts;

    struct factors_config config;
    struct factors_case *cases;
    struct outcome *outcomes; /* as the walk's */

    /* The open case. */
    struct features *features;
    struct features *table; /* that was read, for all cases; NULL: none */
    struct lda topics;      /* of the table, for shifted documents; zeroed: not yet */
    struct nmf *nmf;        /* in the place of fits */
    float *view;            /* of the factorisation: [rows][features + features + latent] */
    int *rows;              /* of training, then of test */
    struct fit_data data;

    /* Saved. */
    int64_t width; /* features */
};
_Static_assert(offsetof(struct method_run, restarts) == offsetof(struct multi_start_run, restarts),
               "a run begins like struct multi_start_run");

static inline struct fit *case_fit(const struct method_run *run)
{
    return run->multi_start.fit[0];
}

/* work.c */
/* Makes the data and fits of case `at` ready: all restarts, or the chosen one; weights as at the start. */
enum status case_open(struct method_run *run, int at, struct error *err);
void case_close(struct method_run *run);
/* One update of every fit; decides between restarts when it is time. */
enum status case_update(struct method_run *run, struct error *err);
/* Replaces the open case's rows by fresh ones of the same kind, where these can be drawn: the evaluation's. */
enum status case_fresh(struct method_run *run, struct error *err);
bool case_trained(const struct method_run *run);

/* Of up to `piece` rows: what the model sees, the means of its latent variables, and what it makes of them (or of a
 * sample); fit.h tells more. piece: rows that go in one call. */
enum status case_view(struct method_run *run, const int *rows, int count, bool sampled, int64_t first,
                      struct fit_view *view, struct error *err);
int case_piece(const struct method_run *run);
/* The mask of the open case's model, [features][latent]; false when it has none. */
bool case_mask(const struct method_run *run, float *mask);
/* Of a model that has one: how far each weight reaches into the decoder (prior.h), zeros and all. */
void case_reach(const struct method_run *run, float *reach);

/* evaluate.c */
enum status evaluate_case(struct method_run *run, struct outcome *out, struct error *err);
/* Means of the latent variables of `rows`, [count][latent]; the caller frees them. */
enum status case_encode(struct method_run *run, const int *rows, int count, float **codes, struct error *err);

/* plots.c */
enum status factors_plots(struct method_run *run, struct error *err);

#endif
