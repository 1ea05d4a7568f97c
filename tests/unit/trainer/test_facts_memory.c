/* Tests how a program finds the memory that it may use: the files of a control group, which this file plays, and the
 * memory of the machine. */
#include <unistd.h>

#include "tests/support/unit.h"
#include "trainer/facts.h"

/* The contents of the played files; NULL: the file does not exist. */
static const char *group, *limit_of_group, *limit_of_root, *statm;
static long pages;

FILE *__wrap_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode)
{
    const char *text = strcmp(path, "/proc/self/cgroup") == 0                    ? group
                       : strcmp(path, "/sys/fs/cgroup/memory.max") == 0          ? limit_of_root
                       : strcmp(path, "/sys/fs/cgroup/my.slice/memory.max") == 0 ? limit_of_group
                       : strcmp(path, "/proc/self/statm") == 0                   ? statm
                                                                                 : NULL;
    if (text == NULL)
        return NULL;
    FILE *file = tmpfile();
    if (file != NULL) {
        (void)fputs(text, file);
        rewind(file);
    }
    return file;
}

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
    return name == _SC_PHYS_PAGES ? pages : name == _SC_PAGESIZE ? 4096 : __real_sysconf(name);
}

static void the_smallest_limit_counts(void **state)
{
    static const struct {
        const char *group, *limit_of_group, *limit_of_root;
        long pages;
        int64_t most;
    } cases[] = {
        {NULL, NULL, NULL, 1000, 4096000},                     /* no control groups */
        {"0::/my.slice\n", "1000000\n", NULL, 1000, 1000000},  /* the group has a limit */
        {"0::/my.slice\n", "1000000\n", "5\n", 1000, 1000000}, /* the root's limit counts only if the group has none */
        /* in a container, the file at the root has the group's limit */
        {"0::/my.slice\n", "max\n", "2000000\n", 1000, 2000000},
        {"0::/my.slice\n", NULL, "2000000\n", 1000, 2000000},
        {"12:memory:/old\n", "1000000\n", "2000000\n", 1000, 2000000}, /* control groups of version 1: the line names no
                                                                        * group of version 2 ("0::") */
        {"", NULL, "", 1000, 4096000},                                 /* files without content */
        {"0::/my.slice\n", "max\n", "max\n", 1000, 4096000},
        {"0::/my.slice\n", "9000000\n", NULL, 1000, 4096000}, /* more than the machine has */
        {"0::/my.slice\n", "-1\n", "-1\n", 1000, 4096000},
        {"0::/my.slice\n", "9000000\n", NULL, -1, 9000000}, /* the machine does not say how much it has */
        {NULL, NULL, NULL, -1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        group = cases[i].group;
        limit_of_group = cases[i].limit_of_group;
        limit_of_root = cases[i].limit_of_root;
        pages = cases[i].pages;
        if (facts_memory_most() != cases[i].most)
            fail_msg("case %zu: %lld and not %lld", i, (long long)facts_memory_most(), (long long)cases[i].most);
    }
}

static void resident_memory_is_0_without_a_readable_file(void **state)
{
    statm = "900 25 7 1\n";
    assert_int_equal(facts_memory(), 25 * 4096);
    statm = "";
    assert_int_equal(facts_memory(), 0);
    statm = NULL;
    assert_int_equal(facts_memory(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_smallest_limit_counts),
                                       cmocka_unit_test(resident_memory_is_0_without_a_readable_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
