/* Tests objects that own a mutex and conditions. If a call fails while an object is created, the object must destroy
 * the mutex and the conditions that it has initialised. An object that is destroyed must destroy all of them. */
#include <errno.h>
#include <pthread.h>

#include "tests/support/unit.h"
#include "api/queries/query_gate.h"
#include "core/base/parallel/timed_cond.h"
#include "server/http/reaper.h"
#include "server/notices/notices.h"
#include "server/scheduler.h"
#include "tests/support/fault.h"
#include "tests/support/fault_calls.h"

/* ---- mutexes and conditions that are initialised and not destroyed -------------------------------------------- */

static int mutexes, conditions;

int __real_pthread_mutex_destroy(pthread_mutex_t *lock);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *lock);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *lock)
{
    mutexes--;
    return __real_pthread_mutex_destroy(lock);
}

int __real_pthread_cond_destroy(pthread_cond_t *cond);
int __wrap_pthread_cond_destroy(pthread_cond_t *cond);
int __wrap_pthread_cond_destroy(pthread_cond_t *cond)
{
    conditions--;
    return __real_pthread_cond_destroy(cond);
}

/* Calls `make` with a fault at each call, and expects as many destroyed as initialised objects. `make` returns whether
 * it succeeded, after it has destroyed what it made. */
static void sweep(bool (*make)(void), int locks, int conds, int faults)
{
    for (int n = 0; n <= faults; n++) {
        mutexes = conditions = 0;
        fault_call_after(n, ENOMEM, false);
        bool made = make();
        const char *call = fault_call_happened();
        assert_int_equal(made, call == NULL);
        assert_int_equal(call == NULL, n == faults);
        /* what was initialised before the failing call: the mutex is the first, each condition takes three calls */
        int first = n > 0 ? locks : 0, later = n > 0 ? (n - 1) / 3 : 0;
        assert_int_equal(mutexes, -first);
        assert_int_equal(conditions, -(later < conds ? later : conds));
    }
}

static bool make_one(void)
{
    pthread_mutex_t lock;
    pthread_cond_t cond;
    if (!timed_lock_init(&lock, &cond, NULL))
        return false;
    (void)pthread_cond_destroy(&cond);
    (void)pthread_mutex_destroy(&lock);
    return true;
}

static bool make_two(void)
{
    pthread_mutex_t lock;
    pthread_cond_t first, second;
    if (!timed_lock_init(&lock, &first, &second))
        return false;
    (void)pthread_cond_destroy(&second);
    (void)pthread_cond_destroy(&first);
    (void)pthread_mutex_destroy(&lock);
    return true;
}

static bool make_reaper(void)
{
    const struct reaper_limits limits = {.header_ms = 1000};
    struct reaper *reaper = NULL;
    if (reaper_create(&limits, &reaper, NULL) != STATUS_OK)
        return false;
    reaper_destroy(reaper);
    return true;
}

static bool make_gate(void)
{
    struct query_gate *gate = NULL;
    if (query_gate_create(1, 1, &gate, NULL) != STATUS_OK)
        return false;
    query_gate_destroy(gate);
    return true;
}

static bool make_scheduler(void)
{
    const struct scheduler_options options = {.workers = 0};
    struct scheduler *scheduler = NULL;
    if (scheduler_start(&options, &scheduler, NULL) != STATUS_OK)
        return false;
    scheduler_stop(scheduler);
    return true;
}

static void a_lock_and_its_conditions_are_made_together_or_not_at_all(void **state)
{
    sweep(make_one, 1, 1, 4);
    sweep(make_two, 1, 2, 7);
}

static void objects_with_locks_destroy_what_they_have_initialised(void **state)
{
    sweep(make_gate, 1, 0, 1);
    sweep(make_reaper, 1, 1, 5); /* the last call starts the thread */
    sweep(make_scheduler, 1, 2, 7);
}

/* In the loop, notices_start() fails because it cannot initialise a mutex or a condition. After the loop, it fails
 * because the key is too short. Each time it must destroy what it has initialised. */
static void notices_that_cannot_start_leave_nothing(void **state)
{
    struct notices_options options = {.url = "http://127.0.0.1:9/", .secret = "too short"};
    struct notices *notices = NULL;
    for (int n = 0; n < 4; n++) {
        mutexes = conditions = 0;
        fault_call_after(n, ENOMEM, false);
        assert_int_equal(notices_start(&options, &notices, NULL), STATUS_NO_MEMORY);
        assert_non_null(fault_call_happened());
        assert_true(mutexes == (n > 0 ? -1 : 0) && conditions == 0);
    }
    mutexes = conditions = 0;
    assert_int_equal(notices_start(&options, &notices, NULL), STATUS_INVALID);
    assert_true(mutexes == -1 && conditions == -1);
}

static void memory_for_the_objects_can_be_missing(void **state)
{
    bool (*const make[])(void) = {make_gate, make_reaper, make_scheduler};
    mutexes = conditions = 0;
    for (size_t i = 0; i < sizeof make / sizeof make[0]; i++) {
        fault_after(0);
        assert_false(make[i]());
        assert_true(fault_happened());
    }
    assert_true(mutexes == 0 && conditions == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_and_its_conditions_are_made_together_or_not_at_all),
        cmocka_unit_test(objects_with_locks_destroy_what_they_have_initialised),
        cmocka_unit_test(notices_that_cannot_start_leave_nothing),
        cmocka_unit_test(memory_for_the_objects_can_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
