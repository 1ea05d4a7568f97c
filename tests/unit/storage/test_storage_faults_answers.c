/* Fault sweeps (storage_sweep.h) with two kinds of faults: a call of SQLite returns SQLITE_NOMEM, or an allocation of
 * the program fails. test_storage_faults_memory also fails the allocations inside SQLite, but skips some places. */
#include "tests/unit/storage/storage_sweep.h"

#include "tests/support/fault.h"
#include "tests/support/fault_sqlite.h"
#include "tests/support/sanitized.h"

static void arm_answer(int place, bool forever)
{
    fault_sqlite_after(place, SQLITE_NOMEM, forever);
}

static void arm_allocation(int place, bool forever)
{
    (forever ? fault_from : fault_after)(place);
}

static bool reports_fault(enum status status, const char *message)
{
    return status == STATUS_NO_MEMORY;
}

enum { ANSWER, ALLOCATION, KINDS };
static const struct sweep_kind kinds[KINDS] = {
    {"answer of SQLite", arm_answer, fault_sqlite_happened, reports_fault, true, false},
    {"allocation of the program", arm_allocation, fault_happened, reports_fault, true, false},
};

static void every(int (*sweep)(const struct sweep_call *, const struct sweep_kind *, bool, int),
                  const struct sweep_call *calls, size_t count, int least)
{
    int walked[KINDS] = {0};
    complaints = 0;
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < KINDS; k++)
            for (int forever = 0; forever < 2; forever++)
                walked[k] += sweep(&calls[i], &kinds[k], forever,
                                   fault_stride((forever ? 15 : 1) * (SANITIZED && count > 1 ? 3 : 1)));
    print_message("%d answers, %d allocations\n", walked[ANSWER], walked[ALLOCATION]);
    assert_int_equal(complaints, 0);
    assert_true(walked[ANSWER] > least && (count == 1 || walked[ALLOCATION] > 10));
}

static void reads_report_every_fault(void **state)
{
    every(sweep_read, sweep_reads, sweep_read_count, 200);
    every(sweep_read, &sweep_again, 1, 5);
}

static void writes_happen_fully_or_not_at_all(void **state)
{
    every(sweep_write, sweep_writes, sweep_write_count, 200);
}

static void opening_reports_every_fault(void **state)
{
    complaints = 0;
    for (int k = 0; k < KINDS; k++)
        for (int forever = 0; forever < 2; forever++)
            assert_true(sweep_opening(&kinds[k], forever, 1) > 5);
    assert_int_equal(complaints, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_report_every_fault),
                                       cmocka_unit_test(writes_happen_fully_or_not_at_all),
                                       cmocka_unit_test(opening_reports_every_fault)};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, sweep_setup, sweep_teardown);
}
