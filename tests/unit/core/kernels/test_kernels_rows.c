/* Tests kernels on tables of rows. Compares vector tables with the reference table, and the reference table with
 * definitions. */
#include "core/kernels/blas.h"
#include "tests/unit/core/kernels/kernel_check.h"

static const int widths[] = {1, 2, 7, 12, 15, 16, 17, 31, 64, 100, 257};

#if defined(__x86_64__)
void avx512_gemm_bf16_apart(const struct gemm_call *call);
#endif

typedef void product(const struct gemm_call *call);

static void products_match(const struct kernels *fast, const char *what, product *plain, product *other)
{
    static const int sizes[][3] = {{1, 1, 1}, {2, 12, 64},   {13, 11, 17},  {144, 144, 16}, {64, 100, 33}, {7, 256, 1},
                                   {5, 9, 5}, {29, 33, 700}, {300, 40, 70}, {15, 600, 257}, {260, 530, 4}};
    for (size_t n = 0; n < COUNT(sizes) * 8; n++) {
        int m = sizes[n / 8][0], w = sizes[n / 8][1], k = sizes[n / 8][2];
        bool ta = n & 1, tb = n & 2, add = n & 4;
        ptrdiff_t lda = (ta ? m : k) + 3, ldb = (tb ? k : w) + 1, ldc = w + 2;
        float *a = random_floats(1, (size_t)(lda * (ta ? k : m))), *b = random_floats(2, (size_t)(ldb * (tb ? w : k)));
        float *start = random_floats(3, (size_t)(ldc * m)), *c[2];
        for (int t = 0; t < 2; t++) {
            c[t] = copy_floats(start, (size_t)(ldc * m));
            struct gemm_call call = {ta, tb, m, w, k, 0.5f, add ? -0.25f : 0, a, b, c[t], lda, ldb, ldc};
            (t ? other : plain)(&call);
        }
        CHECK_CLOSE(what, fast, c[0], c[1], (size_t)(ldc * m));
        free(a);
        free(b);
        free(start);
        free(c[0]);
        free(c[1]);
    }
}

static void fast_gemm_matches_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    {
        products_match(fast, "gemm", ref->gemm, fast->gemm);
        products_match(fast, "gemm_bf16", ref->gemm_bf16, fast->gemm_bf16);
    }
#if defined(__x86_64__)
    if (kernels_named("avx512"))
        products_match(kernels_named("avx512"), "gemm_bf16 in halves", ref->gemm_bf16, avx512_gemm_bf16_apart);
#endif
}

/* Ties round to even; signs, infinities and NaN are preserved. */
static void bf16_gemm_rounds_factors_to_nearest_even(void **state)
{
    static const uint32_t given[] = {0x3f800000, 0x3f808000, 0x3f818000, 0x3f808001,
                                     0xbf808000, 0x7f7fffff, 0x7f800000, 0x00000000};
    static const uint32_t wanted[] = {0x3f800000, 0x3f800000, 0x3f820000, 0x3f810000,
                                      0xbf800000, 0x7f800000, 0x7f800000, 0x00000000};
    enum { M = 4, K = 4 };
    float one[M * K] = {0}, b[K * 8], c[M * 8];
    for (int i = 0; i < M; i++)
        one[i * K + i] = 1; /* the product with the unit matrix returns the rounded numbers */
    for (int table = -1; table < 2; table++) {
        const struct kernels *k = table < 0 ? ref : kernels_named(table ? "avx512" : "avx2");
        struct gemm_call call = {false, false, M, 8, K, 1, 0, one, b, c, K, 8, 8};
        for (size_t n = 0; k != NULL && n < COUNT(given); n++) {
            for (int i = 0; i < K * 8; i++)
                b[i] = i / 8 == 2 ? 0 : 1;
            memcpy(&b[2 * 8 + 5], &given[n], 4);
            k->gemm_bf16(&call);
            assert_memory_equal(&c[2 * 8 + 5], &wanted[n], 4);
        }
        b[2 * 8 + 5] = nanf("");
        if (k != NULL) {
            k->gemm_bf16(&call);
            assert_true(isnan(c[2 * 8 + 5]));
        }
    }
}

