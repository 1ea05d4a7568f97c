/* Tests every field of every kind at both ends of its range, alone and in pairs.
 *
 * A value that a range admits must either be refused by check() with a fault, or work: the estimate is a finite number,
 * and a small run is created and does a few steps. Every case has a time limit, because the typical failure is a loop
 * whose count comes from the configuration. The runs have a process of their own, so that the test can name a case that
 * hangs or crashes. */
#include <math.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/methods/method.h"
#include "tests/support/run_env.h"
#include "tests/support/sanitized.h"

enum {
    PAIRS = SANITIZED ? 50 : 150, /* number of pairs of ends for each base, drawn with a fixed seed */
    PLAN_SECONDS = 2,             /* seconds of processor time that check() and estimate() of one case may take */
    RUN_SECONDS = 10,             /* seconds of processor time that create() and all steps of one case may take */
    STEPS = 3,
    VALUES_MOST = 2 /* a field has at most two ends */
};
static const double RUN_BYTES = 100e6, RUN_OPERATIONS = 3e8, BASE_SECONDS = SANITIZED ? 1 : 3;

/* A small configuration. Each case sets one field, or each of two fields, to an end of its range. */
struct base {
    const char *kind;
    const struct config_setting *settings;
};

static const struct config_setting digits[] = {{"image_size", "32"},
                                               {"classes", "3"},
                                               {"min_symbols", "1"},
                                               {"max_symbols", "2"},
                                               {"shift", "1"},
                                               {"margin", "8"},
                                               {"min_radius", "5"},
                                               {"width", "8"},
                                               {"units", "1"},
                                               {"motifs", "3"},
                                               {"channels", "16"},
                                               {"layers", "1"},
                                               {"heads", "2"},
                                               {"feed_forward", "16"},
                                               {"batch", "4"},
                                               {"validation_every", "20"},
                                               {"test_samples", "4"},
                                               {"motif_samples", "4"},
                                               {"stage_samples", "2"},
                                               {"checkpoint_every", "20"},
                                               {"curriculum", "0"},
                                               {"validation_samples", "4"},
                                               {"total_samples", "20"},
                                               {"density_start", "0.01"},
                                               {NULL, NULL}};
static const struct config_setting formulas[] = {{"domain", "latex"},
                                                 {"latex_rows", "32"},
                                                 {"latex_cols", "64"},
                                                 {"latex_dpi", "60"},
                                                 {"latex_max_tokens", "4"},
                                                 {"width", "8"},
                                                 {"units", "1"},
                                                 {"motifs", "16"},
                                                 {"channels", "16"},
                                                 {"layers", "1"},
                                                 {"heads", "2"},
                                                 {"feed_forward", "16"},
                                                 {"batch", "4"},
                                                 {"validation_every", "20"},
                                                 {"validation_samples", "4"},
                                                 {"checkpoint_every", "20"},
                                                 {"test_samples", "4"},
                                                 {"motif_samples", "4"},
                                                 {"stage_samples", "2"},
                                                 {"total_samples", "20"},
                                                 {NULL, NULL}};
static const struct config_setting bases_of_dna[] = {{"domain", "splicing"},
                                                     {"splicing_length", "200"},
                                                     {"width", "8"},
                                                     {"units", "1"},
                                                     {"motifs", "8"},
                                                     {"channels", "16"},
                                                     {"context", "80"},
                                                     {"batch", "4"},
                                                     {"validation_every", "20"},
                                                     {"validation_samples", "4"},
                                                     {"checkpoint_every", "20"},
                                                     {"test_samples", "4"},
                                                     {"motif_samples", "4"},
                                                     {"stage_samples", "2"},
                                                     {"total_samples", "20"},
                                                     {NULL, NULL}};
static const struct config_setting features[] = {{"n_s", "16"},           {"n_d", "4"},    {"batch", "8"},
                                                 {"block", "0"},          {"window", "5"}, {"total_samples", "200"},
                                                 {"test_samples", "100"}, {NULL, NULL}};
static const struct config_setting rug[] = {
    {"model", "rug"}, {"n_s", "16"}, {"n_d", "4"}, {"test_samples", "100"}, {NULL, NULL}};
static const struct config_setting factors[] = {{"rows", "50"},  {"latent", "3"}, {"hidden", "4"},
                                                {"epochs", "2"}, {"batch", "10"}, {"total_samples", "200"},
                                                {NULL, NULL}};
static const struct config_setting nmf[] = {
    {"model", "nmf"}, {"rows", "50"}, {"latent", "3"}, {"nmf_iterations", "5"}, {NULL, NULL}};
static const struct config_setting environments[] = {
    {"depth", "3"},   {"samples", "20"}, {"test_samples", "20"},  {"inputs", "5"}, {"fit_samples", "5"},
    {"updates", "5"}, {"batch", "16"},   {"total_samples", "80"}, {"unseen", "1"}, {NULL, NULL}};
