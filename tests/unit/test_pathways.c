/* Dictionaries against explicit matrices, local norms and decoders against plain definitions, bounds against their
 * published values, and single trials against a decoder that sees the whole matrix. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/philox.h"
#include "core/methods/pathways/norms.h"
#include "core/methods/pathways/transform.h"
#include "core/methods/pathways/trial.h"
#include "core/nn/coherence.h"

#define assert_near(a, b, tolerance) \
    do { \
        double a_ = (a), b_ = (b); \
        if (!(fabs(a_ - b_) <= (tolerance))) \
            fail_msg("%s = %.12g, %s = %.12g", #a, a_, #b, b_); \
    } while (0)
#define assert_ok(call)                                                    \
    do {                                                                   \
        struct error err_ = {0}, *err = &err_;                             \
        if ((call) != STATUS_OK)                                           \
            fail_msg("%s: %s %s", #call, err->pointer, err->message);      \
    } while (0)

static float noise_value(uint32_t stream, size_t at)
{
    struct philox random = philox_stream(77, stream, 0);
    return (float)philox_normal(&random, at);
}

/* The whole matrix, [signal][code]. */
static double *explicit_matrix(const struct dictionary *d)
{
    const struct dictionary_shape *s = &d->shape;
    size_t rows = dictionary_signal_size(d), columns = dictionary_code_size(d);
    double *a = calloc(rows * columns, sizeof *a);
    assert_non_null(a);
    for (int y = 0; y < s->height; y++)
        for (int x = 0; x < s->width; x++)
            for (int f = 0; f < s->filters; f++)
                for (int dy = 0; dy < s->extent_h; dy++)
                    for (int dx = 0; dx < s->extent_w; dx++)
                        for (int c = 0; c < s->inputs; c++) {
                            int at_y = (y + dy) % s->height, at_x = (x + dx) % s->width;
                            size_t row = ((size_t)at_y * (size_t)s->width + (size_t)at_x) * (size_t)s->inputs + (size_t)c;
                            size_t column = ((size_t)y * (size_t)s->width + (size_t)x) * (size_t)s->filters + (size_t)f;
                            size_t tap = (((size_t)f * (size_t)s->extent_h + (size_t)dy) * (size_t)s->extent_w + (size_t)dx) *
                                             (size_t)s->inputs + (size_t)c;
                            a[row * columns + column] += (double)d->filters[tap];
                        }
    return a;
}

static double inner(const double *a, size_t rows, size_t columns, size_t i, size_t j)
{
    double sum = 0;
    for (size_t r = 0; r < rows; r++)
        sum += a[r * columns + i] * a[r * columns + j];
    return sum;
}