static void fast_sparse_gemm_matches_ref(void **state)
{
    static const int columns[] = {1, 7, 16, 48, 96, 100, 112, 128, 130, 257};
    enum { ROWS = 23, DEEP = 40 };
    float *dense = random_floats(1, ROWS * DEEP), *t = random_floats(2, DEEP * 300),
          *start_c = random_floats(3, ROWS * 300);
    for (int i = 0; i < ROWS * DEEP; i++)
        if (fabsf(dense[i]) > 0.15f || i / DEEP == 5) /* row 5 is all zero */
            dense[i] = 0;
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(columns) * 2; n++) {
        int w = columns[n / 2], start[2][ROWS + 1] = {{0}}, count[2][ROWS], index[2][ROWS * DEEP];
        float value[2][ROWS * DEEP], *c[2], *plain = copy_floats(start_c, ROWS * 300);
        for (int k = 0; k < 2; k++) {
            const struct kernels *table = k ? fast : ref;
            for (int r = 0; r < ROWS; r++) {
                count[k][r] =
                    table->nonzeros(DEEP, dense + r * DEEP, 0, index[k] + start[k][r], value[k] + start[k][r]);
                start[k][r + 1] = start[k][r] + count[k][r];
            }
            c[k] = copy_floats(start_c, ROWS * 300);
            struct sparse_call call = {ROWS,     w, n % 2 != 0, start[k], count[k], index[k],
                                       value[k], t, c[k],       300,      w + 2};
            table->sparse_gemm(&call);
        }
        assert_memory_equal(start[0], start[1], sizeof start[0]);
        assert_memory_equal(index[0], index[1], (size_t)start[0][ROWS] * sizeof(int));
        assert_memory_equal(value[0], value[1], (size_t)start[0][ROWS] * sizeof(float));
        CHECK_CLOSE("sparse_gemm", fast, c[0], c[1], ROWS * 300);
        struct gemm_call gemm = {false, false, ROWS, w, DEEP, 1, (float)(n % 2), dense, t, plain, DEEP, 300, w + 2};
        ref->gemm(&gemm);
        CHECK_CLOSE("sparse_gemm", ref, plain, c[0], ROWS * 300);
        free(plain);
        free(c[0]);
        free(c[1]);
    }
    free(dense);
    free(t);
    free(start_c);
}

static void fast_elementwise_kernels_match_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(widths); n++) {
        int w = widths[n], rows = 5;
        ptrdiff_t ld = w + 1;
        size_t count = (size_t)(rows * ld);
        float *x = random_floats(1, count), *y = random_floats(2, count), *bias = random_floats(3, (size_t)w), *z[2][8];
        for (int t = 0; t < 2; t++) {
            const struct kernels *k = t ? fast : ref;
            for (int i = 0; i < 8; i++)
                z[t][i] = copy_floats(y, count);
            k->bias_add(rows, w, bias, z[t][0], ld);
            k->bias_relu(rows, w, bias, z[t][1], ld);
            k->relu_backward(count, y, x, z[t][2]);
            k->column_sums(rows, w, x, ld, z[t][3]);
            k->add(count, x, z[t][4]);
            k->scale(count, 0.3f, z[t][5]);
            k->axpy(count, 0.3f, x, z[t][6]);
            k->add_periodic(rows, w, 2, 2, 1 + (int)n % 3, y, x, z[t][7]);
        }
        for (int i = 0; i < 8; i++) {
            CHECK_CLOSE("an element-wise kernel", fast, z[0][i], z[1][i], count);
            free(z[0][i]);
            free(z[1][i]);
        }
        free(x);
        free(y);
        free(bias);
    }
}

