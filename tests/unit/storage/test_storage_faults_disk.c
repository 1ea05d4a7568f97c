/* Fault sweeps (storage_sweep.h) in which the disk fails: a read fails, a write fails, the disk is full, or a sync
 * fails. */
#include "tests/unit/storage/storage_sweep.h"

#include "tests/unit/storage/fault_vfs.h"
#include "tests/support/fault.h"
#include "tests/support/sanitized.h"

static int failures_before;

static void arm_read(int place, bool forever)
{
    failures_before = fault_failures();
    fault_on_read(place, SQLITE_IOERR_READ, forever);
}

static void arm_full(int place, bool forever)
{
    failures_before = fault_failures();
    fault_on_write(place, SQLITE_FULL, forever);
}

static void arm_write(int place, bool forever)
{
    failures_before = fault_failures();
    fault_on_write(place, SQLITE_IOERR_WRITE, forever);
}

static void arm_sync(int place, bool forever)
{
    failures_before = fault_failures();
    fault_on_sync(place, SQLITE_IOERR_FSYNC, forever);
}

static bool disarm(void)
{
    fault_on_read(0, 0, 0);
    fault_on_write(0, 0, 0);
    fault_on_sync(0, 0, 0);
    return fault_failures() > failures_before;
}

static bool reports_fault(enum status status, const char *message)
{
    return status == STATUS_IO;
}

static bool reports_full(enum status status, const char *message)
{
    return status == STATUS_FULL;
}

enum { READ, FULL, WRITE, SYNC, KINDS };
static const struct sweep_kind kinds[KINDS] = {
    {"read", arm_read, disarm, reports_fault, false, false},
    {"full disk at write", arm_full, disarm, reports_full, true, false},
    {"write", arm_write, disarm, reports_fault, false, false},
    {"sync", arm_sync, disarm, reports_fault, false, true},
};

static void show(const int walked[KINDS])
{
    print_message("%d reads, %d full, %d writes, %d syncs\n", walked[READ], walked[FULL], walked[WRITE], walked[SYNC]);
}

static void reads_report_every_fault(void **state)
{
    int walked[KINDS] = {0};
    complaints = 0;
    for (size_t i = 0; i < sweep_read_count; i++)
        for (int forever = 0; forever < 2; forever++)
            walked[READ] += sweep_read(&sweep_reads[i], &kinds[READ], forever, fault_stride(1));
    show(walked);
    assert_int_equal(complaints, 0);
    assert_true(walked[READ] > 50);
}

static void writes_happen_fully_or_not_at_all(void **state)
{
    static const int strides[KINDS] = {5, 11, 11, 1};
    int walked[KINDS] = {0};
    complaints = 0;
    for (size_t i = 0; i < sweep_write_count; i++)
        for (int k = 0; k < KINDS; k++)
            for (int forever = 0; forever < 2; forever++)
                walked[k] += sweep_write(&sweep_writes[i], &kinds[k], forever,
                                         fault_stride(strides[k] * (forever ? 5 : 1) * (SANITIZED ? 3 : 1)));
    show(walked);
    assert_int_equal(complaints, 0);
    assert_true(walked[READ] > 10 && walked[FULL] > 50 && walked[WRITE] > 50 && walked[SYNC] > 20);
}

static void opening_reports_every_fault(void **state)
{
    static const int strides[KINDS] = {3, 1, 1, 1};
    int walked[KINDS] = {0};
    complaints = 0;
    for (int k = 0; k < KINDS; k++)
        for (int forever = 0; forever < 2; forever++)
            walked[k] += sweep_opening(&kinds[k], forever, fault_stride(strides[k]));
    show(walked);
    assert_int_equal(complaints, 0);
    assert_true(walked[READ] > 20);
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
