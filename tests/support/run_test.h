/* Assertions that the runs of every method must satisfy. A test program has one `struct run_test`. */
#ifndef MOTIF_TESTS_SUPPORT_RUN_TEST_H
#define MOTIF_TESTS_SUPPORT_RUN_TEST_H

#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"

struct run_test {
    const struct method *method;
    const char *data;                                    /* folder of data sets; may be NULL */
    void (*look)(void *context, struct method_run *run); /* called at the end of a run; may be NULL */
};

/* Fills in a configuration (the method's struct) with the defaults and `settings`. */
void run_test_configure(const struct method *method, void *config, const struct config_setting *settings);
/* Writes `settings` and then field=value, which wins, to `out`. */
enum { RUN_TEST_SETTINGS = 32 };
void run_test_vary(const struct config_setting *settings, const char *field, const char *value,
                   struct config_setting out[RUN_TEST_SETTINGS]);
struct method_run *run_test_start(const struct method *method, struct run_env *environment, const void *config);

/* Does a whole run and returns the number of its steps. If `every` > 0, the run is saved, destroyed, created and loaded
 * after every `every` steps. */
int run_test_through(const struct run_test *test, const struct config_setting *settings, int threads, int every,
                     void *context, struct run_env_witness *same);

/* Asserts that weights, state, metrics and artifacts do not depend on the number of threads and on pauses. */
void run_test_bits(const struct run_test *test, const struct config_setting *const *settings, size_t count,
                   int64_t least_artifacts);

/* Settings with a fault, and the field that check() must name because of them. */
struct run_test_wrong {
    struct config_setting setting[4];
    const char *field;
};
void run_test_faults(const struct method *method, const struct run_test_wrong *wrong, size_t count);
/* Asserts that no preset has a fault, and that estimate() predicts the memory and the samples of each preset. */
void run_test_presets(const struct method *method);

#endif