static void fast_dot_matches_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(widths); n++) {
        size_t w = (size_t)widths[n];
        float *x = random_floats(1, w), *y = random_floats(2, w), a = ref->dot(w, x, y), b = fast->dot(w, x, y);
        assert_float_equal(a, b, 1e-5f * (1 + sqrtf((float)w)));
        free(x);
        free(y);
    }
}

static void fast_arc_kernels_match_ref(void **state)
{
    enum { MOST = 11, FEATURES = 3 };
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(widths) * (MOST + 1) * 2; n++) {
        int w = widths[n / 2 % COUNT(widths)], count = (int)(n / 2 / COUNT(widths));
        size_t width = (size_t)w, heads = FEATURES * width;
        float *p = random_floats(1, 3 * width), *v = random_floats(2, heads), *s = random_floats(3, 2 * MOST);
        float *values = random_floats(4, MOST), *start = random_floats(5, heads + 3 * width), *out[2], *given[2],
              *pulls[2];
        struct arc_row rows[MOST];
        for (int r = 0; r < MOST; r++)
            rows[r] = (struct arc_row){{s[2 * r], s[2 * r + 1]}, r, r / 2 % FEATURES};
        for (int t = 0; t < 2; t++) {
            const struct kernels *k = t ? fast : ref;
            out[t] = copy_floats(start, heads + 3 * width);
            given[t] = copy_floats(values, MOST);
            pulls[t] = copy_floats(values, MOST);
            pulls[t] = realloc(pulls[t], 2 * MOST * sizeof(float));
            memset(pulls[t], 0, 2 * MOST * sizeof(float));
            struct arc_call call = {.count = count,
                                    .width = w,
                                    .rows = rows,
                                    .p = {p, p + w},
                                    .bias = p + 2 * w,
                                    .heads = v,
                                    .values = given[t],
                                    .pulls = pulls[t],
                                    .dheads = n & 1 ? out[t] : NULL,
                                    .dbias = out[t] + heads,
                                    .dp = {out[t] + heads + w, out[t] + heads + 2 * w}};
            k->arc_backward(&call);
            k->arc_forward(&call);
        }
        CHECK_CLOSE("arc_forward", fast, given[0], given[1], MOST);
        CHECK_CLOSE("arc_backward", fast, out[0], out[1], heads + 3 * width);
        CHECK_CLOSE("arc_backward, pulls", fast, pulls[0], pulls[1], 2 * MOST);
        for (int t = 0; t < 2; t++) {
            free(out[t]);
            free(given[t]);
            free(pulls[t]);
        }
        free(p);
        free(v);
        free(s);
        free(values);
        free(start);
    }
}

static void fast_banded_sum_matches_ref(void **state)
{
    enum { TILE = BANDED_ROWS * BANDED_WIDTH, TERMS = 80 };
    FOR_EACH_TABLE(fast)
    for (int most = 0; most < 6; most++) { /* most: largest number of terms that share a sign pattern */
        float *table = random_floats(1, 4000), *out[2] = {random_floats(2, TILE), random_floats(2, TILE)};
        float *factors = random_floats(3, TERMS * BANDED_PAIRS);
        struct banded_term terms[TERMS];
        for (int i = 0; i < TERMS; i++) {
            terms[i].offset = 37 * i + 100;
            memcpy(terms[i].factor, factors + i * BANDED_PAIRS, sizeof terms[i].factor);
        }
        struct banded_call call = {.table = table, .terms = terms, .shift = -30, .out = out[0]};
        for (int p = 0; p < BANDED_PATTERNS; p++) {
            call.begin[p] = 5 * p;
            call.end[p] = 5 * p + (p % 3 == 0 ? most : most / 2);
        }
        ref->banded_sum(&call);
        call.out = out[1];
        fast->banded_sum(&call);
        CHECK_CLOSE("banded_sum", fast, out[0], out[1], TILE);
        free(table);
        free(factors);
        free(out[0]);
        free(out[1]);
    }
}

