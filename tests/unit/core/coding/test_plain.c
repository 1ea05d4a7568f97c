/* Tests the classical decoders of sparse codes in a plain dictionary. Compares FISTA with the basis pursuit of the
 * method pathways, and checks that supports are recovered where theory guarantees it. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/coding/decode.h"
#include "core/coding/plain.h"
#include "tests/support/assert_ok.h"

enum { ATOMS = 60, INPUTS = 24, SIGNALS = 37 };

static float rows[ATOMS * INPUTS], x[SIGNALS * INPUTS];
static struct plain plain;

static int setup(void **state)
{
    struct philox from = philox_stream(4, 0, 0);
    static float scratch[ATOMS + INPUTS];
    (void)state;
    for (int j = 0; j < ATOMS; j++) {
        double square = 0;
        for (int k = 0; k < INPUTS; k++) {
            rows[j * INPUTS + k] = (float)philox_normal(&from, (uint64_t)(j * INPUTS + k));
            square += (double)rows[j * INPUTS + k] * (double)rows[j * INPUTS + k];
        }
        for (int k = 0; k < INPUTS; k++)
            rows[j * INPUTS + k] = (float)((double)rows[j * INPUTS + k] / sqrt(square));
    }
    from = philox_stream(5, 0, 0);
    for (int i = 0; i < SIGNALS * INPUTS; i++)
        x[i] = (float)philox_normal(&from, (uint64_t)i);
    plain = (struct plain){ATOMS, INPUTS, rows, 0, kernels_best()};
    plain.lipschitz = plain_lipschitz(&plain, scratch);
    return 0;
}

/* Returns |x - a W|^2 / 2 + penalty |a|_1, where x is the signal, a the code and W the dictionary. */
static double objective(const float *signal, const float *code, double penalty)
{
    double sum = 0;
    for (int k = 0; k < INPUTS; k++) {
        double error = (double)signal[k];
        for (int j = 0; j < ATOMS; j++)
            error -= (double)code[j] * (double)rows[j * INPUTS + k];
        sum += error * error / 2;
    }
    for (int j = 0; j < ATOMS; j++)
        sum += penalty * fabs((double)code[j]);
    return sum;
}

/* At the minimum, the gradient is -penalty for entries above 0. For entries that are 0, it is at least -penalty. */
static void fista_reaches_a_point_where_no_entry_can_improve(void **state)
{
    static float code[PLAIN_ROWS * ATOMS];
    float *scratch = malloc(plain_fista_scratch(&plain) * sizeof *scratch);
    (void)state;
    plain_fista(&plain, x, SIGNALS, 0.2, 3000, code, scratch);
    for (int r = 0; r < SIGNALS; r++)
        for (int j = 0; j < ATOMS; j++) {
            double gradient = 0.2;
            for (int k = 0; k < INPUTS; k++) {
                double error = -(double)x[r * INPUTS + k];
                for (int i = 0; i < ATOMS; i++)
                    error += (double)code[r * ATOMS + i] * (double)rows[i * INPUTS + k];
                gradient += error * (double)rows[j * INPUTS + k];
            }
            assert_true(code[r * ATOMS + j] > 0 ? fabs(gradient) < 1e-3 : gradient > -1e-3);
        }
    free(scratch);
}

/* Compares FISTA with the basis pursuit of the method pathways. Basis pursuit may use negative entries, FISTA may not.
 * FISTA therefore gets a dictionary that contains each row and its negative. */
