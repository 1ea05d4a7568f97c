/* Tests dictionaries against explicit matrices, local norms and pursuit against plain definitions, and bounds against
 * published values. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/coding/bounds.h"
#include "core/methods/pathways/trial.h"
#include "core/nn/coherence.h"
#include "tests/unit/core/methods/pathways/pathways_matrix.h"

static void products_equal_those_of_the_matrix(const struct dictionary_shape *shape, uint32_t stream)
{
    struct dictionary d;
    assert_ok(
        dictionary_draw(shape, stream % 2 ? FAMILY_GAUSS : FAMILY_SIGNS, 0, 5, stream, kernels_best(), NULL, &d, err));
    size_t rows = dictionary_signal_size(&d), columns = dictionary_code_size(&d);
    double *a = explicit_matrix(&d), mu = 0;
    float *signal = calloc(rows, sizeof *signal), *code = calloc(columns, sizeof *code),
          *other = calloc(columns, sizeof *other);
    double *sums = calloc(columns, sizeof *sums);
    int32_t at[5];
    float value[5];
    struct spikes x = {0, at, value};
    for (size_t k = 0; k < columns && x.count < 5; k += columns / 5 + 1) {
        at[x.count] = (int32_t)(k + columns / 11);
        value[x.count] = noise_value(stream, k);
        x.count += (size_t)at[x.count] < columns;
    }
    for (size_t i = 0; i < columns; i++)
        for (size_t j = 0; j < columns; j++) {
            double g = inner(a, rows, columns, i, j);
            assert_near(dictionary_inner(&d, (int64_t)i, (int64_t)j), g, 2e-6);
            if (i != j)
                mu = fmax(mu, fabs(g));
        }
    assert_near(d.coherence, fmin(1, mu), 2e-6);

    for (size_t i = 0; i < rows; i++)
        signal[i] = 9; /* dictionary_synthesise() must overwrite these values */
    dictionary_synthesise(&d, &x, signal);
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < x.count; i++)
            sum += a[r * columns + (size_t)x.at[i]] * (double)x.value[i];
        assert_near((double)signal[r], sum, 2e-6);
    }
    dictionary_correlate(&d, &x, code);
    for (int power = 1; power <= 2; power++) {
        float magnitude[5];
        struct spikes weights = {x.count, at, magnitude};
        for (int i = 0; i < x.count; i++)
            magnitude[i] = fabsf(value[i]);
        dictionary_interference(&d, &weights, power, sums);
        for (size_t k = 0; k < columns; k++) {
            double g = 0, product = 0;
            for (int i = 0; i < x.count; i++) {
                double c = inner(a, rows, columns, k, (size_t)at[i]);
                product += c * (double)value[i];
                g += k == (size_t)at[i] ? 0 : pow(fabs(c), power) * (double)magnitude[i];
            }
            assert_near((double)code[k], product, 5e-6);
            assert_near(sums[k], g, 5e-6);
        }
    }
    for (size_t r = 0; r < rows; r++)
        signal[r] = noise_value(stream + 100, r);
    float *scratch = calloc(dictionary_scratch(&d) + spectrum_scratch(shape), sizeof *scratch);
    dictionary_analyse_directly(&d, signal, code, scratch);
    for (size_t k = 0; k < columns; k++) {
        double sum = 0;
        for (size_t r = 0; r < rows; r++)
            sum += a[r * columns + k] * (double)signal[r];
        assert_near((double)code[k], sum, 1e-5);
    }
    if (spectrum_suits(shape)) {
        struct spectrum *spectrum;
        assert_ok(spectrum_create(shape, d.filters, &spectrum, err));
        spectrum_analyse(spectrum, signal, other, scratch);
        for (size_t k = 0; k < columns; k++)
            assert_near((double)other[k], (double)code[k], 2e-5);
        spectrum_destroy(spectrum);
    }
    free(scratch);
    free(sums);
    free(other);
    free(code);
    free(signal);
    free(a);
    dictionary_close(&d);
}

