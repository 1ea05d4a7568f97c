/* Runs a method on several ranks without a daemon: for tests, whose ranks are threads, and for tests/reproduce/ranks.
 */
#ifndef MOTIF_TESTS_SUPPORT_RANK_RUN_H
#define MOTIF_TESTS_SUPPORT_RANK_RUN_H

#include "tests/support/run_env.h"

enum { RANK_LOSSES = 4096 };

struct rank_plan {
    const struct method *method;
    const void *config;
    const char *data;
    int threads;                     /* number of threads of each rank */
    int64_t updates;                 /* number of updates after which to stop; 0: at the end of the run */
    struct run_env_bytes *from, *to; /* from: checkpoint to load; to: where rank 0 saves one; either may be NULL */
};

/* The results of a rank. All but the times are the same on all ranks. */
struct rank_witness {
    int losses;
    double loss[RANK_LOSSES];    /* values of the metric "loss"; without a loss, of the metric "recovered" */
    char weights[65], state[65]; /* SHA-256 at the end. weights: of the weights; state: of the whole checkpoint */
    double seconds;
    int64_t updates;
};

/* Runs one rank. comm: its communicator. */
enum status rank_run(const struct rank_plan *plan, struct comm *comm, struct rank_witness *witness, struct error *err);

/* Runs all ranks as threads. witness: [ranks]. Returns the error of the rank that failed first. */
enum status rank_run_threads(const struct rank_plan *plan, int ranks, struct rank_witness *witness, struct error *err);

/* Fills in a configuration from a preset (or NULL) and further settings (or NULL), and checks it. */
enum status rank_configure(const struct method *method, const char *preset, const struct config_setting *more,
                           void *config, struct error *err);

/* Returns the largest difference between the losses of `a` and `b` at one index, relative to the loss of `b`. Infinite
 * if the curves are empty or have different lengths. */
double rank_apart(const struct rank_witness *a, const struct rank_witness *b);

#endif
