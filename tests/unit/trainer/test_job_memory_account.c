/* Tests the account of a job's allocations: every kind of allocation counts, what is freed counts no more, and an
 * allocation beyond the limit fails and is noted. */
#include <errno.h>

#include "tests/support/unit.h"
#include "trainer/job_memory.h"

enum { KB = 1024, LIMIT = 1000 * KB };

/* These are volatile, so that the compiler does not remove allocations that the test never reads. */
static void *volatile kept;
static volatile size_t half = SIZE_MAX / 2, zero;

static void *by_malloc(size_t bytes)
{
    return malloc(bytes);
}
static void *by_calloc(size_t bytes)
{
    return calloc(bytes / KB, KB);
}
static void *by_realloc(size_t bytes)
{
    return realloc(NULL, bytes);
}
static void *by_aligned_alloc(size_t bytes)
{
    return aligned_alloc(64, bytes);
}
static void *(*const kinds[])(size_t bytes) = {by_malloc, by_calloc, by_realloc, by_aligned_alloc};

static void every_kind_of_allocation_counts_until_it_is_freed(void **state)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct job_memory account;
        job_memory_begin(&account, LIMIT);
        kept = kinds[i](100 * KB);
        assert_non_null(kept);
        assert_in_range(account.held, 100 * KB, 101 * KB);
        free(kept);
        assert_int_equal(account.held, 0);
        assert_in_range(account.peak, 100 * KB, 101 * KB);
        assert_false(account.reached);
        job_memory_end();
    }
}

static void an_allocation_beyond_the_limit_fails_and_is_noted(void **state)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct job_memory account;
        job_memory_begin(&account, LIMIT);
        void *first = kinds[i](600 * KB);
        assert_non_null(first);
        errno = 0;
        kept = kinds[i](600 * KB);
        assert_true(kept == NULL && errno == ENOMEM && account.reached);
        free(first);
        kept = kinds[i](600 * KB); /* what was freed can be allocated again */
        assert_non_null(kept);
        free(kept);
        assert_int_equal(account.held, 0);
        job_memory_end();
        job_memory_begin(&account, LIMIT);
        kept = kinds[i](half);
        assert_true(kept == NULL && account.reached && account.held == 0);
        job_memory_end();
    }
}

static void a_changed_size_counts_as_the_difference(void **state)
{
    struct job_memory account;
    job_memory_begin(&account, LIMIT);
    kept = malloc(100 * KB);
    kept = realloc(kept, 500 * KB);
    assert_non_null(kept);
    assert_in_range(account.held, 500 * KB, 501 * KB);
    void *more = realloc(kept, 1100 * KB);
    assert_null(more);
    assert_true(account.reached);
    assert_in_range(account.held, 500 * KB, 501 * KB); /* realloc() failed, so the block keeps its size */
    kept = realloc(kept, 50 * KB);
    assert_non_null(kept);
    assert_in_range(account.held, 50 * KB, 51 * KB);
    kept = realloc(kept, zero); /* frees the block */
    free(kept);
    assert_int_equal(account.held, 0);
    free(NULL);
    job_memory_end();
}

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);
/* Without this function, AddressSanitizer ends the program when a test requests an impossible size. */
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#endif

/* A size whose product overflows, or that the system does not have, fails even without a limit. */
static void an_impossible_size_fails_without_a_limit(void **state)
{
    struct job_memory account;
    job_memory_begin(&account, 0);
    kept = calloc(half, 4);
    assert_null(kept);
    kept = malloc(half);
    assert_null(kept);
    kept = calloc(half, 1);
    assert_null(kept);
    kept = aligned_alloc(64, half - 63);
    assert_null(kept);
    void *volatile block = malloc(10 * KB);
    kept = realloc(block, half);
    assert_null(kept);
    assert_in_range(account.held, 10 * KB, 11 * KB);
    free(block);
    assert_true(account.held == 0 && !account.reached);
    job_memory_end();
    kept = malloc(10 * KB); /* counts for nobody */
    assert_int_equal(account.held, 0);
    free(kept);
    assert_int_equal(job_memory_limit(0), 0);
    assert_int_equal(job_memory_limit(1000), 1500 + (64 << 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_allocation_counts_until_it_is_freed),
        cmocka_unit_test(an_allocation_beyond_the_limit_fails_and_is_noted),
        cmocka_unit_test(a_changed_size_counts_as_the_difference),
        cmocka_unit_test(an_impossible_size_fails_without_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
