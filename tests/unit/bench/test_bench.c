/* Tests that every benchmark reports plausible results in a fraction of a second, and that errors name invalid
 * options. */
#include "tests/support/unit.h"
#include "bench/bench.h"
#include "tests/support/sanitized.h"

/* A sink that counts values and faults. */
struct seen {
    int depth, numbers, faults;
};

static void open_it(void *c, const char *key)
{
    ((struct seen *)c)->depth++;
}
static void close_it(void *c)
{
    ((struct seen *)c)->depth--;
}
static void close_list(void *c)
{
    ((struct seen *)c)->depth--;
}
static void number(void *c, const char *key, double v)
{
    struct seen *s = c;
    s->numbers++;
    s->faults += !(v > 0 && v < 1e9);
    if (key && strcmp(key, "share_of_peak") == 0)
        s->faults += !SANITIZED && v > 5; /* A kernel cannot be faster than the peak (a share of 1). The test allows 5,
                                             because a busy machine may lower the measured peak. Under a sanitizer it
                                             allows any share: a sanitizer slows down the measurement of the peak, but
                                             not the kernels. */
}
static void integer(void *c, const char *key, int64_t v)
{
    ((struct seen *)c)->faults += v < 0;
}
static void boolean(void *c, const char *key, bool v) {}
static void text(void *c, const char *key, const char *v)
{
    ((struct seen *)c)->faults += v == NULL;
}
static void null(void *c, const char *key)
{
    ((struct seen *)c)->faults++;
}

static struct sink seen_sink(struct seen *seen)
{
    return (struct sink){seen, open_it, close_it, open_it, close_list, number, integer, boolean, text, null};
}

static void short_runs_report_plausible_results(void **state)
{
    static const char *const quick[] = {"peak",   "conv3x3",  "conv1x3", "gemm",
                                        "passes", "pathways", "rug",     "superposition-step"};
    struct bench_options options = {.threads = 1, .batch = 1, .seconds = 0.001};
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) {
        struct seen seen = {0};
        struct sink sink = seen_sink(&seen);
        struct error err = {0};
        assert_int_equal(bench_run(quick[i], &options, &sink, &err), STATUS_OK);
        assert_int_equal(seen.depth, 0);
        assert_true(seen.numbers >= 4);
        assert_int_equal(seen.faults, 0);
    }
}

static void invalid_options_are_refused_by_name(void **state)
{
    struct seen seen = {0};
    struct sink sink = seen_sink(&seen);
    struct error err = {0};
    struct bench_options options = {.threads = -1};
    assert_int_equal(bench_run("peak", &options, &sink, &err), STATUS_INVALID);
    assert_string_equal(err.pointer, "/threads");
    error_clear(&err);
    options = (struct bench_options){.density = 2};
    assert_int_equal(bench_run("peak", &options, &sink, &err), STATUS_INVALID);
    assert_string_equal(err.pointer, "/density");
    error_clear(&err);
    options = (struct bench_options){.kernels = "none", .seconds = 0.001};
    assert_int_equal(bench_run("gemm", &options, &sink, &err), STATUS_INVALID);
    assert_string_equal(err.pointer, "/kernels");
    static const struct config_setting set[] = {{"width", "8"}, {NULL, NULL}};
    const struct bench_options network[] = {{.preset = "small"}, {.backward = "dense"}, {.set = set}};
    static const char *const pointers[] = {"/preset", "/backward", "/set"};
    for (int i = 0; i < 3; i++) { /* refused: these are options of a network, but "peak" runs none */
        error_clear(&err);
        assert_int_equal(bench_run("peak", &network[i], &sink, &err), STATUS_INVALID);
        assert_string_equal(err.pointer, pointers[i]);
    }
    error_clear(&err);
    assert_int_equal(bench_run("no such", &options, &sink, &err), STATUS_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_runs_report_plausible_results),
                                       cmocka_unit_test(invalid_options_are_refused_by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
