/* Tests the ledger of what requests hold, and the budget of work. */
#include "tests/support/unit.h"

#include <pthread.h>

#include "core/base/work.h"
#include "tests/support/fault.h"

static struct error record, *const err = &record;

static void assert_ok(enum status status)
{
    if (status)
        fail_msg("status %d", (int)status);
}

static struct ledger *open_ledger(int64_t files, int64_t memory)
{
    const int64_t limit[LEDGER_RESOURCES] = {[LEDGER_FILES] = files, [LEDGER_MEMORY] = memory};
    struct ledger *ledger = NULL;
    assert_ok(ledger_create(limit, &ledger, err));
    return ledger;
}

static struct ledger_account account_of(struct ledger *ledger, const char *owner)
{
    struct ledger_account account;
    ledger_open(&account, ledger, owner);
    return account;
}

static enum status take(struct ledger_account *account, enum ledger_item item, int64_t amount)
{
    struct error cause = {0};
    return ledger_take(account, item, amount, &cause);
}

static void an_owner_gets_half_and_all_owners_get_the_limit(void **state)
{
    struct ledger *ledger = open_ledger(100, 0);
    struct ledger_account a = account_of(ledger, "a"), b = account_of(ledger, "b"), c = account_of(ledger, "c"),
                          more = account_of(ledger, "a");
    struct ledger_state read;
    (void)state;
    assert_ok(take(&a, LEDGER_BODIES, 50));
    assert_int_equal(take(&a, LEDGER_ANSWERS, 1), STATUS_LIMIT);          /* the request alone would exceed half */
    assert_int_equal(take(&more, LEDGER_ANSWERS, 1), STATUS_UNAVAILABLE); /* all requests of the owner would */
    assert_ok(take(&b, LEDGER_UNPACKED, 30));
    assert_int_equal(take(&c, LEDGER_ANSWERS, 21), STATUS_UNAVAILABLE);
    assert_ok(take(&c, LEDGER_ANSWERS, 20));
    ledger_read(ledger, &read);
    assert_true(read.owners == 3 && read.held[LEDGER_BODIES] == 50 && read.held[LEDGER_UNPACKED] == 30);
    assert_true(read.held[LEDGER_ANSWERS] == 20 && read.refused[LEDGER_FILES] == 2);
    ledger_give(&a, LEDGER_BODIES, 10);
    assert_ok(take(&more, LEDGER_ANSWERS, 10));
    ledger_close(&a);
    ledger_close(&b);
    ledger_close(&c);
    ledger_close(&more);
    ledger_close(&more);
    ledger_read(ledger, &read);
    assert_true(read.owners == 0 && read.held[LEDGER_BODIES] == 0 && read.most[LEDGER_BODIES] == 50);
    ledger_destroy(ledger);
}

static void an_unknown_owner_gets_all_and_no_limit_is_no_limit(void **state)
{
    struct ledger *ledger = open_ledger(100, 0);
    struct ledger_account a = account_of(ledger, ""), none = account_of(NULL, "b");
    (void)state;
    assert_ok(take(&a, LEDGER_BODIES, 100));
    assert_int_equal(take(&a, LEDGER_BODIES, 1), STATUS_LIMIT);
    assert_ok(take(&a, LEDGER_MODELS, INT64_MAX / 2));
    assert_ok(take(&none, LEDGER_BODIES, 1000));
    ledger_close(&a);
    ledger_close(&none);
    ledger_destroy(ledger);
}

