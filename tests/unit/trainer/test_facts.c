/* Compares the facts about the process and the machine with other sources, also when files cannot be read. Also
 * tests the one restart of the program that selects OpenBLAS's kernels. */
#include <strings.h>
#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/kernels/blas.h"
#include "tests/support/fault_calls.h"
#include "trainer/facts.h"

/* ---- restarting, which the test only records --------------------------------------------------------- */

struct started {
    int count;
    char path[2][256], core[32], guard[8];
    char *const *arguments;
};
static struct started started;

int __wrap_execv(const char *path, char *const argv[]);
int __wrap_execv(const char *path, char *const argv[])
{
    const char *core = getenv("OPENBLAS_CORETYPE"), *guard = getenv("MOTIFD_REEXEC");
    if (started.count < 2)
        snprintf(started.path[started.count], sizeof started.path[0], "%s", path);
    snprintf(started.core, sizeof started.core, "%s", core ? core : "");
    snprintf(started.guard, sizeof started.guard, "%s", guard ? guard : "");
    started.arguments = argv;
    started.count++;
    errno = ENOENT;
    return -1;
}

/* Kernels that OpenBLAS claims to have chosen; NULL: its real answer. */
static const char *played_core;

char *__real_openblas_get_corename(void);
char *__wrap_openblas_get_corename(void);
char *__wrap_openblas_get_corename(void)
{
    static char core[32];
    (void)snprintf(core, sizeof core, "%s", played_core != NULL ? played_core : __real_openblas_get_corename());
    return core;
}

static void restarts_once(void)
{
    static char *arguments[] = {"facts", "a word", NULL};
    const char *best = blas_best_core();
    char own[256] = "";
    bool other = best != NULL && strcasecmp(best, blas_core()) != 0;
    assert_true(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("MOTIFD_REEXEC");
    unsetenv("OPENBLAS_NUM_THREADS");
    facts_choose_blas(arguments);
    /* the first attempt starts the executable by its path, the second /proc/self/exe, in case the file was replaced */
    assert_int_equal(started.count, other ? 2 : 0);
    if (other) {
        assert_string_equal(started.path[0], own);
        assert_string_equal(started.path[1], "/proc/self/exe");
        assert_string_equal(started.core, best);
        assert_string_equal(started.guard, "1");
        assert_ptr_equal(started.arguments, arguments);
        /* both attempts failed, so the program continues with the kernels that it has */
        assert_null(getenv("OPENBLAS_CORETYPE"));
        assert_string_equal(getenv("OPENBLAS_NUM_THREADS"), "1");
        memset(&started, 0, sizeof started);
        facts_choose_blas(arguments); /* the program must not restart a second time */
        assert_int_equal(started.count, 0);
    }
    unsetenv("MOTIFD_REEXEC");
    setenv("OPENBLAS_CORETYPE", "Haswell", 1); /* the user has chosen the kernels, so the program does not restart */
    memset(&started, 0, sizeof started);
    facts_choose_blas(arguments);
    assert_int_equal(started.count, 0);
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "Haswell");
    unsetenv("OPENBLAS_CORETYPE");
}

static void program_restarts_once_for_its_kernels(void **state)
{
    restarts_once();
    played_core = "Prescott"; /* OpenBLAS does not know the processor */
    restarts_once();
    played_core = NULL;
}

/* ---- facts -------------------------------------------------------------------------------------------------- */

static void facts_match_the_machine(void **state)
{
    struct facts facts;
    cpu_set_t all, one;
    struct timespec now;
    const struct kernels *kernels = kernels_best();
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    facts_fill(&facts, kernels);
    assert_int_equal(facts.cores, CPU_COUNT(&all));
    assert_string_equal(facts.kernels, kernels->name);
    assert_true(strncmp(facts.build, facts.version, strlen(facts.version)) == 0 &&
                strstr(facts.build, facts.compiler) != NULL);
    assert_true(facts.cpu[0] != '\0' && facts.cpu[0] != ' ' && facts.cpu[strlen(facts.cpu) - 1] != ' ');
    char features[sizeof facts.cpu_features + 2];
    snprintf(features, sizeof features, " %s ", facts.cpu_features);
    assert_true((strstr(features, " avx2 ") != NULL) == (__builtin_cpu_supports("avx2") != 0));
    assert_true((strstr(features, " avx512f ") != NULL) == (__builtin_cpu_supports("avx512f") != 0));
    assert_true(strncmp(facts.blas, "OpenBLAS ", 9) == 0 && strchr(facts.blas + 9, ' ') == NULL);
    assert_string_equal(facts.blas_core, blas_core());
    clock_gettime(CLOCK_REALTIME, &now);
    assert_true(llabs((long long)facts.started_at - (long long)now.tv_sec * 1000) < 60000);
    CPU_ZERO(&one);
    for (size_t i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    facts_fill(&facts, kernels); /* `cores` counts only the cores on which the process may run */
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(facts.cores, 1);
}

/* Reads a number in kB from a line of a file in /proc. */
static int64_t read_kb(const char *path, const char *name)
{
    char line[256];
    int64_t value = -1;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtoll(line + strlen(name), NULL, 10) * 1024;
    fclose(file);
    return value;
}

static void memory_facts_match_proc(void **state)
{
    const size_t more = (size_t)64 << 20;
    int64_t before = (int64_t)facts_memory(), resident = read_kb("/proc/self/status", "VmRSS:");
    assert_true(llabs((long long)(before - resident)) < 16 << 20);
    char *bytes = malloc(more);
    assert_non_null(bytes);
    memset(bytes, 1, more);
    assert_true((int64_t)facts_memory() - before > (int64_t)more / 2);
    free(bytes);
    int64_t most = facts_memory_most(), machine = read_kb("/proc/meminfo", "MemTotal:");
    assert_true(most > before && most <= machine + (1 << 20));
    /* First, facts_memory() cannot read its file. Then facts_memory_most() can read only its first n files, for n = 0
     * to 3. It must use the sources that remain. */
    fault_call_after(0, EACCES, false);
    assert_true(facts_memory() == 0 && fault_call_happened() != NULL);
    for (int n = 0; n < 4; n++) {
        fault_call_after(n, EACCES, true);
        int64_t other = facts_memory_most();
        bool happened = fault_call_happened() != NULL;
        assert_true(other >= most && other <= machine + (1 << 20));
        if (!happened)
            assert_true(other == most);
    }
}

static void time_and_descriptors_match_the_process(void **state)
{
    double before = facts_cpu_seconds(), after;
    volatile double sum = 0;
    do {
        for (int i = 0; i < 1000; i++)
            sum = sum + i;
        after = facts_cpu_seconds();
    } while (after < before + 0.01);
    assert_true(after < before + 10);
    int count = facts_descriptors(), fd = dup(0);
    assert_true(count >= 3);
    assert_int_equal(facts_descriptors(), count + 1);
    struct rlimit usual;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    const struct rlimit none = {0, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int unknown = facts_descriptors();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(unknown, -1);
    close(fd);
    assert_int_equal(facts_descriptors(), count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_restarts_once_for_its_kernels), cmocka_unit_test(facts_match_the_machine),
        cmocka_unit_test(memory_facts_match_proc), cmocka_unit_test(time_and_descriptors_match_the_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