static void products_equal_those_of_the_matrix(const struct dictionary_shape *shape, uint32_t stream)
{
    struct dictionary d;
    assert_ok(dictionary_draw(shape, stream % 2 ? FAMILY_GAUSS : FAMILY_SIGNS, 0, 5, stream, kernels_best(), &d, err));
    size_t rows = dictionary_signal_size(&d), columns = dictionary_code_size(&d);
    double *a = explicit_matrix(&d), mu = 0;
    float *signal = calloc(rows, sizeof *signal), *code = calloc(columns, sizeof *code), *other = calloc(columns, sizeof *other);
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
        signal[i] = 9; /* is overwritten */
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

static void dictionaries(void **state)
{
    static const struct dictionary_shape shapes[] = {
        {1, 20, 1, 3, 1, 4},  {1, 12, 1, 2, 1, 12}, {1, 9, 1, 2, 1, 6},  {1, 10, 3, 4, 1, 3}, {1, 1, 5, 7, 1, 1},
        {6, 8, 1, 3, 3, 2},   {5, 4, 2, 3, 3, 3},   {4, 4, 2, 2, 4, 3},  {1, 7, 2, 5, 1, 1},  {3, 5, 2, 1, 2, 5},
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

/* Random supports, so that rows go over both ends of the circle, and every pattern of signs. */
static void draws_together_equal_draws_alone(void **state)
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
        assert_ok(dictionary_draw(&shapes[n / 3], FAMILY_GAUSS, 0, 5, n, kernels_best(), &d, err));
        assert_non_null(d.bands);
        size_t atoms = dictionary_code_size(&d);
        struct spikes x = {n % 3 ? MOST : 1, at, value};
        for (int i = 0; i < x.count; i++) {
            at[i] = (int32_t)(atoms * (size_t)i / (size_t)x.count + philox_u32(&random, (uint64_t)i) % (atoms / (size_t)x.count));
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

static void hadamard_is_a_hadamard_matrix(void **state)
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

static void sparse_filters_have_their_non_zeros(void **state)
{
    struct dictionary d;
    const struct dictionary_shape shape = {1, 64, 2, 5, 1, 16};
    assert_ok(dictionary_draw(&shape, FAMILY_SPARSE, 8, 3, 1, kernels_best(), &d, err));
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
    assert_int_equal(dictionary_create(&two, filters, kernels_best(), &d, &err), STATUS_INVALID);
    filters[0] = INFINITY;
    error_clear(&err);
    assert_int_equal(dictionary_create(&two, filters, kernels_best(), &d, &err), STATUS_INVALID);
}

static void floors_and_bounds_have_their_values(void **state)
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
    /* m = 49, n = 98, M = 256: the floor allows 5.4, a random bank with mu = .561 allows 1.39 and .026 */
    assert_near(bound_uniform(0.561, 1, 1, 0), 1.39, 5e-3);
    assert_near(bound_uniform(coherence_floor_convolutional(98, 49), 1, 1, 0), 5.45, 5e-3);
    assert_near(bound_probabilistic(0.561, 98 * 256, 1, 1, 0, 0.01), 0.026, 5e-4);
    /* (5) is where gamma = delta */
    double limit = bound_probabilistic(0.02, 5000, 0.7, 1.3, 0.05, 0.01);
    assert_near(bound_failure(0.02, limit, 5000, 0.7, 1.3, 0.05), 0.01, 1e-12);
    assert_near(bound_uniqueness(0.1), 5.5, 1e-12);
    assert_near(bound_pursuit(0.1), 11 / 3.0, 1e-12);
    assert_near(bound_soft(0.1, 1, 2, 0.1, 0), bound_uniform(0.1, 1, 2, 0.1), 1e-12);
    assert_near(bound_soft(0.1, 1, 2, 0.1, 0.2), bound_uniform(0.1, 1, 2, 0.1) - 1, 1e-12);
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
            if (w->height == 1) /* windows that start anywhere see at least as much */
                assert_true(literal >= local_norm(w, map, alpha, scratch) - 1e-6);
        }
    }
}

static int falling(const void *a, const void *b)
{
    float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
    return (x < y) - (x > y);
}

static void thresholds_keep_what_they_say(void **state)
{
    enum { N = 200 };
    float code[N], sorted[N], scratch[N], value[N];
    int32_t at[N];
    struct spikes out = {0, at, value};
    for (size_t i = 0; i < N; i++)
        code[i] = i % 7 == 0 ? 0 : roundf(4 * noise_value(9, i)) / 4; /* many ties */
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

/* The conditions of a minimum: |a_k . r| <= lambda, with equality and the right sign where x_k is not zero. */
static void pursuit_finds_the_minimum(void **state)
{
    struct dictionary d;
    const struct dictionary_shape shape = {1, 40, 1, 3, 1, 8};
    assert_ok(dictionary_draw(&shape, FAMILY_GAUSS, 0, 4, 2, kernels_best(), &d, err));
    size_t rows = dictionary_signal_size(&d), columns = dictionary_code_size(&d);
    int32_t at[4] = {3, 30, 61, 100};
    float value[4] = {1, -1.5f, 2, 1}, signal[40], code[120], back[120];
    struct spikes x = {4, at, value};
    float *scratch = calloc(decode_pursuit_scratch(&d), sizeof *scratch);
    dictionary_synthesise(&d, &x, signal);
    const double lambda = 0.1;
    decode_pursuit(&d, decode_lipschitz(&d, scratch), signal, lambda, 3000, code, scratch);
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

/* ---- trials ------------------------------------------------------------------------------------------- */

static struct pathways_case small_case(int layers)
{
    struct pathways_case p = {.family = PATHWAYS_SIGNS, .layers = layers, .ratio = 1};
    p.shape[0] = (struct dictionary_shape){1, 96, 1, 3, 1, 24};
    p.shape[1] = (struct dictionary_shape){1, 96, 3, 2, 1, 6};
    p.nonzeros[1] = 4;
    p.rule = (struct decode_rule){DECODER_TOP_K, 0.5, 300};
    return p;
}

struct whole {
    struct scenario scenario;
    struct trial_space *space;
    double *a[2];
};

static void open_whole(struct whole *w, const struct pathways_case *plan)
{
    memset(w, 0, sizeof *w);
    assert_ok(scenario_open(plan, 11, NULL, kernels_best(), &w->scenario, err));
    assert_ok(trial_space_create(&w->scenario, &w->space, err));
    for (int l = 0; l < plan->layers; l++)
        w->a[l] = explicit_matrix(&w->scenario.dictionary[l]);
}

static void close_whole(struct whole *w)
{
    trial_space_destroy(w->space);
    scenario_close(&w->scenario);
    free(w->a[0]);
    free(w->a[1]);
}

/* Decodes the drawn signal with the explicit matrices. 1: the whole pathway was found; -1: too close to a tie to tell. */
static int plain_recovery(const struct whole *w, const struct trial_picture *picture)
{
    double input[512];
    for (size_t i = 0; i < dictionary_signal_size(&w->scenario.dictionary[0]); i++)
        input[i] = (double)picture->signal[i];
    for (int l = 0; l < w->scenario.plan.layers; l++) {
        const struct dictionary *d = &w->scenario.dictionary[l];
        size_t rows = dictionary_signal_size(d), columns = dictionary_code_size(d);
        double code[512], least = INFINITY, most = 0;
        for (size_t k = 0; k < columns; k++) {
            double sum = 0;
            for (size_t r = 0; r < rows; r++)
                sum += w->a[l][r * columns + k] * input[r];
            code[k] = picture->signs[l][k / 32] >> (k % 32) & 1 ? -sum : sum;
        }
        for (size_t k = 0; k < columns; k++) {
            if (picture->codes[l][k] != 0)
                least = fmin(least, fabs(code[k]));
            else
                most = fmax(most, fabs(code[k]));
        }
        if (fabs(least - most) < 1e-5)
            return -1;
        if (least < most)
            return 0;
        for (size_t k = 0; k < columns; k++)
            input[k] = picture->codes[l][k] != 0 ? code[k] : 0;
    }
    return 1;
}

static void trials_equal_a_decoder_that_sees_the_matrix(void **state)
{
    int found = 0, missed = 0;
    for (int variant = 0; variant < 4; variant++) {
        struct pathways_case plan = small_case(variant < 2 ? 1 : 2);
        struct whole w;
        plan.noise = variant % 2 ? 0.4 : 0;
        plan.ratio = variant % 2 ? 1.5 : 1;
        open_whole(&w, &plan);
        for (int64_t number = 0; number < 60; number++) {
            struct trial_request request = {.seed = 4, .nonzeros = 1 + number % (plan.layers == 1 ? 7 : 3), .number = number,
                                            .draws = 1, .delta = 0.01};
            struct trial_outcome outcome;
            struct trial_picture picture;
            assert_ok(trial_run(&w.scenario, w.space, &request, &outcome, err));
            assert_ok(trial_draw(&w.scenario, w.space, &request, &picture, err));
            int64_t nonzeros = 0;
            for (size_t k = 0; k < dictionary_code_size(&w.scenario.dictionary[plan.layers - 1]); k++)
                nonzeros += picture.codes[plan.layers - 1][k] != 0;
            assert_int_equal(nonzeros, request.nonzeros);
            assert_int_equal(outcome.draws, 1);
            for (int l = 0; l < plan.layers; l++) { /* counted from the spikes, here from the map */
                const struct dictionary_shape *s = &w.scenario.dictionary[l].shape;
                struct local_window stripe = {1, s->width, s->filters, 1, 2 * s->extent_w - 1};
                double scratch[2 * 96];
                size_t count = dictionary_code_size(&w.scenario.dictionary[l]);
                assert_near(outcome.stripe[l], local_norm(&stripe, picture.codes[l], 0, scratch), 0);
                assert_near(outcome.stripe_literal[l],
                            local_norm_literal(picture.codes[l], count, (size_t)(stripe.window_w * s->filters), 0), 0);
            }
            int plain = plain_recovery(&w, &picture);
            if (plain >= 0)
                assert_int_equal(outcome.recovered, plain);
            found += plain == 1;
            missed += plain == 0;
        }
        close_whole(&w);
    }
    assert_true(found > 40 && missed > 40);
}

/* What the theory promises holds: (3) for every sign pattern, the probabilities on average; and signs draw fresh D. */
static void guarantees_hold(void **state)
{
    struct pathways_case plan = small_case(1);
    struct whole w;
    int covered = 0;
    plan.shape[0] = (struct dictionary_shape){1, 512, 1, 1, 1, 128};
    for (int signs = SIGNS_RANDOM; signs <= SIGNS_ADVERSARIAL; signs++) {
        plan.signs = signs;
        memset(&w, 0, sizeof w);
        assert_ok(scenario_open(&plan, 3, NULL, kernels_best(), &w.scenario, err));
        assert_ok(trial_space_create(&w.scenario, &w.space, err));
        for (int64_t number = 0; number < 120; number++) {
            struct trial_request request = {.seed = 8, .nonzeros = 1 + number % 8, .number = number, .draws = 40,
                                            .bounds = true, .delta = 0.01};
            struct trial_outcome o;
            assert_ok(trial_run(&w.scenario, w.space, &request, &o, err));
            assert_int_equal(o.draws, signs == SIGNS_RANDOM ? 40 : 1);
            assert_true(o.stripe[0] >= 1 && o.stripe[0] <= (double)request.nonzeros);
            assert_true(o.stripe_literal[0] >= o.stripe[0]);
            assert_true(o.instance >= o.theorem - 1e-9); /* the same proof with one step less */
            assert_true(o.uniform == (o.stripe[0] < o.uniform_limit));
            if (o.uniform) {
                assert_int_equal(o.recovered, o.draws);
                covered++;
            }
            if (signs == SIGNS_RANDOM)
                assert_true((double)o.recovered / o.draws >= o.instance - 0.35);
        }
        close_whole(&w);
    }
    assert_true(covered > 50);
}

/* Worst signs cannot be recovered more often than random ones of the same codes. */
static void adversarial_signs_are_worse(void **state)
{
    int recovered[3] = {0, 0, 0}, draws[3] = {0, 0, 0};
    for (int signs = SIGNS_RANDOM; signs <= SIGNS_ADVERSARIAL; signs++) {
        struct pathways_case plan = small_case(1);
        struct scenario scenario;
        struct trial_space *space;
        plan.shape[0] = (struct dictionary_shape){1, 512, 1, 2, 1, 64};
        plan.signs = signs;
        assert_ok(scenario_open(&plan, 3, NULL, kernels_best(), &scenario, err));
        assert_ok(trial_space_create(&scenario, &space, err));
        for (int64_t number = 0; number < 60; number++) {
            struct trial_request request = {.seed = 8, .nonzeros = 12, .number = number, .draws = 10, .delta = 0.01};
            struct trial_outcome o;
            assert_ok(trial_run(&scenario, space, &request, &o, err));
            recovered[signs] += o.recovered;
            draws[signs] += o.draws;
        }
        trial_space_destroy(space);
        scenario_close(&scenario);
    }
    assert_true((double)recovered[0] / draws[0] > 0.3);
    assert_true((double)recovered[2] / draws[2] < 0.5 * (double)recovered[0] / draws[0]);
}

/* A worst support is that of some column: no column outside meets it more than one inside. */
static void worst_supports_meet_one_column_most(void **state)
{
    struct pathways_case plan = small_case(1);
    struct whole w;
    plan.family = PATHWAYS_GAUSS;
    plan.support = SUPPORT_WORST;
    plan.signs = SIGNS_ADVERSARIAL;
    open_whole(&w, &plan);
    const struct dictionary *d = &w.scenario.dictionary[0];
    int64_t columns = (int64_t)dictionary_code_size(d), first = -1;
    for (int64_t number = 0; number < 12; number++) {
        struct trial_request request = {.seed = 4, .nonzeros = 1 + number % 7, .number = number, .draws = 1, .delta = 0.01};
        struct trial_picture picture;
        assert_ok(trial_draw(&w.scenario, w.space, &request, &picture, err));
        int64_t target = -1, nonzeros = 0;
        for (int64_t k = 0; k < columns && target < 0; k++) {
            double least = INFINITY, most = 0;
            for (int64_t j = 0; j < columns; j++) {
                double met = fabs(dictionary_inner(d, k, j));
                if (picture.codes[0][j] != 0)
                    least = fmin(least, j == k ? 0 : met);
                else if (j != k)
                    most = fmax(most, met);
            }
            target = least >= most ? k : -1;
        }
        for (int64_t j = 0; j < columns; j++)
            nonzeros += picture.codes[0][j] != 0;
        assert_int_equal(nonzeros, request.nonzeros);
        assert_true(target >= 0 && target != first);
        first = number == 0 ? target : first;
    }
    struct trial_request request = {.seed = 4, .nonzeros = 3 * 47, .number = 1, .draws = 1}; /* one more than there are */
    struct trial_outcome outcome;
    assert_int_equal(trial_run(&w.scenario, w.space, &request, &outcome, NULL), STATUS_INVALID);
    close_whole(&w);
}

/* Dirac-Hadamard: all plus fails exactly from K = sqrt m on. */
static void plus_signs_fail_at_the_square_root(void **state)
{
    struct pathways_case plan = {.family = PATHWAYS_HADAMARD, .layers = 1, .signs = SIGNS_PLUS, .support = SUPPORT_SPIKES,
                                 .ratio = 1, .rule = {DECODER_TOP_K, 0.5, 1}};
    plan.shape[0] = (struct dictionary_shape){1, 1, 256, 512, 1, 1};
    struct scenario scenario;
    struct trial_space *space;
    assert_ok(scenario_open(&plan, 1, NULL, kernels_best(), &scenario, err));
    assert_ok(trial_space_create(&scenario, &space, err));
    for (int64_t nonzeros = 1; nonzeros <= 20; nonzeros++) {
        struct trial_request request = {.seed = 1, .nonzeros = nonzeros, .draws = 1, .delta = 0.01};
        struct trial_outcome o;
        assert_ok(trial_run(&scenario, space, &request, &o, err));
        assert_int_equal(o.recovered, nonzeros < 16);
        assert_near(o.stripe[0], (double)nonzeros, 0);
    }
    trial_space_destroy(space);
    scenario_close(&scenario);
}

static void other_decoders_work(void **state)
{
    static const enum decoder kinds[] = {DECODER_TOP_K, DECODER_HARD, DECODER_SOFT, DECODER_RELU, DECODER_PURSUIT};
    for (int layers = 1; layers <= 2; layers++)
        for (int kind = 0; kind < 5; kind++) {
            struct pathways_case plan = small_case(layers);
            struct scenario scenario;
            struct trial_space *space;
            int recovered = 0, draws = 0;
            plan.shape[0] = (struct dictionary_shape){1, 256, 1, 2, 1, 128};
            plan.shape[1] = (struct dictionary_shape){1, 256, 2, 1, 1, 32};
            plan.rule.decoder = kinds[kind];
            plan.rule.threshold = kinds[kind] == DECODER_PURSUIT ? 0.05 : kinds[kind] == DECODER_SOFT ? 0.45 : 0.5;
            assert_ok(scenario_open(&plan, 2, NULL, kernels_best(), &scenario, err));
            assert_ok(trial_space_create(&scenario, &space, err));
            for (int64_t number = 0; number < 6; number++) {
                struct trial_request request = {.seed = 8, .nonzeros = 1, .number = number, .draws = 3, .delta = 0.01};
                struct trial_outcome o;
                assert_ok(trial_run(&scenario, space, &request, &o, err));
                recovered += o.recovered;
                draws += o.draws;
                for (int l = 0; l < layers; l++)
                    assert_true(o.layer_recovered[l] >= o.recovered);
            }
            /* soft thresholds shrink what the next layer sees, and ReLU loses the inner code's negative entries */
            int least = layers == 1 || kind < 2 || kind == 4 ? draws / 2 : kind == 2 ? 0 : -1;
            if (!(recovered > least))
                fail_msg("%d layers, decoder %d: %d of %d", layers, kind, recovered, draws);
            trial_space_destroy(space);
            scenario_close(&scenario);
        }
}

static void the_recursion_is_that_of_the_theorem(void **state)
{
    struct pathways_case plan = small_case(2);
    struct whole w;
    open_whole(&w, &plan);
    struct trial_request request = {.seed = 4, .nonzeros = 2, .draws = 1, .delta = 0.01};
    struct trial_picture picture;
    struct layer_guarantee g[2];
    assert_ok(trial_draw(&w.scenario, w.space, &request, &picture, err));
    const struct dictionary *dictionaries[2] = {&w.scenario.dictionary[0], &w.scenario.dictionary[1]};
    assert_ok(pathway_guarantee(dictionaries, picture.codes, 2, 0.02, 0.01, true, g, err));
    assert_near(g[0].zeta_in, 0.02, 0);
    assert_near(g[1].zeta_in, g[0].zeta_out, 0);
    assert_near(g[0].zeta_out, sqrt(g[0].patch) * (g[0].coherence * (g[0].stripe - 1) * g[0].x_max + 0.02), 1e-12);
    assert_true(g[0].patch <= g[0].stripe && g[1].nonzeros == 2 && g[0].nonzeros >= 4);
    /* the measured error obeys it, when supports were found */
    double sum = 0;
    for (int l = 0; l < 2; l++) {
        sum += g[l].failure;
        assert_near(g[l].failure, bound_failure(g[l].coherence, g[l].stripe, g[l].atoms, g[l].x_min, g[l].x_max, g[l].zeta_in),
                    1e-12);
    }
    struct pathway_verdict v = pathway_verdict(g, 2);
    assert_near(v.theorem, fmax(0, 1 - sum), 1e-12);
    assert_true(v.uniform == (g[0].uniform && g[1].uniform));
    close_whole(&w);
}

static void the_instance_bound_is_its_sum(void **state)
{
    struct pathways_case plan = small_case(1);
    struct whole w;
    open_whole(&w, &plan);
    struct trial_request request = {.seed = 4, .nonzeros = 5, .draws = 1, .delta = 0.01};
    struct trial_picture picture;
    plan.ratio = 2;
    assert_ok(trial_draw(&w.scenario, w.space, &request, &picture, err));
    const struct dictionary *d = &w.scenario.dictionary[0];
    size_t columns = dictionary_code_size(d), rows = dictionary_signal_size(d);
    int32_t at[5];
    float value[5];
    struct spikes x = {0, at, value};
    double smallest = INFINITY, plain = 0, zeta = 0.1, scratch[512];
    for (size_t k = 0; k < columns; k++)
        if (picture.codes[0][k] != 0) {
            at[x.count] = (int32_t)k;
            value[x.count++] = picture.codes[0][k];
            smallest = fmin(smallest, fabs((double)picture.codes[0][k]));
        }
    for (size_t k = 0; k < columns; k++) {
        double v = zeta * zeta, own = 0;
        for (int i = 0; i < x.count; i++) {
            double c = inner(w.a[0], rows, columns, k, (size_t)at[i]) * (double)value[i];
            v += (size_t)at[i] == k ? 0 : c * c;
            own += (size_t)at[i] == k ? fabs((double)value[i]) : 0;
        }
        double t = own > 0 ? own - 0.5 * smallest : 0.5 * smallest;
        plain += 2 * exp(-t * t / (2 * v));
    }
    struct instance_bound bound = bound_instance(d, &x, zeta, scratch);
    assert_near(bound.half, plain, 1e-4 * plain);
    assert_true(bound.best <= bound.half && bound.split >= 0.3 && bound.split <= 0.8);
    close_whole(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dictionaries),
        cmocka_unit_test(draws_together_equal_draws_alone),
        cmocka_unit_test(hadamard_is_a_hadamard_matrix),
        cmocka_unit_test(sparse_filters_have_their_non_zeros),
        cmocka_unit_test(floors_and_bounds_have_their_values),
        cmocka_unit_test(local_norms_equal_their_definition),
        cmocka_unit_test(thresholds_keep_what_they_say),
        cmocka_unit_test(pursuit_finds_the_minimum),
        cmocka_unit_test(trials_equal_a_decoder_that_sees_the_matrix),
        cmocka_unit_test(guarantees_hold),
        cmocka_unit_test(adversarial_signs_are_worse),
        cmocka_unit_test(worst_supports_meet_one_column_most),
        cmocka_unit_test(plus_signs_fail_at_the_square_root),
        cmocka_unit_test(other_decoders_work),
        cmocka_unit_test(the_recursion_is_that_of_the_theorem),
        cmocka_unit_test(the_instance_bound_is_its_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