static void a_ledger_without_memory_takes_nothing(void **state)
{
    struct ledger *ledger = open_ledger(100, 0);
    struct ledger_account a = account_of(ledger, "a");
    struct ledger_state read;
    (void)state;
    fault_after(0);
    assert_int_equal(take(&a, LEDGER_BODIES, 10), STATUS_NO_MEMORY);
    assert_true(fault_happened());
    ledger_read(ledger, &read);
    assert_true(read.held[LEDGER_BODIES] == 0 && a.held[LEDGER_BODIES] == 0);
    ledger_destroy(ledger);
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *take_and_give(void *context)
{
    struct ledger_account a = account_of(context, "a"), b = account_of(context, "b");
    for (int i = 0; i < ROUNDS; i++) {
        if (!take(&a, LEDGER_BODIES, 10))
            ledger_give(&a, LEDGER_BODIES, 10);
        (void)take(&b, LEDGER_MODELS, 1);
        ledger_close(&b);
    }
    return NULL;
}

static void threads_never_exceed_the_limits(void **state)
{
    struct ledger *ledger = open_ledger(40, 6);
    pthread_t thread[THREADS];
    struct ledger_state read;
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_and_give, ledger), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    ledger_read(ledger, &read);
    assert_true(read.owners == 0 && read.held[LEDGER_BODIES] == 0 && read.held[LEDGER_MODELS] == 0);
    assert_true(read.most[LEDGER_BODIES] <= 20 && read.most[LEDGER_MODELS] <= 3);
    ledger_destroy(ledger);
}

/* ---- work ------------------------------------------------------------------------------------------------------ */

struct asked {
    int calls, until;
};

static bool stops(void *context)
{
    struct asked *asked = context;
    return ++asked->calls > asked->until;
}

static bool goes_on(void *context)
{
    ((struct asked *)context)->calls++;
    return true;
}

static bool ends(void *context)
{
    (void)context;
    return false;
}

static void work_ends_when_its_stop_says_so_and_stays_ended(void **state)
{
    struct asked asked = {.until = 2};
    struct work work = {.stop = stops, .context = &asked};
    struct error cause = {0};
    (void)state;
    assert_ok(work_check(&work, &cause));
    assert_ok(work_yield(&work, &cause));
    assert_int_equal(work_check(&work, &cause), STATUS_CANCELLED);
    asked.calls = -100;
    assert_true(work_stopped(&work) && !work_late(&work));
    assert_ok(work_check(NULL, &cause));
    assert_false(work_stopped(NULL));
}

static void work_ends_at_its_deadline(void **state)
{
    struct work work = {.until_ms = work_now_ms() + 60000};
    struct error cause = {0};
    (void)state;
    assert_ok(work_check(&work, &cause));
    work.until_ms = 1;
    assert_int_equal(work_check(&work, &cause), STATUS_CANCELLED);
    assert_true(work_late(&work));
}

static void work_lets_others_go_first(void **state)
{
    struct asked asked = {0};
    struct work work = {.yield = goes_on, .context = &asked};
    struct error cause = {0};
    (void)state;
    assert_ok(work_yield(&work, &cause));
    assert_int_equal(asked.calls, 1);
    work.yield = ends;
    assert_int_equal(work_yield(&work, &cause), STATUS_CANCELLED);
}

static void a_pause_spares_calls_of_stop(void **state)
{
    struct asked asked = {.until = 1000};
    struct work work = {.stop = stops, .context = &asked, .pause_ms = 3600000};
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_false(work_stopped(&work));
    assert_true(asked.calls <= 1);
}

static void the_growth_of_large_arrays_is_taken(void **state)
{
    struct ledger *ledger = open_ledger(0, 4096 * 8);
    struct work work = {.account = account_of(ledger, "")};
    struct error cause = {0};
    (void)state;
    for (size_t count = 0; count < 8192; count++)
        assert_ok(work_take_growth(&work, count, 8, &cause));
    assert_true(work.account.held[LEDGER_RESULTS] == 4096 * 8);
    assert_int_equal(work_take_growth(&work, 8192, 8, &cause), STATUS_LIMIT);
    assert_ok(work_take_growth(NULL, 8192, 8, &cause));
    ledger_close(&work.account);
    ledger_destroy(ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_gets_half_and_all_owners_get_the_limit),
        cmocka_unit_test(an_unknown_owner_gets_all_and_no_limit_is_no_limit),
        cmocka_unit_test(a_ledger_without_memory_takes_nothing),
        cmocka_unit_test(threads_never_exceed_the_limits),
        cmocka_unit_test(work_ends_when_its_stop_says_so_and_stays_ended),
        cmocka_unit_test(work_ends_at_its_deadline),
        cmocka_unit_test(work_lets_others_go_first),
        cmocka_unit_test(a_pause_spares_calls_of_stop),
        cmocka_unit_test(the_growth_of_large_arrays_is_taken),
    };
    return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