static void fista_has_the_objective_of_basis_pursuit_with_both_signs(void **state)
{
    static float both[2 * ATOMS * INPUTS], code[PLAIN_ROWS * 2 * ATOMS], signed_code[ATOMS], folded[ATOMS];
    struct dictionary_shape shape = {1, 1, INPUTS, ATOMS, 1, 1};
    struct dictionary d;
    (void)state;
    for (int i = 0; i < ATOMS * INPUTS; i++) {
        both[i] = rows[i];
        both[ATOMS * INPUTS + i] = -rows[i];
    }
    struct plain pair = {2 * ATOMS, INPUTS, both, 2 * plain.lipschitz, plain.kernels};
    float *scratch = malloc(plain_fista_scratch(&pair) * sizeof *scratch);
    plain_fista(&pair, x, SIGNALS, 0.3, 2000, code, scratch);
    free(scratch);
    assert_ok(dictionary_create(&shape, rows, kernels_best(), NULL, &d, err));
    scratch = malloc(decode_pursuit_scratch(&d) * sizeof *scratch);
    double lipschitz = decode_lipschitz(&d, NULL, scratch);
    assert_true(fabs(lipschitz / plain.lipschitz - 1) < 1e-3);
    for (int r = 0; r < SIGNALS; r++) {
        decode_pursuit(&d, lipschitz, x + r * INPUTS, 0.3, 2000, NULL, signed_code, scratch);
        for (int j = 0; j < ATOMS; j++)
            folded[j] = code[r * 2 * ATOMS + j] - code[r * 2 * ATOMS + ATOMS + j];
        double a = objective(x + r * INPUTS, folded, 0.3), b = objective(x + r * INPUTS, signed_code, 0.3);
        assert_true(fabs(a - b) < 1e-4 * b);
    }
    free(scratch);
    dictionary_close(&d);
}

/* In a dictionary with orthogonal rows, every decoder finds every support. */
static void pursuits_find_the_support_in_an_orthonormal_basis(void **state)
{
    static float identity[INPUTS * INPUTS];
    struct plain basis = {INPUTS, INPUTS, identity, 1.05, kernels_best()};
    float signal[INPUTS] = {0};
    float *scratch = malloc(plain_pursuit_scratch(&basis) * sizeof *scratch);
    int32_t index[4];
    (void)state;
    for (int i = 0; i < INPUTS; i++)
        identity[i * INPUTS + i] = 1;
    signal[3] = 2;
    signal[20] = 5;
    signal[7] = -9; /* no decoder may use this row, because its entry would be negative */
    signal[11] = 1;
    assert_int_equal(plain_omp(&basis, signal, 3, index, scratch), 3);
    assert_int_equal(index[0], 20);
    assert_int_equal(index[1], 3);
    assert_int_equal(index[2], 11);
    assert_int_equal(plain_iht(&basis, signal, 2, 20, index, scratch), 2);
    assert_int_equal(index[0], 20);
    assert_int_equal(index[1], 3);
    assert_int_equal(plain_omp(&basis, signal, 4, index, scratch), 3); /* nothing positive is left */
    free(scratch);
}

/* Orthogonal matching pursuit must find every pair of rows that satisfies Tropp's exact recovery condition. The test
 * ignores all other pairs. */
static void omp_finds_pairs_that_satisfy_the_exact_recovery_condition(void **state)
{
    float *scratch = malloc(plain_pursuit_scratch(&plain) * sizeof *scratch);
    int tried = 0;
    (void)state;
    for (int a = 0; a < ATOMS; a++)
        for (int b = a + 1; b < ATOMS; b++) {
            double g = 0, worst = 0;
            for (int k = 0; k < INPUTS; k++)
                g += (double)rows[a * INPUTS + k] * (double)rows[b * INPUTS + k];
            for (int j = 0; j < ATOMS; j++) {
                double u = 0, v = 0;
                for (int k = 0; k < INPUTS; k++) {
                    u += (double)rows[a * INPUTS + k] * (double)rows[j * INPUTS + k];
                    v += (double)rows[b * INPUTS + k] * (double)rows[j * INPUTS + k];
                }
                if (j != a && j != b)
                    worst = fmax(worst, (fabs(u - g * v) + fabs(v - g * u)) / (1 - g * g));
            }
            if (worst >= 0.95 || g < 0)
                continue;
            float signal[INPUTS];
            int32_t index[2];
            for (int k = 0; k < INPUTS; k++)
                signal[k] = 1.5f * rows[a * INPUTS + k] + rows[b * INPUTS + k];
            assert_int_equal(plain_omp(&plain, signal, 2, index, scratch), 2);
            assert_true((index[0] == a && index[1] == b) || (index[0] == b && index[1] == a));
            tried++;
        }
    assert_true(tried > 50);
    free(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fista_reaches_a_point_where_no_entry_can_improve),
        cmocka_unit_test(fista_has_the_objective_of_basis_pursuit_with_both_signs),
        cmocka_unit_test(pursuits_find_the_support_in_an_orthonormal_basis),
        cmocka_unit_test(omp_finds_pairs_that_satisfy_the_exact_recovery_condition),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
