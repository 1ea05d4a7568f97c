/* Runs the command `motifd bench` with a result that the test chooses. Tests that the command prints the result as
 * tables, and what it does if memory is missing. */
#include <unistd.h>

#include "tests/support/unit.h"
#include "bench/bench.h"
#include "core/base/sink.h"
#include "server/commands/commands.h"
#include "server/daemon.h"
#include "tests/support/fault.h"
#include "tests/support/printed.h"

static enum status answer; /* what the benchmark returns */
static char out[20000], said[2000];

enum status __wrap_bench_run(const char *name, const struct bench_options *options, const struct sink *sink,
                             struct error *err);
enum status __wrap_bench_run(const char *name, const struct bench_options *options, const struct sink *sink,
                             struct error *err)
{
    char key[16];
    if (answer != STATUS_OK)
        return error_set(err, answer, NULL, "%s does not work", name);
    sink_begin_object(sink, NULL);
    sink_text(sink, "benchmark", name);
    sink_boolean(sink, "exact", true);
    sink_boolean(sink, "slow", false);
    sink_null(sink, "limit");
    sink_begin_object(sink, "machine");
    sink_integer(sink, "cores", 2);
    sink_end_object(sink);
    sink_begin_list(sink, "numbers"); /* not a table, because its entries are no objects */
    sink_integer(sink, NULL, 1);
    sink_end_list(sink);
    sink_begin_list(sink, "rows");
    for (int row = 0; row < 2; row++) {
        sink_begin_object(sink, NULL);
        sink_text(sink, "name", row == 0 ? "x" : "longer than its title");
        for (int i = 0; i < 25; i++) { /* more columns than the command computes widths for */
            (void)snprintf(key, sizeof key, "c%d", i);
            sink_number(sink, key, 100.5 * row + i);
        }
        sink_end_object(sink);
    }
    sink_end_list(sink);
    sink_end_object(sink);
    return STATUS_OK;
}

static int run(const char *const *words)
{
    char *argv[8] = {(char *)(uintptr_t) "bench"};
    int argc = 1;
    for (; *words != NULL; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    struct printed first = printed_begin(STDOUT_FILENO), second = printed_begin(STDERR_FILENO);
    int code = command_bench(argc, argv);
    printed_end(&first, out, sizeof out);
    printed_end(&second, said, sizeof said);
    return code;
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

static void a_result_becomes_tables(void **state)
{
    answer = STATUS_OK;
    assert_int_equal(RUN("rug"), EXIT_OK);
    assert_non_null(strstr(out,
                           "benchmark                rug\nexact                    yes\nslow                     no\n"
                           "limit                    -\nmachine\ncores                    2\n"
                           "numbers                  -\nrows\n"));
    assert_non_null(strstr(out, "\n                   name     c0     c1"));
    assert_non_null(strstr(out, "\n                      x      0      1"));
    assert_non_null(strstr(out, "\n  longer than its title  100.5  101.5"));
    assert_non_null(strstr(out, "  122.5  123.5  124.5\n"));
    assert_int_equal(RUN("rug", "--json"), EXIT_OK);
    assert_memory_equal(out, "{\"benchmark\":\"rug\"", 18);
}

static void the_exit_code_says_who_is_at_fault(void **state)
{
    static const struct {
        enum status status;
        int code;
    } cases[] = {{STATUS_INVALID, EXIT_USAGE},
                 {STATUS_NOT_FOUND, EXIT_USAGE},
                 {STATUS_NO_MEMORY, EXIT_FAULT},
                 {STATUS_IO, EXIT_FAULT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        answer = cases[i].status;
        assert_int_equal(RUN("rug"), cases[i].code);
        assert_string_equal(said, "motifd bench: rug does not work\n");
        assert_string_equal(out, "");
    }
}

/* Without memory the command prints the whole result, or fails and says why. */
static void a_lack_of_memory_is_reported(void **state)
{
    static const char *const words[][3] = {{"rug", NULL}, {"rug", "--json"}, {"--list", "--json"}, {"--list", NULL}};
    answer = STATUS_OK;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        int failed = 0;
        char whole[sizeof out];
        assert_int_equal(run(words[i]), EXIT_OK);
        memcpy(whole, out, sizeof whole);
        for (int n = 0;; n++) {
            fault_after(n);
            int code = run(words[i]);
            bool happened = fault_happened();
            if (code == EXIT_OK)
                assert_string_equal(out, whole);
            else
                assert_true(code == EXIT_FAULT && strstr(said, "not enough memory") != NULL);
            failed += code != EXIT_OK;
            if (!happened)
                break;
        }
        assert_true(failed > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_becomes_tables),
        cmocka_unit_test(the_exit_code_says_who_is_at_fault),
        cmocka_unit_test(a_lack_of_memory_is_reported),
    };
    fault_libraries();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
