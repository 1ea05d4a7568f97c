/* Fault sweeps (storage_sweep.h) in which an allocation fails. The allocation may be one of the program or of SQLite,
 * in any thread. */
#include "tests/unit/storage/storage_sweep.h"

#include "tests/support/fault.h"
#include "tests/support/sanitized.h"

static void arm(int place, bool forever)
{
    (forever ? fault_from : fault_after)(place);
}

/* Accepts the error that the memory is missing. When SQLite's check of the file has no memory for a page, it
 * reports the page as unreadable, which is accepted too. */
static bool reports_fault(enum status status, const char *message)
{
    return status == STATUS_NO_MEMORY ||
           (status == STATUS_IO && strstr(message, "the second check found it sound") != NULL);
}

static const struct sweep_kind allocation = {"allocation", arm, fault_happened, reports_fault, true, false};

static void reads_report_every_fault(void **state)
{
    int walked = 0;
    complaints = 0;
    for (size_t i = 0; i < sweep_read_count; i++)
        for (int forever = 0; forever < 2; forever++)
            walked += sweep_read(&sweep_reads[i], &allocation, forever, fault_stride(SANITIZED ? 93 : 31));
    print_message("%d allocations\n", walked);
    assert_int_equal(complaints, 0);
    assert_true(walked > (SANITIZED ? 70 : 200));
}

static void writes_happen_fully_or_not_at_all(void **state)
{
    int walked = 0;
    complaints = 0;
    for (size_t i = 0; i < sweep_write_count; i++)
        for (int forever = 0; forever < 2; forever++)
            walked += sweep_write(&sweep_writes[i], &allocation, forever,
                                  fault_stride((forever ? 305 : 61) * (SANITIZED ? 3 : 1)));
    print_message("%d allocations\n", walked);
    assert_int_equal(complaints, 0);
    assert_true(walked > (SANITIZED ? 70 : 200));
}

static void opening_reports_every_fault(void **state)
{
    complaints = 0;
    int walked =
        sweep_opening(&allocation, false, fault_stride(97)) + sweep_opening(&allocation, true, fault_stride(97));
    print_message("%d allocations\n", walked);
    assert_int_equal(complaints, 0);
    assert_true(walked > 50);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_report_every_fault),
                                       cmocka_unit_test(writes_happen_fully_or_not_at_all),
                                       cmocka_unit_test(opening_reports_every_fault)};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    fault_libraries();
    return cmocka_run_group_tests(tests, sweep_setup, sweep_teardown);
}
