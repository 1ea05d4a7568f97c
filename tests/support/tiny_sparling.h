/* A SPARLING run that is small enough for tests. Needs cmocka, because each function fails the test when something in
 * it fails. */
#ifndef MOTIF_TESTS_SUPPORT_TINY_SPARLING_H
#define MOTIF_TESTS_SUPPORT_TINY_SPARLING_H

#include "core/base/config.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "tests/support/run_env.h"

enum { TINY_SIZE = 32 }; /* rows and columns of a picture */

/* Fills `config` with the tiny run's settings and then with `more`, a list that ends with {NULL, NULL}; NULL: none. */
void tiny_configure(struct sparling_config *config, const struct config_setting *more);

/* Creates a run. Each of its steps makes one update, or reads one batch of a validation. The caller destroys it. */
struct method_run *tiny_start(struct run_env *environment, const struct sparling_config *config);

/* tiny_configure(), run_env_open() and tiny_start(). */
struct method_run *tiny_open(struct run_env *environment, int threads, struct sparling_config *config,
                             const struct config_setting *more);

/* Trains four steps of a new run and saves it into `bytes`. `environment` stays open. */
void tiny_checkpoint(struct sparling_config *config, struct run_env *environment, struct run_env_bytes *bytes);

#endif
