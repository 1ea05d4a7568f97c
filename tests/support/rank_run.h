/* A method's run on several ranks, without a daemon: for the tests of ranks that are threads and for the program
 * `ranks`. */
#ifndef MOTIF_TESTS_SUPPORT_RANK_RUN_H
#define MOTIF_TESTS_SUPPORT_RANK_RUN_H

#include "tests/support/run_env.h"

enum { RANK_LOSSES = 4096 };

struct rank_plan {
    const struct method *method;
    const void *config;
    const char *data;
    int threads;                     /* of each rank */
    int64_t updates;                 /* to end after; 0: the run's own end */
    struct run_env_bytes *from, *to; /* what to begin with; where to leave what rank 0 saves. Either may be NULL */
};

/* What a rank saw. All ranks see the same: every byte, but for speeds. */
struct rank_witness {
    int losses;
    double loss[RANK_LOSSES];    /* the metric "loss", or of runs without one "recovered" */
    char weights[65], state[65]; /* SHA-256 of the last save: of its weights, of all of it */
    double seconds;
    int64_t updates;
};

enum status rank_run(const struct rank_plan *plan, struct comm *comm, struct rank_witness *witness, struct error *err);

/* Ranks as threads; witness: [ranks]. */
enum status rank_run_threads(const struct rank_plan *plan, int ranks, struct rank_witness *witness, struct error *err);

/* The preset (or NULL) with more settings over it (or NULL). */
enum status rank_configure(const struct method *method, const char *preset, const struct config_setting *more,
                           void *config, struct error *err);

/* The largest difference of two curves, relative to the second. */
double rank_apart(const struct rank_witness *a, const struct rank_witness *b);

#endif