static void fast_row_peaks_match_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    for (int columns = 0; columns < 70; columns += 1 + columns / 5) {
        float *x = random_floats((uint32_t)columns, 3 * 80), peaks[2][3] = {{0, 1e-3f, 9}, {0, 1e-3f, 9}};
        x[columns] = 100; /* this value is beyond the last column and must not be read */
        ref->row_peaks(3, columns, x, 80, peaks[0]);
        fast->row_peaks(3, columns, x, 80, peaks[1]);
        assert_memory_equal(peaks[0], peaks[1], sizeof peaks[0]);
        assert_true(peaks[0][2] == 9 && (columns == 0 || peaks[0][0] > 0));
        free(x);
    }
}

static void fast_softmax_matches_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(widths) * 4; n++) {
        int w = widths[n / 4], rows = 9;
        size_t count = (size_t)(rows * (w + 1));
        float *x = random_floats(1, count), *dy = random_floats(2, count), *y[2], *dx[2];
        for (size_t i = 0; i < count; i++)
            x[i] *= 40;
        for (int t = 0; t < 2; t++) {
            y[t] = copy_floats(dy, count);
            dx[t] = copy_floats(dy, count);
            struct softmax_call call = {
                rows,  w,    n & 1 ? w - w / 3 : w, n & 2 ? -1 : 1, n & 2, 0.25f, x, dy, y[t], dx[t], w + 1, w + 1,
                w + 1, w + 1};
            (t ? fast : ref)->softmax_forward(&call);
            (t ? fast : ref)->softmax_backward(&call);
            for (int r = 0; r < rows; r++) {
                /* in the masked cases, row r may attend to r keys at most; a row sums to 1 if it attends to at least
                 * one key, and to 0 otherwise */
                int valid = n & 2 ? r : w;
                double sum = 0;
                valid = valid < call.limit ? valid : call.limit;
                for (int j = 0; j < w; j++)
                    sum += (double)y[t][r * (w + 1) + j];
                assert_true(fabs(sum - (valid > 0)) < 1e-5);
                for (int j = valid > 0 ? valid : 0; j < w; j++)
                    assert_true(y[t][r * (w + 1) + j] == 0 && dx[t][r * (w + 1) + j] == 0);
            }
        }
        CHECK_CLOSE("softmax_forward", fast, y[0], y[1], count);
        CHECK_CLOSE("softmax_backward", fast, dx[0], dx[1], count);
        for (int t = 0; t < 2; t++) {
            free(y[t]);
            free(dx[t]);
        }
        free(x);
        free(dy);
    }
}

static void fast_layer_norm_matches_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    /* narrower rows are left out: with one or two columns, the gradient cancels to zero */
    for (size_t n = 4; n < 2 * COUNT(widths); n++) {
        int w = widths[n / 2], rows = 6;
        size_t count = (size_t)(rows * w);
        float *x = random_floats(1, count), *dy = random_floats(2, count), *add = random_floats(3, count);
        float *gamma = random_floats(4, (size_t)w), *beta = random_floats(5, (size_t)w), *out[2][6];
        for (int t = 0; t < 2; t++) {
            size_t sizes[] = {count, (size_t)rows, (size_t)rows, count, (size_t)w, (size_t)w};
            for (int i = 0; i < 6; i++)
                out[t][i] = calloc(sizes[i], sizeof(float));
            struct layer_norm_call call = {
                rows,      w,         1e-5f,     x,         gamma,     beta,      dy, n & 1 ? add : NULL,
                out[t][0], out[t][1], out[t][2], out[t][3], out[t][4], out[t][5], w,  w,
                w,         w,         w};
            (t ? fast : ref)->layer_norm_forward(&call);
            /* both backward passes get the reference's statistics, so that only the passes are compared */
            call.mean = out[0][1];
            call.inv_std = out[0][2];
            (t ? fast : ref)->layer_norm_backward(&call);
            if (t == 1)
                for (int i = 0; i < 6; i++)
                    CHECK_CLOSE("layer_norm", fast, out[0][i], out[1][i], sizes[i]);
        }
        for (int i = 0; i < 6; i++) {
            free(out[0][i]);
            free(out[1][i]);
        }
        float *all[] = {x, dy, add, gamma, beta};
        for (size_t i = 0; i < COUNT(all); i++)
            free(all[i]);
    }
}