static void products_equal_those_of_the_explicit_matrix(void **state)
{
    static const struct dictionary_shape shapes[] = {
        {1, 20, 1, 3, 1, 4}, {1, 12, 1, 2, 1, 12}, {1, 9, 1, 2, 1, 6}, {1, 10, 3, 4, 1, 3}, {1, 1, 5, 7, 1, 1},
        {6, 8, 1, 3, 3, 2},  {5, 4, 2, 3, 3, 3},   {4, 4, 2, 2, 4, 3}, {1, 7, 2, 5, 1, 1},  {3, 5, 2, 1, 2, 5},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        products_equal_those_of_the_matrix(&shapes[i], (uint32_t)i);
}

struct together {
    const float *expected[BANDED_ROWS];
    size_t seen;
};

static void compare_tile(void *context, size_t first, size_t entries, float *tile)
{
    struct together *t = context;
    assert_int_equal(first, t->seen);
    for (int r = 0; r < BANDED_ROWS; r++)
        for (size_t i = 0; i < entries; i++)
            assert_near((double)tile[r * BANDED_WIDTH + (int)i], (double)t->expected[r][first + i], 1e-5);
    t->seen += entries;
}

/* The supports are random. Some filters cross the end of the circular signal, and every pattern of signs occurs. */
static void draws_side_by_side_equal_single_draws(void **state)
{
    enum { MOST = 40 };
    static const struct dictionary_shape shapes[] = {{1, 200, 1, 2, 1, 30}, {1, 512, 1, 4, 1, 49}, {1, 97, 3, 5, 1, 7}};
    for (uint32_t n = 0; n < 3 * sizeof shapes / sizeof shapes[0]; n++) {
        struct dictionary d;
        struct banded_term terms[2 * MOST];
        int32_t at[MOST];
        float value[MOST], flipped[MOST];
        uint8_t flips[MOST];
        struct philox random = philox_stream(n, 1, 0);
        assert_ok(dictionary_draw(&shapes[n / 3], FAMILY_GAUSS, 0, 5, n, kernels_best(), NULL, &d, err));
        assert_non_null(d.bands);
        size_t atoms = dictionary_code_size(&d);
        struct spikes x = {n % 3 ? MOST : 1, at, value};
        for (int i = 0; i < x.count; i++) {
            at[i] = (int32_t)(atoms * (size_t)i / (size_t)x.count +
                              philox_u32(&random, (uint64_t)i) % (atoms / (size_t)x.count));
            value[i] = noise_value(n, (size_t)i);
            flips[i] = (uint8_t)philox_u32(&random, MOST + (uint64_t)i);
        }
        float *added = calloc(atoms, sizeof *added), *codes = calloc(BANDED_ROWS * atoms, sizeof *codes);
        struct together together = {.seen = 0};
        for (size_t i = 0; i < atoms; i++)
            added[i] = n % 2 ? noise_value(n + 50, i) : 0;
        for (int r = 0; r < BANDED_ROWS; r++) {
            struct spikes signed_code = {x.count, at, flipped};
            for (int i = 0; i < x.count; i++)
                flipped[i] = flips[i] >> r & 1 ? -value[i] : value[i];
            memcpy(codes + (size_t)r * atoms, added, atoms * sizeof *added);
            dictionary_correlate(&d, &signed_code, codes + (size_t)r * atoms);
            together.expected[r] = codes + (size_t)r * atoms;
        }
        struct correlation correlation = {&x, flips, n % 2 ? added : NULL, terms, &together, compare_tile};
        dictionary_correlate_draws(&d, &correlation);
        assert_int_equal(together.seen, atoms);
        free(added);
        free(codes);
        dictionary_close(&d);
    }
}

static void hadamard_dictionary_equals_its_definition(void **state)
{
    enum { M = 16 };
    struct dictionary d;
    assert_ok(dictionary_hadamard(M, kernels_best(), &d, err));
    assert_near(d.coherence, 0.25, 0);
    float code[2 * M], signal[M];
    double mu = 0;
    for (int32_t j = 0; j < 2 * M; j++) {
        float one = 1;
        struct spikes spike = {1, &j, &one};
        double sums[2 * M];
        dictionary_synthesise(&d, &spike, signal);
        dictionary_analyse(&d, signal, code, NULL);
        dictionary_interference(&d, &spike, 1, sums);
        for (int k = 0; k < 2 * M; k++) {
            assert_near((double)code[k], dictionary_inner(&d, k, j), 1e-6);
            assert_near(sums[k], k == j ? 0 : fabs(dictionary_inner(&d, k, j)), 1e-6);
            mu = k == j ? mu : fmax(mu, fabs((double)code[k]));
        }
    }
    assert_near(mu, d.coherence, 1e-6);
    dictionary_close(&d);
    struct error err = {0};
    assert_int_equal(dictionary_hadamard(12, kernels_best(), &d, &err), STATUS_INVALID);
}

static void sparse_filters_have_the_configured_number_of_non_zeros(void **state)
{
    struct dictionary d;
    const struct dictionary_shape shape = {1, 64, 2, 5, 1, 16};
    assert_ok(dictionary_draw(&shape, FAMILY_SPARSE, 8, 3, 1, kernels_best(), NULL, &d, err));
    for (int f = 0; f < 5; f++) {
        int count = 0;
        for (int i = 0; i < 32; i++) {
            float v = d.filters[f * 32 + i];
            count += v != 0;
            assert_true(v == 0 || fabs(fabs((double)v) - sqrt(0.125)) < 1e-6);
        }
        assert_int_equal(count, 8);
    }
    dictionary_close(&d);
    float filters[6] = {0, 0, 0, 1, 2, 2};
    const struct dictionary_shape two = {1, 8, 1, 2, 1, 3};
    struct error err = {0};
    assert_int_equal(dictionary_create(&two, filters, kernels_best(), NULL, &d, &err), STATUS_INVALID);
    filters[0] = INFINITY;
    error_clear(&err);
    assert_int_equal(dictionary_create(&two, filters, kernels_best(), NULL, &d, &err), STATUS_INVALID);
}

static void bounds_equal_published_values(void **state)
{
    assert_near(coherence_floor_convolutional(98, 49), 0.101021, 5e-7);
    assert_near(coherence_floor_convolutional(2, 64), 0.062869, 5e-7);
    assert_near(coherence_floor_welch(49, 98), 0.101535, 5e-7);
    assert_near(coherence_floor_welch(98, 49), 0, 0);
    double mu4096 = 1 / 64.0, mu1024 = 1 / 32.0;
    assert_near(bound_uniform(mu4096, 1, 1, 0), 32.5, 1e-12);
    assert_near(bound_uniform(mu1024, 1, 1, 0), 16.5, 1e-12);
    assert_near(bound_probabilistic(mu4096, 8192, 1, 1, 0, 0.01), 35.781, 5e-4);
    assert_near(bound_probabilistic(mu1024, 2048, 1, 1, 0, 0.01), 9.905, 5e-4);
    /* 98 filters of 49 entries at 256 positions. For a random bank with the coherence .561, bound (3) of the paper
     * allows 1.39 nonzeros, and bound (5) allows .026. For the smallest possible coherence, bound (3) allows 5.45. */
    assert_near(bound_uniform(0.561, 1, 1, 0), 1.39, 5e-3);
    assert_near(bound_uniform(coherence_floor_convolutional(98, 49), 1, 1, 0), 5.45, 5e-3);
    assert_near(bound_probabilistic(0.561, 98 * 256, 1, 1, 0, 0.01), 0.026, 5e-4);
    /* bound (5) of the paper is the sparsity at which the probability of failure equals delta, here 0.01 */
    double limit = bound_probabilistic(0.02, 5000, 0.7, 1.3, 0.05, 0.01);
    assert_near(bound_failure(0.02, limit, 5000, 0.7, 1.3, 0.05), 0.01, 1e-12);
    assert_near(bound_pursuit(0.1), 11 / 3.0, 1e-12);
    assert_near(bound_error(4, 0.1, 3, 2, 0.5), 2 * (0.1 * 2 * 2 + 0.5), 1e-12);
}

static double plain_norm(const struct local_window *w, const float *map, int alpha)
{
    double largest = 0;
    for (int y = 0; y < w->height; y++)
        for (int x = 0; x < w->width; x++) {
            double sum = 0;
            for (int dy = 0; dy < w->window_h && dy < w->height; dy++)
                for (int dx = 0; dx < w->window_w && dx < w->width; dx++)
                    for (int c = 0; c < w->channels; c++) {
                        int cell = ((y + dy) % w->height) * w->width + (x + dx) % w->width;
                        double v = (double)map[cell * w->channels + c];
                        sum += alpha == 0 ? v != 0 : v * v;
                    }
            largest = fmax(largest, sum);
        }
    return alpha == 0 ? largest : sqrt(largest);
}

static void local_norms_equal_their_definition(void **state)
{
    static const struct local_window windows[] = {{1, 12, 3, 1, 5}, {1, 12, 1, 1, 12}, {1, 7, 2, 1, 13},
                                                  {4, 5, 2, 3, 2},  {4, 5, 1, 9, 9},   {3, 3, 2, 1, 1}};
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        const struct local_window *w = &windows[i];
        size_t count = (size_t)(w->height * w->width * w->channels);
        float map[64] = {0};
        double scratch[128];
        for (size_t k = 0; k < count; k++)
            map[k] = noise_value(50 + (uint32_t)i, k) > 0.5f ? noise_value(70, k) : 0;
        for (int alpha = 0; alpha <= 2; alpha += 2) {
            assert_near(local_norm(w, map, alpha, scratch), plain_norm(w, map, alpha), 1e-6);
            struct local_window entries = {1, (int)count, 1, 1, w->window_w * w->channels};
            double literal = local_norm_literal(map, count, (size_t)(w->window_w * w->channels), alpha);
            assert_near(literal, plain_norm(&entries, map, alpha), 1e-6);
            /* A window of local_norm() starts at the first channel of a position; a window of local_norm_literal() may
             * start at any entry. The second norm is a maximum over more windows, so it is at least as large as the
             * first. */
            if (w->height == 1)
                assert_true(literal >= local_norm(w, map, alpha, scratch) - 1e-6);
        }
    }
}

