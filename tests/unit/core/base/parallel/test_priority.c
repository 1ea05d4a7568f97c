/* Sets time slices and nice values of threads, and reads them back from the system. */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <pthread.h>

#include "tests/support/unit.h"
#include "core/base/parallel/priority.h"

static uint64_t slice(void)
{
    uint64_t attributes[8] = {0}; /* the time slice (sched_runtime) is at byte 24 of struct sched_attr */
    return syscall(SYS_sched_getattr, 0, attributes, sizeof attributes, 0) == 0 ? attributes[3] : 0;
}

struct seen {
    uint64_t before, answering, child, computing;
    int nice_before, nice_computing;
    bool computes;
};

static void *child(void *context)
{
    struct seen *seen = context;
    seen->child = slice();
    seen->nice_before = getpriority(PRIO_PROCESS, 0);
    seen->computes = priority_compute(0, 3);
    seen->computing = slice();
    seen->nice_computing = getpriority(PRIO_PROCESS, 0);
    return NULL;
}

static void *parent(void *context)
{
    struct seen *seen = context;
    pthread_t thread;
    seen->before = slice();
    priority_answer();
    seen->answering = slice();
    assert_int_equal(pthread_create(&thread, NULL, child, seen), 0);
    (void)pthread_join(thread, NULL);
    return NULL;
}

static void computing_threads_get_a_higher_nice_value(void **state)
{
    struct seen seen = {0};
    pthread_t thread; /* a thread of its own, because it keeps the changed nice value */
    assert_int_equal(pthread_create(&thread, NULL, parent, &seen), 0);
    (void)pthread_join(thread, NULL);
    assert_true(seen.computes);
    assert_int_equal(seen.nice_computing, seen.nice_before + 3 > 19 ? 19 : seen.nice_before + 3);
}

static void answering_threads_get_short_slices_and_computing_ones_the_default(void **state)
{
    struct seen seen = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, parent, &seen), 0);
    (void)pthread_join(thread, NULL);
    if (seen.answering == seen.before) {
        print_message("this system has no slices of one's own\n");
        skip();
    }
    assert_int_equal(seen.answering, 100000);
    assert_int_equal(seen.child, 100000);
    assert_int_equal(seen.computing, seen.before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computing_threads_get_a_higher_nice_value),
        cmocka_unit_test(answering_threads_get_short_slices_and_computing_ones_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