static void fast_dropout_masks_equal_ref(void **state)
{
    static const double rates[] = {0, 0.1, 0.5, 0.9};
    for (int t = 0; t < 3; t++) {
        const struct kernels *k = kernels_named(t == 0 ? "ref" : t == 1 ? "avx2" : "avx512");
        for (size_t n = 0; k && n < 4 * COUNT(widths); n++) {
            size_t count = (size_t)widths[n / 4] * 3;
            double p = rates[n % 4];
            struct random_at at = {0x123456789abcdefULL, (1ULL << 33) + 5, 3, (1ULL << 34) - 8};
            struct philox stream = philox_stream(at.seed, at.stream, at.step);
            float *x = random_floats(1, count), *add = random_floats(2, count), *y = copy_floats(x, count);
            float *again = copy_floats(x, count);
            struct dropout_call call = {count, p, at, x, NULL, y, NULL, NULL};
            k->dropout(&call);
            for (size_t i = 0; i < count; i++) {
                bool kept = (double)philox_u32(&stream, at.index + i) >= p * 4294967296.0;
                assert_true(y[i] == (kept ? x[i] * (float)(1 / (1 - p)) : 0));
            }
            call.add = add;
            call.x2 = add;
            call.y2 = again;
            k->dropout(&call);
            for (size_t i = 0; i < count; i++) {
                bool kept = (double)philox_u32(&stream, at.index + i) >= p * 4294967296.0;
                assert_true(y[i] == add[i] + (kept ? x[i] * (float)(1 / (1 - p)) : 0));
                assert_true(again[i] == (kept ? add[i] * (float)(1 / (1 - p)) : 0));
            }
            free(x);
            free(add);
            free(y);
            free(again);
        }
    }
}

static void fast_lstm_matches_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < 2 * COUNT(widths); n++) {
        int h = widths[n / 2], rows = 4;
        size_t count = (size_t)(rows * h);
        float *gates = random_floats(1, 4 * count), *before = random_floats(2, count), *dh = random_floats(3, count);
        float *dc = random_floats(4, count), *out[2][5];
        size_t sizes[] = {4 * count, count, count, count, 4 * count};
        for (size_t i = 0; i < 4 * count; i++)
            gates[i] *= 6;
        for (int t = 0; t < 2; t++) {
            for (int i = 0; i < 5; i++)
                out[t][i] = calloc(sizes[i], sizeof(float));
            memcpy(out[t][0], gates, 4 * count * sizeof *gates);
            memcpy(out[t][3], dc, count * sizeof *dc);
            struct lstm_call call = {rows,      h,         out[t][0], 4 * h,     h,        4 * h, n & 1 ? before : NULL,
                                     out[t][1], out[t][2], dh,        out[t][3], out[t][4]};
            (t ? fast : ref)->lstm_forward(&call);
            (t ? fast : ref)->lstm_backward(&call);
        }
        for (int i = 0; i < 5; i++) {
            CHECK_CLOSE("lstm", fast, out[0][i], out[1][i], sizes[i]);
            free(out[0][i]);
            free(out[1][i]);
        }
        free(gates);
        free(before);
        free(dh);
        free(dc);
    }
}

