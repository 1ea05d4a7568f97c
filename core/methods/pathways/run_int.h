/* A pathways run in progress: private to core/methods/pathways. */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_RUN_INT_H
#define MOTIF_CORE_METHODS_PATHWAYS_RUN_INT_H

#include "core/methods/shared/publish.h"
#include "core/methods/pathways/config.h"
#include "core/methods/pathways/run.h"
#include "core/methods/pathways/trial.h"

enum run_phase { PHASE_PILOT, PHASE_MEASURE, PHASE_DONE };
enum { BATCH_CODES = 16, PILOT_CODES = 16, PILOT_DRAWS = 4 };

/* Sums over the codes of a point. All members are doubles, so that a table of points is one entry of a checkpoint. */
struct curve_point {
    double nonzeros, codes, draws, recovered;
    double share_squares; /* sum over codes of (recovered share of the code's draws)^2, for the standard error
                             (point_error()) */
    double layer_recovered[PATHWAYS_DEPTH];
    double stripe[PATHWAYS_DEPTH], stripe_literal;
    double bound_codes, uniform, theorem, instance, uniform_limit, probabilistic_limit;
};
enum { POINT_COLUMNS = sizeof(struct curve_point) / sizeof(double) };

struct curve {
    double points; /* number of points */
    double coherence[PATHWAYS_DEPTH];
    struct curve_point point[PATHWAYS_POINTS];
};
enum { CURVE_COLUMNS = sizeof(struct curve) / sizeof(double) };

struct method_run {
    struct pathways_config config;
    struct method_env env;
    struct pathways_case plan[PATHWAYS_CASES];
    int64_t cases;

    float *filters[PATHWAYS_DEPTH]; /* filters of the first case: the run's weights */
    float side;                     /* filter length m of a Walsh-Hadamard dictionary, which has no filters to store */

    /* The current case; it is opened when it is first needed. */
    struct scenario scenario;
    int64_t opened; /* index of the open case; -1: none */
    struct trial_space **spaces;

    struct curve *curves; /* [cases] */
    int64_t phase, at_case, at_point, at_code;
    int64_t pilot_nonzeros, pilot_low; /* pilot_nonzeros: the next number of non-zeros to try; pilot_low: the largest
                                          number up to which every code was recovered */
    int64_t batches, trials, drawn; /* batches: number of batches of codes; trials: number of draws except those of the
                                       pilot; drawn: number of all draws */
    int64_t draw_seed;              /* seed of all random numbers except the filters */
    struct curve_point pilot;
    struct artifact_findings findings;
};

/* Number of codes at each point of the current case. */
int64_t pathways_codes(const struct method_run *run);
void pathways_close_case(struct method_run *run);
enum status pathways_artifacts(struct method_run *run, struct error *err);

/* ---- what curves say ------------------------------------------------------------------------------ */

double point_share(const struct curve_point *point);  /* recovered share of the draws */
double point_error(const struct curve_point *point);  /* standard error of point_share(), over codes */
double point_stripe(const struct curve_point *point); /* mean stripe sparsity of the first layer */
/* Stripe sparsity S (or, with `nonzeros`, number of non-zeros) at which recovery falls to `share`. It is read from a
 * monotone fit to the curve, interpolated linearly in log S. NaN if the fit does not reach `share`. */
double curve_crossing(const struct curve *curve, double share, bool nonzeros);

/* The scaling law of a group of cases: a line that is fitted to one point for each size by least squares. x is log
 * 1/mu. enum scaling_of selects y: log S50, or the log of the limit by bound (3) or (5) (bounds.h). low, high: 95 %
 * interval of the slope by Student's t, NaN if there are only two sizes. */
enum scaling_of { SCALING_MEASURED, SCALING_UNIFORM, SCALING_PROBABILISTIC };
struct scaling_fit {
    int points; /* number of sizes */
    double slope, low, high, intercept;
};
struct scaling_fit pathways_fit(const struct method_run *run, int group, enum scaling_of of);
int pathways_groups(const struct method_run *run);

#endif
