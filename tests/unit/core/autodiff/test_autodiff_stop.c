/* Tests that a large matrix product ends soon when its pool is stopped, for example because a job is cancelled. */
#include "tests/support/unit.h"
#include "core/autodiff/tape_int.h"
#include "core/kernels/blas.h"

/* Stops the pool at the second call. The pool makes the first call before the product begins. */
static bool second_call(void *context)
{
    return ++*(int *)context > 1;
}

/* The product has 8192^3 multiplications, and its eight blocks have 4,096 rows each. A block takes about a second. */
static void large_product_checks_within_a_block_whether_it_must_stop(void **state)
{
    enum { SIDE = 8192 };
    const size_t count = (size_t)SIDE * SIDE;
    real *a = calloc(count, sizeof *a), *b = calloc(count, sizeof *b), *c = calloc(count, sizeof *c);
    struct thread_pool *pool;
    struct arena arena;
    struct exec e;
    struct error err = {0};
    int calls = 0, rows = 0;
    assert_true(a != NULL && b != NULL && c != NULL);
    blas_init();
    for (size_t i = 0; i < SIDE; i++)
        c[i * SIDE] = 7; /* the product writes 0 to the rows that it computes */
    assert_int_equal(thread_pool_create(1, &pool, &err), STATUS_OK);
    arena_init(&arena, 0, 0);
    exec_init(&e, kernels_best(), pool, &arena, 1);
    exec_begin(&e, false, 0);
    thread_pool_stop_when(pool, second_call, &calls);
    const struct gemm_job job = {.call = {.m = SIDE,
                                          .n = SIDE,
                                          .k = SIDE,
                                          .alpha = 1,
                                          .a = a,
                                          .lda = SIDE,
                                          .b = b,
                                          .ldb = SIDE,
                                          .c = c,
                                          .ldc = SIDE}};
    gemm_run(&e, &job, 1);
    assert_int_equal(exec_status(&e, &err), STATUS_CANCELLED);
    while (rows < SIDE && c[(size_t)rows * SIDE] == 0)
        rows++;
    print_message("%d rows of the first block were computed\n", rows);
    assert_true(rows > 0 && rows % 16 == 0);
    for (int i = rows; i < SIDE; i++)
        assert_true(c[(size_t)i * SIDE] == 7);
    assert_true(rows < SIDE / 4);
    arena_close(&arena);
    thread_pool_destroy(pool);
    free(a);
    free(b);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_product_checks_within_a_block_whether_it_must_stop),
    };
    return cmocka_run_group_tests_name("autodiff_stop", tests, NULL, NULL);
}
