/* Tests rugs: their algebra, their application to vectors, and their loss compared with the closed form. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/kernels/hadamard.h"
#include "core/superposed/data.h"
#include "core/superposed/rug.h"
#include "core/superposed/theory.h"

static void a_row_has_the_sums_of_the_theory(void **state)
{
    int with_zero = 0;
    for (int draw = 0; draw < 24; draw++) {
        static const int sizes[][2] = {{16, 5}, {256, 40}, {512, 300}, {1024, 1024}, {64, 1}, {1 << 15, 1000}};
        int n = sizes[draw % 6][0], d = sizes[draw % 6][1];
        struct rug rug;
        struct thread_pool *pool;
        float *row = malloc((size_t)n * sizeof *row);
        double sum = 0, squares = 0;
        assert_non_null(row);
        assert_int_equal(thread_pool_create(1, &pool, NULL), STATUS_OK);
        assert_int_equal(rug_create(n, d, 9, (uint32_t)draw, &rug, NULL), STATUS_OK);
        assert_int_equal(rug_row(&rug, pool, kernels_best(), row, NULL), STATUS_OK);
        for (int i = 0; i < n; i++) {
            sum += (double)row[i];
            squares += (double)row[i] * (double)row[i];
        }
        assert_true(fabs((double)row[0] - 1) < 1e-6);
        assert_true(fabs(squares - 1 - ((double)n / d - 1)) < 1e-5 * n / d);
        assert_true(fabs(sum - (rug.rows[0] == 0 ? (double)n / d : 0)) < 1e-4);
        with_zero += rug.rows[0] == 0;
        rug_close(&rug);
        thread_pool_destroy(pool);
        free(row);
    }
    assert_true(with_zero > 0 && with_zero < 24);
}

/* Compares the row and the products of a rug with the matrix of its definition. Checks that rug_create() chooses every
 * row of the Hadamard matrix equally often. */
static void a_rug_equals_the_matrix_of_its_definition(void **state)
{
    enum { N = 32, D = 11 };
    struct rug rug;
    struct thread_pool *pool;
    float row[N], x[N], y[N];
    assert_int_equal(thread_pool_create(1, &pool, NULL), STATUS_OK);
    assert_int_equal(rug_create(N, D, 2, 0, &rug, NULL), STATUS_OK);
    assert_int_equal(rug_row(&rug, pool, kernels_best(), row, NULL), STATUS_OK);
    sample_draw(1, STREAM_TEST, 0, 0.5, N, x);
    memcpy(y, x, sizeof x);
    assert_true(rug_apply(&rug, pool, kernels_best(), y, NULL));
    for (int i = 0; i < N; i++) {
        double wanted = 0;
        for (int j = 0; j < N; j++) {
            double w = 0;
            for (int k = 0; k < D; k++)
                w += hadamard_sign((uint64_t)i, (uint64_t)rug.rows[k]) *
                     hadamard_sign((uint64_t)rug.rows[k], (uint64_t)j);
            assert_true(fabs(w / D - (double)row[i ^ j]) < 1e-6);
            wanted += w / D * (double)x[j];
        }
        assert_true(fabs(wanted - (double)y[i]) < 1e-5);
    }
    rug_close(&rug);
    int counts[8] = {0};
    for (uint32_t draw = 0; draw < 8000; draw++) {
        assert_int_equal(rug_create(8, 3, 2, draw, &rug, NULL), STATUS_OK);
        for (int k = 0; k < 3; k++) {
            assert_true(k == 0 || rug.rows[k] > rug.rows[k - 1]);
            counts[rug.rows[k]]++;
        }
        rug_close(&rug);
    }
    for (int i = 0; i < 8; i++)
        assert_true(abs(counts[i] - 3000) < 200);
    thread_pool_destroy(pool);
}

static double measured(const struct rug *rug, double p, double scale, double offset, int samples)
{
    struct thread_pool *pool;
    float *x = malloc((size_t)rug->n_s * sizeof *x), *y = malloc((size_t)rug->n_s * sizeof *y);
    double sum = 0;
    assert_true(x && y);
    assert_int_equal(thread_pool_create(1, &pool, NULL), STATUS_OK);
    for (int s = 0; s < samples; s++) {
        sample_draw(4, STREAM_TEST, s, p, rug->n_s, x);
        memcpy(y, x, (size_t)rug->n_s * sizeof *x);
        assert_true(rug_apply(rug, pool, kernels_best(), y, NULL));
        for (int i = 0; i < rug->n_s; i++) {
            double out = isnan(offset) ? (double)y[i] : fmax(0, scale * ((double)y[i] + offset));
            sum += ((double)x[i] - out) * ((double)x[i] - out);
        }
    }
    thread_pool_destroy(pool);
    free(x);
    free(y);
    return sum / samples / rug->n_s;
}

static void large_rugs_reach_the_loss_of_the_closed_form(void **state)
{
    static const struct {
        double p, r;
    } points[] = {{.044001, .254001}, {.044001, .506}, {.1, .254001}, {.4, .506}};
    for (uint32_t i = 0; i < 4; i++) {
        int n = 8192, d = (int)(n * points[i].r);
        struct rug rug;
        struct theory_optimum best = theory_optimum(points[i].p, theory_sigma(points[i].p, (double)d / n));
        assert_int_equal(rug_create(n, d, 1, i, &rug, NULL), STATUS_OK);
        double loss = measured(&rug, points[i].p, best.scale, rug_offset(&rug, points[i].p, best.offset), 300);
        if (!(fabs(loss / best.loss - 1) < 0.02))
            fail_msg("p %g r %g: %g instead of %g", points[i].p, points[i].r, loss, best.loss);
        rug_close(&rug);
    }
}

static void the_projector_is_the_best_linear_model(void **state)
{
    struct rug rug;
    assert_int_equal(rug_create_projector(1024, 256, &rug, NULL), STATUS_OK);
    double loss = measured(&rug, 0.3, 1, NAN, 600);
    assert_true(fabs(loss / theory_linear(0.3, 0.25) - 1) < 0.01);
    rug_close(&rug);
}

static void impossible_shapes_are_refused(void **state)
{
    struct rug rug;
    assert_int_equal(rug_create(100, 10, 1, 0, &rug, NULL), STATUS_INVALID);
    assert_int_equal(rug_create(64, 65, 1, 0, &rug, NULL), STATUS_INVALID);
    assert_int_equal(rug_create(64, 0, 1, 0, &rug, NULL), STATUS_INVALID);
    assert_int_equal(rug_create(64, 2, 1, 0, &rug, NULL), STATUS_OK);
    rug.rows[1] = rug.rows[0];
    assert_int_equal(rug_fill(&rug, NULL), STATUS_CORRUPT);
    rug.rows[1] = 64;
    assert_int_equal(rug_fill(&rug, NULL), STATUS_CORRUPT);
    rug_close(&rug);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_has_the_sums_of_the_theory),
        cmocka_unit_test(a_rug_equals_the_matrix_of_its_definition),
        cmocka_unit_test(large_rugs_reach_the_loss_of_the_closed_form),
        cmocka_unit_test(the_projector_is_the_best_linear_model),
        cmocka_unit_test(impossible_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
