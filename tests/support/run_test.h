/* What the tests of methods' runs have in common; failures are cmocka's. A test program has one `struct run_test`. */
#ifndef MOTIF_TESTS_SUPPORT_RUN_TEST_H
#define MOTIF_TESTS_SUPPORT_RUN_TEST_H

#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"

struct run_test {
    const struct method *method;
    const char *data;                                    /* folder of data sets; may be NULL */
    void (*look)(void *context, struct method_run *run); /* at a run's end; may be NULL */
};

/* The defaults with `settings` over them. config: of the method's structure. */
void run_test_configure(const struct method *method, void *config, const struct config_setting *settings);
struct method_run *run_test_start(const struct method *method, struct run_env *host, const void *config);

/* A whole run, looked at; with `every`, saved, destroyed, made anew and loaded after so many steps. How many it had.
 */
int run_test_through(const struct run_test *test, const struct config_setting *settings, int threads, int every,
                     void *context, struct run_env_witness *same);

/* The same weights, state, metrics and artifacts with any number of threads and across pauses anywhere. */
void run_test_bits(const struct run_test *test, const struct config_setting *const *settings, size_t count,
                   int64_t least_artifacts);

/* Settings that are wrong, and a field that check() names for it. */
struct run_test_wrong {
    struct config_setting setting[4];
    const char *field;
};
void run_test_faults(const struct method *method, const struct run_test_wrong *wrong, size_t count);
/* No preset has a fault, and each says what it costs. */
void run_test_presets(const struct method *method);

#endif