static const struct config_setting pathways[] = {{"filter_length", "16"}, {"length", "64"}, {"trials", "4"},
                                                 {"draws", "2"},          {"points", "3"},  {NULL, NULL}};
static const struct config_setting pursuit[] = {{"filter_length", "16"}, {"length", "64"},    {"trials", "4"},
                                                {"draws", "2"},          {"points", "3"},     {"decoder", "pursuit"},
                                                {"iterations", "5"},     {"nonzeros", "2,4"}, {NULL, NULL}};
static const struct config_setting planted[] = {
    {"features", "16"}, {"inputs", "8"},         {"width", "16"},        {"l0", "2"},    {"seeds", "1"},
    {"batch", "8"},     {"total_samples", "64"}, {"test_samples", "16"}, {"roots", "2"}, {"pursuit_samples", "4"},
    {NULL, NULL}};
static const struct config_setting codes_by_fista[] = {
    {"learner", "fista"}, {"features", "16"},    {"inputs", "8"},        {"width", "16"}, {"l0", "2"}, {"seeds", "1"},
    {"iterations", "3"},  {"alternations", "1"}, {"test_samples", "16"}, {"roots", "2"},  {NULL, NULL}};
static const struct base all_bases[] = {
    {"dictionary", planted},    {"dictionary", codes_by_fista}, {"sparling", digits},   {"sparling", formulas},
    {"sparling", bases_of_dna}, {"superposition", features},    {"superposition", rug}, {"factors", factors},
    {"factors", nmf},           {"environments", environments}, {"pathways", pathways}, {"pathways", pursuit},
};

/* ---- values --------------------------------------------------------------------------------------------- */

static bool numeric(const struct config_field *field)
{
    return field->type == FIELD_INT || field->type == FIELD_REAL;
}

static double end_of(const struct config_field *field, int which)
{
    if (which == 0)
        return field->min_open ? nextafter(field->min, field->max) : field->min;
    return field->max_open ? nextafter(field->max, field->min) : field->max;
}

struct change {
    const struct config_field *field;
    double value;
};

static void describe(const struct base *base, const struct change *changes, int count, char *out, size_t room)
{
    int at = snprintf(out, room, "%s (base %d)", base->kind, (int)(base - all_bases));
    for (int i = 0; i < count; i++)
        at += snprintf(out + at, room - (size_t)at, " %s=%.17g", changes[i].field->name, changes[i].value);
}

static void *configure(const struct method *method, const struct base *base, const struct change *changes, int count)
{
    struct error err = {0};
    void *config = calloc(1, method->config.struct_bytes);
    assert_non_null(config);
    if (config_defaults(&method->config, config, &err) || config_apply(&method->config, config, base->settings, &err))
        fail_msg("%s: %s %s", base->kind, err.pointer, err.message);
    for (int i = 0; i < count; i++)
        if (config_set_number(changes[i].field, config, changes[i].value, &err))
            fail_msg("%s %s: the end %.17g of the range is refused: %s", base->kind, changes[i].field->name,
                     changes[i].value, err.message);
    return config;
}

static void count_fault(void *context, const char *field, const char *detail)
{
    ++*(int *)context;
    (void)field, (void)detail;
}

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Makes the system send SIGPROF after `seconds` of processor time (0: never). On a busy machine, this limit stays
 * the same, because waiting takes no processor time. */
static void limit(int seconds)
{
    assert_int_equal(setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds}, NULL), 0);
}

/* Name of the case whose check() or estimate() runs now. If the call takes too long, late() prints the name and ends
 * the test. */
static const char *current = "";
static void late(int signal)
{
    static const char text[] = " does not return from check() or estimate()\n";
    (void)signal;
    (void)!write(STDERR_FILENO, current, strlen(current));
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1);
}

/* ---- cases ---------------------------------------------------------------------------------------------- */

/* Runs in a child process. Returns 0 if create() and a few steps succeed, or fail with an error that users can act on.
 */
static int run_some(const struct method *method, const void *config)
{
    struct run_env environment;
    struct method_run *run = NULL;
    struct error err = {0};
    enum method_request request = METHOD_CONTINUE;
    if (run_env_open(&environment, 1, NULL, &err))
        return 2;
    environment.env.step_seconds = 0.02;
    enum status status = method->create(config, &environment.env, &run, &err);
    for (int i = 0; !status && i < STEPS && request != METHOD_DONE; i++)
        status = run_env_step(&environment, method, run, &request, &err);
    method->destroy(run);
    run_env_close(&environment);
    if (status == STATUS_INTERNAL || status == STATUS_CORRUPT)
        fprintf(stderr, "%s\n", err.message);
    return status == STATUS_INTERNAL || status == STATUS_CORRUPT;
}