static void fast_cross_entropy_matches_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(widths); n++) {
        int w = widths[n], rows = 6;
        size_t count = (size_t)(rows * w);
        float *x = random_floats(1, count), *dx[2], loss[2][6];
        int32_t targets[6], best[2][6];
        for (size_t i = 0; i < count; i++)
            x[i] *= 20;
        for (int r = 0; r < rows; r++)
            targets[r] = r == 2 ? -1 : r * 7 % w;
        for (int t = 0; t < 2; t++) {
            dx[t] = random_floats(2, count);
            struct cross_entropy_call call = {rows, w, 0.125f, x, targets, w, w, loss[t], dx[t], best[t]};
            (t ? fast : ref)->cross_entropy(&call);
            for (int r = 0; r < rows; r++) {
                double sum = 0;
                for (int j = 0; j < w; j++)
                    sum += (double)dx[t][r * w + j];
                assert_true(fabs(sum) < 1e-6);
                assert_true(r == 2 ? loss[t][r] == 0 : loss[t][r] >= 0);
            }
        }
        CHECK_CLOSE("cross_entropy loss", fast, loss[0], loss[1], (size_t)rows);
        CHECK_CLOSE("cross_entropy gradient", fast, dx[0], dx[1], count);
        assert_memory_equal(best[0], best[1], sizeof best[0]);
        free(x);
        free(dx[0]);
        free(dx[1]);
    }
}

static void gather_and_scatter_add_use_their_indices(void **state)
{
    static const int32_t index[] = {3, 0, -1, 3, 2};
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(widths); n++) {
        int w = widths[n];
        float *table = random_floats(1, (size_t)(4 * w)), *y[2], *dt[2];
        for (int t = 0; t < 2; t++) {
            y[t] = calloc((size_t)(5 * w), sizeof(float));
            dt[t] = calloc((size_t)(4 * w), sizeof(float));
            (t ? fast : ref)->gather(5, w, index, table, y[t], w);
            (t ? fast : ref)->scatter_add(5, w, index, y[t], w, dt[t]);
        }
        assert_memory_equal(y[0], y[1], (size_t)(5 * w) * sizeof(float));
        assert_memory_equal(dt[0], dt[1], (size_t)(4 * w) * sizeof(float));
        assert_true(dt[0][3 * w] == 2 * table[3 * w] && dt[0][w] == 0 && y[0][2 * w] == 0);
        free(table);
        for (int t = 0; t < 2; t++) {
            free(y[t]);
            free(dt[t]);
        }
    }
}

/* Returns the error in units in the last place of the exact value. */
static double ulps(float got, double exact)
{
    float near = (float)exact;
    if (isinf(near) || near == 0)
        return got == near ? 0 : 1e9;
    double unit = ldexp(1, (ilogb((double)near) > -126 ? ilogb((double)near) : -126) - 23);
    return fabs((double)got - exact) / unit;
}

static void exp_tanh_and_sigmoid_are_accurate(void **state)
{
    enum { N = 200000 };
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    FOR_EACH_TABLE(fast)
    {
        double worst[3] = {0, 0, 0};
        for (int i = 0; i < N; i++)
            x[i] = (i < N / 2 ? 88.0f : 2.0f) * (2 * random_at_index(5, (uint64_t)i) - 1);
        for (int f = 0; f < 3; f++) {
            (f == 0 ? fast->vector_exp : f == 1 ? fast->vector_tanh : fast->vector_sigmoid)(N, x, y);
            for (int i = 0; i < N; i++) {
                double v = (double)x[i], exact = f == 0 ? exp(v) : f == 1 ? tanh(v) : 1 / (1 + exp(-v));
                if (f != 1 && exact < 1.2e-38)
                    continue; /* results below the normal range may become 0 */
                worst[f] = fmax(worst[f], ulps(y[i], exact));
            }
        }
        print_message("%s: exp %.2f, tanh %.2f, sigmoid %.2f units in the last place\n", fast->name, worst[0], worst[1],
                      worst[2]);
        assert_true(worst[0] < 2 && worst[1] < 2.5 && worst[2] < 3);
        const float ends[] = {INFINITY, -INFINITY, 0, 200, -200, NAN, 88.72f};
        float out[7];
        fast->vector_exp(7, ends, out);
        assert_true(isinf(out[0]) && out[1] == 0 && out[2] == 1 && isinf(out[3]) && out[4] == 0 && isnan(out[5]));
        assert_true(isfinite(out[6]));
        fast->vector_tanh(7, ends, out);
        assert_true(out[0] == 1 && out[1] == -1 && out[2] == 0 && out[3] == 1 && out[4] == -1 && isnan(out[5]));
        fast->vector_sigmoid(7, ends, out);
        assert_true(out[0] == 1 && out[1] == 0 && out[2] == 0.5f && out[3] == 1 && isnan(out[5]));
    }
    free(x);
    free(y);
}