static int falling(const void *a, const void *b)
{
    float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
    return (x < y) - (x > y);
}

static void thresholds_keep_the_entries_of_their_definition(void **state)
{
    enum { N = 200 };
    float code[N], sorted[N], scratch[N], value[N];
    int32_t at[N];
    struct spikes out = {0, at, value};
    for (size_t i = 0; i < N; i++)
        code[i] = i % 7 == 0 ? 0 : roundf(4 * noise_value(9, i)) / 4; /* the code has many ties */
    memcpy(sorted, code, sizeof code);
    qsort(sorted, N, sizeof *sorted, falling);
    for (int keep = 0; keep <= N; keep++) {
        decode_threshold(DECODER_TOP_K, code, N, keep, 0, &out, scratch);
        int nonzeros = 0;
        for (int i = 0; i < N; i++)
            nonzeros += code[i] != 0;
        assert_int_equal(out.count, keep < nonzeros ? keep : nonzeros);
        float kept[N];
        for (int i = 0; i < out.count; i++) {
            assert_true(i == 0 || at[i] > at[i - 1]);
            assert_true(value[i] == code[at[i]]);
            kept[i] = value[i];
        }
        qsort(kept, (size_t)out.count, sizeof *kept, falling);
        for (int i = 0; i < out.count; i++)
            assert_true(fabsf(kept[i]) == fabsf(sorted[i]));
    }
    static const enum decoder kinds[] = {DECODER_HARD, DECODER_SOFT, DECODER_RELU};
    for (int kind = 0; kind < 3; kind++) {
        decode_threshold(kinds[kind], code, N, 0, 0.75, &out, scratch);
        for (int i = 0, j = 0; i < N; i++) {
            float c = code[i], want = 0;
            if (kind == 0)
                want = fabsf(c) > 0.75f ? c : 0;
            else if (kind == 1)
                want = copysignf(fmaxf(0, fabsf(c) - 0.75f), c);
            else
                want = fmaxf(0, c - 0.75f);
            if (want != 0) {
                assert_true(j < out.count && at[j] == i && value[j] == want);
                j++;
            }
            if (i == N - 1)
                assert_int_equal(j, out.count);
        }
    }
}