struct tally {
    int checked, refused, ran;
    double slowest;
};

/* Runs a case in a child process with a time limit, so that a case that hangs or crashes does not end the test. */
static void in_child(const struct method *method, const void *config, const char *name, struct tally *tally)
{
    double began = now();
    int state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGPROF, SIG_DFL);
        limit(RUN_SECONDS);
        _exit(run_some(method, config));
    }
    assert_int_equal(waitpid(child, &state, 0), child);
    if (!WIFEXITED(state))
        fail_msg("%s: signal %d after %.1f s", name, WTERMSIG(state), now() - began);
    if (WEXITSTATUS(state))
        fail_msg("%s: fails with an internal error", name);
    tally->slowest = fmax(tally->slowest, now() - began);
    tally->ran++;
}

static void try_case(const struct base *base, const struct change *changes, int count, double *left,
                     struct tally *tally)
{
    const struct method *method = method_find(base->kind);
    void *config = configure(method, base, changes, count);
    struct method_estimate estimate = {0};
    struct error err = {0};
    int faults = 0;
    static char name[256];
    describe(base, changes, count, name, sizeof name);
    current = name;
    limit(PLAN_SECONDS);
    method_check(method, config, &(struct method_faults){&faults, count_fault});
    tally->checked++;
    if (faults > 0) {
        tally->refused++;
    } else {
        enum status status = method_estimate(method, config, NULL, &estimate, &err);
        if (!status && (estimate.memory_bytes < 0 || estimate.samples < 0 || !isfinite(estimate.flops_per_sample) ||
                        estimate.checkpoint_bytes < 0))
            fail_msg("%s: the estimate is %lld bytes, %lld samples, %g operations", name,
                     (long long)estimate.memory_bytes, (long long)estimate.samples, estimate.flops_per_sample);
        if (status == STATUS_INTERNAL)
            fail_msg("%s: %s", name, err.message);
        limit(0);
        double operations = estimate.flops_per_sample * (double)estimate.samples;
        if (!status && *left > 0 && estimate.memory_bytes > 0 && (double)estimate.memory_bytes < RUN_BYTES &&
            operations < RUN_OPERATIONS) {
            double began = now();
            in_child(method, config, name, tally);
            *left -= now() - began;
        }
    }
    limit(0);
    free(config);
}

static void ends_alone(const struct base *base, struct tally *tally)
{
    const struct config_table *table = &method_find(base->kind)->config;
    double left = BASE_SECONDS;
    for (size_t i = 0; i < table->count; i++)
        for (int end = 0; numeric(&table->fields[i]) && end < VALUES_MOST; end++)
            try_case(base, &(struct change){&table->fields[i], end_of(&table->fields[i], end)}, 1, &left, tally);
}

static void ends_in_pairs(const struct base *base, struct tally *tally)
{
    const struct config_table *table = &method_find(base->kind)->config;
    struct philox from = philox_stream(24, (uint32_t)(base - all_bases), 0);
    double left = BASE_SECONDS;
    for (uint64_t draw = 0, pairs = 0; pairs < PAIRS; draw += 2) {
        struct change changes[2];
        bool fit = true;
        for (uint64_t i = 0; i < 2; i++) {
            uint32_t value = philox_u32(&from, draw + i);
            changes[i].field = &table->fields[value / 2 % table->count];
            fit = fit && numeric(changes[i].field);
            changes[i].value = fit ? end_of(changes[i].field, (int)(value % 2)) : 0;
        }
        if (!fit || changes[0].field == changes[1].field)
            continue;
        try_case(base, changes, 2, &left, tally);
        pairs++;
    }
}

static void ends_of_all_ranges_work(void **state)
{
    for (size_t i = 0; i < sizeof all_bases / sizeof all_bases[0]; i++) {
        struct tally tally = {0};
        ends_alone(&all_bases[i], &tally);
        print_message("%s (base %d): %d cases, %d refused, %d ran, the slowest %.2f s\n", all_bases[i].kind, (int)i,
                      tally.checked, tally.refused, tally.ran, tally.slowest);
    }
}

static void pairs_of_ends_work(void **state)
{
    for (size_t i = 0; i < sizeof all_bases / sizeof all_bases[0]; i++) {
        struct tally tally = {0};
        ends_in_pairs(&all_bases[i], &tally);
        print_message("%s (base %d): %d pairs, %d refused, %d ran, the slowest %.2f s\n", all_bases[i].kind, (int)i,
                      tally.checked, tally.refused, tally.ran, tally.slowest);
    }
}

int main(void)
{
    signal(SIGPROF, late);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_of_all_ranges_work),
        cmocka_unit_test(pairs_of_ends_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