static void fast_adam_matches_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    {
        enum { N = 1003 };
        float *g = random_floats(1, N), *w[2], *m[2], *v[2];
        for (int t = 0; t < 2; t++) {
            w[t] = random_floats(2, N);
            m[t] = calloc(N, sizeof(float));
            v[t] = calloc(N, sizeof(float));
            for (int step = 1; step <= 3; step++) {
                struct adam_call call = {N, step, 1e-3, 0.9, 0.999, 1e-8, 0.5, g, w[t], m[t], v[t]};
                (t ? fast : ref)->adam(&call);
            }
        }
        CHECK_CLOSE("adam weights", fast, w[0], w[1], N);
        CHECK_CLOSE("adam first moments", fast, m[0], m[1], N);
        CHECK_CLOSE("adam second moments", fast, v[0], v[1], N);
        /* with a constant gradient, each step moves each weight by about the learning rate, against the sign of the
         * gradient */
        float *start = random_floats(2, N);
        for (int i = 0; i < N; i++)
            assert_true(fabs((double)(start[i] - w[1][i]) - (g[i] > 0 ? 3e-3 : -3e-3)) < 1e-4 * 3 ||
                        fabsf(g[i]) < 1e-3f);
        free(start);
        free(g);
        for (int t = 0; t < 2; t++) {
            free(w[t]);
            free(m[t]);
            free(v[t]);
        }
    }
}

static void sum_of_squares_matches_ref_and_infinity_is_found(void **state)
{
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(widths); n++) {
        size_t count = (size_t)widths[n] * 97;
        float *x = random_floats(1, count);
        double a = ref->sum_squares(count, x), b = fast->sum_squares(count, x);
        assert_true(fabs(a - b) <= 1e-6 * a);
        assert_true(ref->all_finite(count, x) && fast->all_finite(count, x));
        for (int bad = 0; bad < 3; bad++) {
            size_t at = count * (size_t)bad / 3 + (count - 1) * (bad == 2) / 3;
            float keep = x[at];
            x[at] = bad == 0 ? NAN : bad == 1 ? INFINITY : -INFINITY;
            assert_false(ref->all_finite(count, x));
            assert_false(fast->all_finite(count, x));
            x[at] = keep;
        }
        free(x);
    }
}

static void kernel_tables_are_found_by_name(void **state)
{
    assert_string_equal(kernels_named("ref")->name, "ref");
    assert_null(kernels_named("avx9000"));
    assert_non_null(kernels_named(kernels_best()->name));
    blas_init();
    assert_true(strlen(blas_core()) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_gemm_matches_ref),
        cmocka_unit_test(bf16_gemm_rounds_factors_to_nearest_even),
        cmocka_unit_test(fast_sparse_gemm_matches_ref),
        cmocka_unit_test(fast_elementwise_kernels_match_ref),
        cmocka_unit_test(fast_dot_matches_ref),
        cmocka_unit_test(fast_arc_kernels_match_ref),
        cmocka_unit_test(fast_banded_sum_matches_ref),
        cmocka_unit_test(fast_row_peaks_match_ref),
        cmocka_unit_test(fast_softmax_matches_ref),
        cmocka_unit_test(fast_layer_norm_matches_ref),
        cmocka_unit_test(fast_dropout_masks_equal_ref),
        cmocka_unit_test(fast_lstm_matches_ref),
        cmocka_unit_test(fast_cross_entropy_matches_ref),
        cmocka_unit_test(gather_and_scatter_add_use_their_indices),
        cmocka_unit_test(exp_tanh_and_sigmoid_are_accurate),
        cmocka_unit_test(fast_adam_matches_ref),
        cmocka_unit_test(sum_of_squares_matches_ref_and_infinity_is_found),
        cmocka_unit_test(kernel_tables_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
