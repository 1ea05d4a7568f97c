/* A small run of SPARLING with the presence objective. Tests drive it step by step. */
#ifndef MOTIF_TESTS_SUPPORT_PRESENCE_TRIAL_H
#define MOTIF_TESTS_SUPPORT_PRESENCE_TRIAL_H

#include "core/base/hash.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"

enum { TRIAL_SIZE = 32 }; /* rows and columns of an image */

/* The metrics that a run has published. */
struct series {
    struct hash all; /* hash of all metrics except the speed */
    double presence[64], densities[64];
    int64_t at[64];
    int validations, accuracies;
    double rates[64]; /* learning rate of each tenth update */
};

struct trial {
    struct run_env environment;
    struct sparling_config config;
    struct series series;
    struct method_run *run;
};

/* Sets the configuration of a small run: a first phase of at most 12 updates of four samples, and a validation after
 * every fourth update. `more` (NULL: none) overrides it. */
void trial_configure(struct sparling_config *config, const struct config_setting *more);
/* Creates a run with t->config. The caller destroys it. */
struct method_run *trial_start(const struct trial *t);
/* Opens the environment and creates a run. Each step makes one update, or reads one batch of a validation. The
 * caller calls trial_end(). */
void trial_begin(struct trial *t, const struct config_setting *more, int threads);
enum method_request trial_step(struct trial *t);
void trial_end(struct trial *t);
/* Saves the run and replaces it by a new one that loads the checkpoint. */
void trial_reload(struct trial *t);
/* Computes one hash of all weights whose names begin with `prefix`. */
void trial_hash(struct trial *t, const char *prefix, char out[HASH_TEXT]);
/* Trains from the present step to the end, without pauses. Writes the hash of the weights and the hash of all metrics
 * since trial_begin(). Ends the trial. */
void trial_finish(struct trial *t, char weights[65], unsigned char digest[HASH_BYTES]);
/* Trains to the end. Calls trial_reload() after every `every` steps (0: never). Writes the hash of the weights and
 * the hash of all metrics. */
void trial_train(const struct config_setting *more, int threads, int every, char weights[65],
                 unsigned char digest[HASH_BYTES]);

#endif
