/* Tests Walsh-Hadamard transforms. Compares the reference table with the definition, and vector tables with the
 * reference table. */
#include "core/kernels/hadamard.h"
#include "tests/unit/core/kernels/kernel_check.h"

static void ref_transform_equals_its_definition(void **state)
{
    enum { N = 16, COLUMNS = 3 };
    float *x = random_floats(1, N * COLUMNS), *y = copy_floats(x, N * COLUMNS), *z = copy_floats(x, N * COLUMNS);
    ref->hadamard_columns(N, COLUMNS, y, COLUMNS);
    ref->hadamard_rows(2, N, z, N + 2);
    for (int i = 0; i < N; i++) {
        double down[COLUMNS] = {0}, along[2] = {0};
        for (int j = 0; j < N; j++) {
            for (int c = 0; c < COLUMNS; c++)
                down[c] += hadamard_sign((uint64_t)i, (uint64_t)j) * (double)x[j * COLUMNS + c];
            for (int r = 0; r < 2; r++)
                along[r] += hadamard_sign((uint64_t)i, (uint64_t)j) * (double)x[r * (N + 2) + j];
        }
        for (int c = 0; c < COLUMNS; c++)
            assert_true(fabs(down[c] - (double)y[i * COLUMNS + c]) < 1e-5);
        for (int r = 0; r < 2; r++)
            assert_true(fabs(along[r] - (double)z[r * (N + 2) + i]) < 1e-5);
    }
    free(x);
    free(y);
    free(z);
}

/* Sylvester's matrix has the entries (-1)^popcount(i AND j) and is orthogonal. The paper prints XOR instead of AND;
 * that matrix has rank 1. */
static void matrix_with_and_is_orthogonal_and_with_xor_has_rank_one(void **state)
{
    enum { N = 16 };
    for (uint64_t i = 0; i < N; i++)
        for (uint64_t j = 0; j < N; j++) {
            int with_and = 0;
            for (uint64_t k = 0; k < N; k++)
                with_and += hadamard_sign(i, k) * hadamard_sign(j, k);
            assert_int_equal(with_and, i == j ? N : 0);
            int x = __builtin_parityll(i ^ j), minor = x ^ __builtin_parityll(i) ^ __builtin_parityll(j);
            assert_int_equal(minor, 0); /* with XOR, entry (i, j) is h(i) h(j), where h(i) = (-1)^popcount(i): the
                                           matrix is an outer product */
        }
}

static void fast_rows_and_columns_match_ref(void **state)
{
    static const int columns[] = {1, 5, 16, 33, 64};
    FOR_EACH_TABLE(fast)
    for (int n = 1; n <= 8192; n *= 2) {
        size_t count = (size_t)n * 64 + 64;
        float *x = random_floats(1, count), *y = copy_floats(x, count);
        ref->hadamard_rows(3, n, x, n + 1);
        fast->hadamard_rows(3, n, y, n + 1);
        CHECK_CLOSE("hadamard_rows", fast, x, y, count);
        for (size_t i = 0; i < COUNT(columns) && n <= 512; i++) {
            ref->hadamard_columns(n, columns[i], x, 64);
            fast->hadamard_columns(n, columns[i], y, 64);
            CHECK_CLOSE("hadamard_columns", fast, x, y, count);
            ref->multiply((size_t)n, x + 7, x);
            fast->multiply((size_t)n, y + 7, y);
        }
        free(x);
        free(y);
    }
}

/* Two transforms of a vector multiply it by its length n, because the matrix H satisfies H H = n I. This holds for
 * short vectors, and for long vectors, which the code arranges as a table of rows and columns. */
static void transform_applied_twice_multiplies_by_n(void **state)
{
    for (int n = 1; n <= 1 << 20; n *= 4) {
        struct thread_pool *pools[3];
        float *x = random_floats(2, (size_t)n), *results[3];
        for (int t = 0; t < 3; t++) {
            assert_int_equal(thread_pool_create(t + 1, &pools[t], NULL), STATUS_OK);
            float *scratch = malloc(hadamard_scratch(pools[t], n) * sizeof *scratch + 64);
            results[t] = copy_floats(x, (size_t)n);
            assert_non_null(scratch);
            assert_true(hadamard_transform(pools[t], kernels_best(), n, results[t], scratch));
            assert_true(hadamard_transform(pools[t], kernels_best(), n, results[t], scratch));
            free(scratch);
            thread_pool_destroy(pools[t]);
            assert_memory_equal(results[0], results[t], (size_t)n * sizeof *x);
        }
        for (int i = 0; i < n; i++)
            assert_true(fabs((double)results[0][i] / n - (double)x[i]) < 2e-6);
        for (int t = 0; t < 3; t++)
            free(results[t]);
        free(x);
    }
}

static void sandwich_equals_transform_diagonal_transform(void **state)
{
    for (int n = 2; n <= 1 << 17; n *= 2) {
        struct thread_pool *pool;
        assert_int_equal(thread_pool_create(2, &pool, NULL), STATUS_OK);
        float *x = random_floats(3, (size_t)n), *y = copy_floats(x, (size_t)n), *d = random_floats(4, (size_t)n);
        float *scratch = malloc(hadamard_scratch(pool, n) * sizeof *scratch + 64);
        assert_non_null(scratch);
        const struct kernels *k = kernels_best(), *fast = k;
        assert_true(hadamard_transform(pool, k, n, x, scratch));
        k->multiply((size_t)n, d, x);
        assert_true(hadamard_transform(pool, k, n, x, scratch));
        assert_true(hadamard_sandwich(pool, k, n, d, y, scratch));
        CHECK_CLOSE("hadamard_sandwich", fast, x, y, (size_t)n);
        free(x);
        free(y);
        free(d);
        free(scratch);
        thread_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ref_transform_equals_its_definition),
        cmocka_unit_test(matrix_with_and_is_orthogonal_and_with_xor_has_rank_one),
        cmocka_unit_test(fast_rows_and_columns_match_ref),
        cmocka_unit_test(transform_applied_twice_multiplies_by_n),
        cmocka_unit_test(sandwich_equals_transform_diagonal_transform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