/* Checks the conditions of a minimum for each column a_k of the dictionary and the residual r: |a_k . r| is at most
 * lambda. Where the entry x_k of the code is not zero, it equals lambda, and a_k . r has the right sign. */
static void pursuit_reaches_the_minimum_of_its_objective(void **state)
{
    struct dictionary d;
    const struct dictionary_shape shape = {1, 40, 1, 3, 1, 8};
    assert_ok(dictionary_draw(&shape, FAMILY_GAUSS, 0, 4, 2, kernels_best(), NULL, &d, err));
    size_t rows = dictionary_signal_size(&d), columns = dictionary_code_size(&d);
    int32_t at[4] = {3, 30, 61, 100};
    float value[4] = {1, -1.5f, 2, 1}, signal[40], code[120], back[120];
    struct spikes x = {4, at, value};
    float *scratch = calloc(decode_pursuit_scratch(&d), sizeof *scratch);
    dictionary_synthesise(&d, &x, signal);
    const double lambda = 0.1;
    decode_pursuit(&d, decode_lipschitz(&d, NULL, scratch), signal, lambda, 3000, NULL, code, scratch);
    struct spikes found = {0, calloc(columns, sizeof(int32_t)), calloc(columns, sizeof(float))};
    decode_threshold(DECODER_HARD, code, columns, 0, 0, &found, NULL);
    float *fit = calloc(rows, sizeof *fit);
    dictionary_synthesise(&d, &found, fit);
    for (size_t r = 0; r < rows; r++)
        fit[r] = signal[r] - fit[r];
    dictionary_analyse(&d, fit, back, scratch);
    for (size_t k = 0; k < columns; k++) {
        assert_true(fabs((double)back[k]) <= lambda + 1e-3);
        if (code[k] != 0)
            assert_near((double)back[k], copysign(lambda, (double)code[k]), 1e-3);
    }
    for (int i = 0; i < 4; i++)
        assert_true(code[at[i]] * value[i] > 0);
    assert_true(found.count >= 4 && found.count <= 12);
    free(fit);
    free(found.at);
    free(found.value);
    free(scratch);
    dictionary_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_equal_those_of_the_explicit_matrix),
        cmocka_unit_test(draws_side_by_side_equal_single_draws),
        cmocka_unit_test(hadamard_dictionary_equals_its_definition),
        cmocka_unit_test(sparse_filters_have_the_configured_number_of_non_zeros),
        cmocka_unit_test(bounds_equal_published_values),
        cmocka_unit_test(local_norms_equal_their_definition),
        cmocka_unit_test(thresholds_keep_the_entries_of_their_definition),
        cmocka_unit_test(pursuit_reaches_the_minimum_of_its_objective),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
