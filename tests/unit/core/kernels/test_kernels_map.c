/* Tests kernels on maps: batch norm, threshold, quantile and max pooling. */
#include "tests/unit/core/kernels/kernel_check.h"

static const struct map_shape shapes[] = {
    {1, 16, 7, 100, 1, 1}, {1, 10, 5, 13, 1, 1}, {1, 64, 3, 11, 1, 1}, {1, 80, 1, 100, 0, 1},
    {1, 48, 9, 1, 1, 1},   {1, 32, 2, 2, 1, 1},  {1, 16, 1, 1, 0, 1},  {1, 10, 33, 12, 1, 1},
};

static float *vector(uint32_t stream, int channels, float around)
{
    float *v = random_floats(stream, (size_t)map_padded(channels));
    for (int c = 0; c < map_padded(channels); c++)
        v[c] = c < channels ? v[c] + around : 0;
    return v;
}

static void map_conversions_round_trip(void **state)
{
    for (size_t n = 0; n < COUNT(shapes); n++) {
        struct map_shape s = shapes[n];
        s.images = 2;
        size_t plane = (size_t)(s.channels * s.height * s.width);
        float *planar = random_floats(1, 2 * plane), *map = malloc(map_size(&s) * sizeof *map);
        float *back = malloc(plane * sizeof *back), *rows = malloc(plane * sizeof *rows);
        memset(map, 0x7f, map_size(&s) * sizeof *map);
        for (int i = 0; i < 2; i++) {
            double sum = 0, total = 0;
            map_from_planar(&s, planar + (size_t)i * plane, map, i);
            map_to_planar(&s, map, back, i);
            assert_memory_equal(back, planar + (size_t)i * plane, plane * sizeof *back);
            map_to_rows(&s, map, rows, s.channels, i);
            memset(map + i * map_image_stride(&s), 0x7f, (size_t)map_image_stride(&s) * sizeof *map);
            map_from_rows(&s, rows, s.channels, map, i);
            map_to_planar(&s, map, back, i);
            assert_memory_equal(back, planar + (size_t)i * plane, plane * sizeof *back);
            for (size_t j = 0; j < plane; j++)
                sum += fabs((double)back[j]);
            for (ptrdiff_t j = 0; j < map_image_stride(&s); j++)
                total += fabs((double)map[i * map_image_stride(&s) + j]);
            assert_true(fabs(sum - total) < 1e-9 * (1 + sum)); /* equal sums prove that halo and padding are zero */
        }
        free(planar);
        free(map);
        free(back);
        free(rows);
    }
}

static void moments_equal_mean_and_squared_deviations(void **state)
{
    struct map_shape s = {4, 10, 25, 13, 1, 1};
    float *x = random_map(1, &s);
    for (size_t i = 0; i < map_size(&s); i++)
        x[i] = x[i] * 0.01f + 100; /* with a mean far from zero, plain sums of squares would lose all precision */
    int64_t each = s.height * s.width;
    double exact[2] = {0, 0};
    for (int pass = 0; pass < 2; pass++)
        for (int n = 0; n < s.images; n++)
            for (int i = 0; i < each; i++) {
                double v = (double)x[map_offset(&s, n, 0, i / s.width, i % s.width) + 3];
                exact[pass] += pass ? (v - exact[0]) * (v - exact[0]) : v / (double)(4 * each);
            }
    for (int t = 0; t < 3; t++) {
        const struct kernels *k = kernels_named(t == 0 ? "ref" : t == 1 ? "avx2" : "avx512");
        double total[32] = {0}, part[32];
        if (!k)
            continue;
        for (int n = 0; n < s.images; n++) {
            k->map_moments(1, s.height, s.width, map_strip_at(&s, x, n, 0), part);
            moments_merge(total, n * each, part, each, 16);
        }
        assert_true(fabs(total[3] - exact[0]) < 1e-6 * exact[0]);
        assert_true(fabs(total[16 + 3] - exact[1]) < 1e-3 * exact[1]);
    }
    free(x);
}

static void fast_norm_matches_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < 2 * 2 * 2 * COUNT(shapes); n++) {
        const struct map_shape *s = &shapes[n / 8];
        int b = map_blocks(s->channels), c = map_padded(s->channels);
        bool relu = n & 1, add = n & 2, frozen = n & 4;
        float *x = random_map(1, s), *dy = random_map(2, s), *extra = random_map(3, s), *y[2], *dx[2];
        float *scale = vector(4, s->channels, 0), *shift = vector(5, s->channels, 0);
        float *mean = vector(6, s->channels, 0), *inv_std = vector(7, s->channels, 2);
        float *a = vector(8, s->channels, 0), *bb = vector(9, s->channels, 0), *cc = vector(10, s->channels, 0);
        double sums[2][2 * 80], plain[2][80] = {{0}};
        for (int k = 0; k < 2; k++) {
            y[k] = empty_map(s);
            dx[k] = empty_map(s);
            struct affine_call affine = {
                b, s->height, s->width, relu, map_strip_at(s, x, 0, 0), map_strip_at(s, y[k], 0, 0), scale, shift};
            struct norm_call norm = {.blocks = b,
                                     .rows = s->height,
                                     .width = s->width,
                                     .relu = relu,
                                     .x = map_strip_at(s, x, 0, 0),
                                     .dy = map_strip_at(s, dy, 0, 0),
                                     .dx = map_strip_at(s, dx[k], 0, 0),
                                     .scale = scale,
                                     .shift = shift,
                                     .mean = mean,
                                     .inv_std = inv_std,
                                     .a = a,
                                     .sums = sums[k]};
            if (add)
                norm.add = map_strip_at(s, extra, 0, 0);
            if (!frozen) {
                norm.b = bb;
                norm.c = cc;
            }
            (k ? fast : ref)->map_affine(&affine);
            (k ? fast : ref)->norm_sums(&norm);
            (k ? fast : ref)->norm_backward(&norm);
            (k ? fast : ref)->map_sums(b, s->height, s->width, map_strip_at(s, x, 0, 0), plain[k]);
            (k ? fast : ref)->map_add(b, s->height, s->width, map_strip_at(s, x, 0, 0), map_strip_at(s, y[k], 0, 0));
        }
        CHECK_CLOSE("map_affine + map_add", fast, y[0], y[1], map_size(s));
        CHECK_CLOSE("norm_backward", fast, dx[0], dx[1], map_size(s));
        assert_true(distance_double(sums[0], sums[1], 2 * (size_t)c) < 1e-5);
        assert_true(distance_double(plain[0], plain[1], (size_t)c) < 1e-5);
        for (int k = 0; k < 2; k++) {
            free(y[k]);
            free(dx[k]);
        }
        float *all[] = {x, dy, extra, scale, shift, mean, inv_std, a, bb, cc};
        for (size_t i = 0; i < COUNT(all); i++)
            free(all[i]);
    }
}

static void fast_threshold_matches_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(shapes); n++) {
        const struct map_shape *s = &shapes[n];
        int b = map_blocks(s->channels);
        float *x = random_map(1, s), *t = vector(2, s->channels, 0), *dy = random_map(3, s), *y[2], *dx[2];
        int64_t active[2][80] = {{0}};
        for (int k = 0; k < 2; k++) {
            y[k] = empty_map(s);
            dx[k] = empty_map(s);
            struct threshold_call call = {b, s->height, s->width, map_strip_at(s, x, 0, 0), map_strip_at(s, y[k], 0, 0),
                                          t, active[k]};
            (k ? fast : ref)->map_threshold(&call);
            (k ? fast : ref)
                ->map_mask(b, s->height, s->width, call.y, map_strip_at(s, dy, 0, 0), map_strip_at(s, dx[k], 0, 0));
        }
        assert_memory_equal(y[0], y[1], map_size(s) * sizeof(float));
        assert_memory_equal(dx[0], dx[1], map_size(s) * sizeof(float));
        assert_memory_equal(active[0], active[1], sizeof active[0]);
        for (int k = 0; k < 2; k++) {
            free(y[k]);
            free(dx[k]);
        }
        free(x);
        free(t);
        free(dy);
    }
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Returns a sorted copy of the values of channel `channel` (-1: of all channels). */
static float *sorted(const struct map_shape *s, const float *x, int channel, size_t *count)
{
    float *v = malloc(map_size(s) * sizeof *v);
    *count = 0;
    for (int n = 0; n < s->images; n++)
        for (int c = 0; c < s->channels; c++)
            for (int i = 0; i < s->height * s->width; i++)
                if (channel < 0 || c == channel)
                    v[(*count)++] = x[map_offset(s, n, c / 16, i / s->width, i % s->width) + c % 16];
    qsort(v, *count, sizeof *v, by_value);
    return v;
}

/* Changes the distribution of the values: uniform, with many ties, all equal, or very skewed. */
static void deform(float *x, size_t n, int how)
{
    for (size_t i = 0; i < n; i++)
        if (how == 1)
            x[i] = roundf(x[i] * 4) / 4;
        else if (how == 2)
            x[i] = x[i] == 0 ? 0 : 0.5f;
        else if (how == 3)
            x[i] = x[i] * x[i] * x[i] * x[i] * x[i] * x[i] * x[i] * 1e6f;
}

static void kth_equals_sorted_value(void **state)
{
    static const struct map_shape sets[] = {
        {2, 10, 70, 70, 1, 1}, {3, 40, 1, 500, 0, 1}, {1, 16, 128, 128, 1, 1}, {1, 3, 2, 1, 1, 1}};
    void *scratch = malloc(KTH_SCRATCH_BYTES);
    for (size_t n = 0; n < 4 * COUNT(sets); n++) {
        const struct map_shape *s = &sets[n / 4];
        float *x = random_map((uint32_t)n, s);
        deform(x, map_size(s), (int)n % 4);
        struct kth_set set = {x + map_offset(s, 0, 0, 0, 0), s->images,           s->channels,      s->height, s->width,
                              map_image_stride(s),           map_block_stride(s), map_row_stride(s)};
        for (int t = 0; t < 3; t++) {
            const struct kernels *k = kernels_named(t == 0 ? "ref" : t == 1 ? "avx2" : "avx512");
            for (int q = 0; k && q < 5; q++) {
                static const double places[] = {0, 0.5, 0.9, 0.9995, 1};
                float out[16];
                size_t count;
                for (int c = 0; c < s->channels; c++) {
                    float *v = sorted(s, x, c, &count);
                    int64_t rank = 1 + (int64_t)(places[q] * (double)(count - 1));
                    if (c % 16 == 0)
                        k->kth_block(&set, c / 16, rank, out, scratch);
                    assert_true(out[c % 16] == v[rank - 1]);
                    free(v);
                }
                float *v = sorted(s, x, -1, &count);
                int64_t rank = 1 + (int64_t)(places[q] * (double)(count - 1));
                assert_true(k->kth_all(&set, rank, scratch) == v[rank - 1]);
                free(v);
            }
        }
        free(x);
    }
    free(scratch);
}

static void fast_collect_above_matches_ref(void **state)
{
    enum { ROOM = 64 };
    static const struct map_shape s = {2, 20, 30, 33, 1, 1};
    float bound[16], list[2][16 * ROOM];
    float *x = random_map(5, &s);
    /* bounds of three kinds: no value exceeds the bound; more values exceed it than the list can hold; a few values
     * exceed it */
    for (int l = 0; l < 16; l++)
        bound[l] = l % 4 == 0 ? INFINITY : l % 4 == 1 ? -0.9f : 0.95f + 0.002f * (float)l;
    for (int t = 0; t < 2; t++) {
        const struct kernels *k = kernels_named(t == 0 ? "avx2" : "avx512");
        for (int block = 0; k && block < 2; block++) {
            int count[2][16] = {{0}};
            for (int which = 0; which < 2; which++) {
                struct above_call call = {.rows = 30,
                                          .width = 33,
                                          .room = ROOM,
                                          .x = map_strip_at(&s, x, 1, 0),
                                          .bound = bound,
                                          .list = list[which],
                                          .count = count[which]};
                memset(list[which], 0, sizeof list[which]);
                call.x.at += block * call.x.block;
                (which ? k : ref)->collect_above(&call);
            }
            assert_memory_equal(count[0], count[1], sizeof count[0]);
            assert_memory_equal(list[0], list[1], sizeof list[0]);
            assert_true(count[0][0] == 0 && count[0][1] > ROOM && count[0][2] > 0 && count[0][2] < ROOM);
        }
    }
    free(x);
}

static void fast_max_pool_matches_ref(void **state)
{
    static const int pools[][2] = {{8, 8}, {2, 2}, {1, 8}, {3, 2}, {1, 1}};
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(shapes) * COUNT(pools); n++) {
        const struct map_shape *s = &shapes[n / COUNT(pools)];
        int ph = pools[n % COUNT(pools)][0], pw = pools[n % COUNT(pools)][1];
        struct map_shape o = {1, s->channels, s->height / ph, s->width / pw, 0, 1};
        if (o.height == 0 || o.width == 0)
            continue;
        float *x = random_map(1, s), *dy = random_map(2, &o), *y[2], *dx[2];
        deform(x, map_size(s), 1);
        size_t args = (size_t)(map_padded(s->channels) * o.height * o.width);
        uint16_t *arg[2];
        for (int k = 0; k < 2; k++) {
            y[k] = empty_map(&o);
            dx[k] = random_map(9, s); /* the kernel must overwrite the old contents */
            arg[k] = malloc(args * sizeof *arg[k]);
            struct max_pool_call call = {
                map_blocks(s->channels),      o.height, o.width,   ph,      pw, map_strip_at(s, x, 0, 0),
                map_strip_at(&o, y[k], 0, 0), arg[k],   s->height, s->width};
            (k ? fast : ref)->max_pool_forward(&call);
            call.in = map_strip_at(s, dx[k], 0, 0);
            call.out = map_strip_at(&o, dy, 0, 0);
            (k ? fast : ref)->max_pool_backward(&call);
        }
        assert_memory_equal(y[0], y[1], map_size(&o) * sizeof(float));
        assert_memory_equal(arg[0], arg[1], args * sizeof *arg[0]);
        assert_memory_equal(dx[0], dx[1], map_size(s) * sizeof(float));
        double in = 0, out = 0;
        for (size_t i = 0; i < map_size(&o); i++)
            out += (double)dy[i];
        for (size_t i = 0; i < map_size(s); i++)
            in += (double)dx[0][i];
        assert_true(fabs(in - out) < 1e-5 * (1 + fabs(out)));
        for (int k = 0; k < 2; k++) {
            free(y[k]);
            free(dx[k]);
            free(arg[k]);
        }
        free(x);
        free(dy);
    }
}

/* Keeps about `density` of the values, rounded to multiples of 1/8, so that products are exact and ties occur. */
static void thin(float *x, size_t n, float density)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            x[i] = random_at_index(77, i) < density ? ceilf(fabsf(x[i]) * 8) / 8 : 0;
}

static void embed_matches(const struct kernels *fast, const struct map_shape *s, int ph, int pw, int features,
                          float density)
{
    int b = map_blocks(s->channels), h = s->height / ph, w = s->width / pw, c = map_padded(s->channels);
    if (h == 0 || w == 0)
        return;
    size_t outputs = (size_t)(h * w * features), weights = (size_t)(features * s->channels);
    float *x = random_map(1, s), *wt = random_floats(2, weights), *bias = random_floats(3, (size_t)features);
    float *packed = malloc(embed_packed_size(features, s->channels) * sizeof *packed), *dy = random_floats(4, outputs);
    float *y[2], *dx[2], *dw[2], *db[2];
    uint16_t *arg[2];
    thin(x, map_size(s), density);
    for (size_t i = 0; i < weights; i++)
        wt[i] = roundf(wt[i] * 8) / 8;
    for (int i = 0; i < features; i++)
        bias[i] = roundf(bias[i] * 8) / 8;
    embed_pack(wt, features, s->channels, packed);
    for (int k = 0; k < 2; k++) {
        y[k] = malloc(outputs * sizeof(float));
        arg[k] = malloc(outputs * sizeof *arg[k]);
        dx[k] = random_map(9, s);
        dw[k] = calloc((size_t)(features * c), sizeof(float));
        db[k] = calloc((size_t)features, sizeof(float));
        struct embed_call call = {.blocks = b,
                                  .rows = h,
                                  .width = w,
                                  .max_pool_h = ph,
                                  .max_pool_w = pw,
                                  .features = features,
                                  .in = map_strip_at(s, x, 0, 0),
                                  .packed = packed,
                                  .bias = bias,
                                  .tokens = y[k],
                                  .ld_tokens = features,
                                  .arg = arg[k],
                                  .dtokens = dy,
                                  .din = map_strip_at(s, dx[k], 0, 0),
                                  .din_rows = s->height,
                                  .din_width = s->width,
                                  .dweights = dw[k],
                                  .dbias = db[k]};
        (k ? fast : ref)->embed_max_pool_forward(&call);
        (k ? fast : ref)->embed_max_pool_backward(&call);
    }
    CHECK_CLOSE("embed_max_pool_forward", fast, y[0], y[1], outputs);
    assert_memory_equal(arg[0], arg[1], outputs * sizeof *arg[0]);
    CHECK_CLOSE("embed_max_pool_backward map", fast, dx[0], dx[1], map_size(s));
    CHECK_CLOSE("embed_max_pool_backward weights", fast, dw[0], dw[1], (size_t)(features * c));
    CHECK_CLOSE("embed_max_pool_backward bias", fast, db[0], db[1], (size_t)features);
    for (int k = 0; k < 2; k++) {
        free(y[k]);
        free(arg[k]);
        free(dx[k]);
        free(dw[k]);
        free(db[k]);
    }
    free(x);
    free(wt);
    free(bias);
    free(packed);
    free(dy);
}

static void fast_embed_max_pool_matches_ref(void **state)
{
    static const struct map_shape sets[] = {{1, 10, 25, 33, 1, 1}, {1, 32, 16, 16, 1, 1}, {1, 80, 1, 100, 0, 1}};
    static const int features[] = {1, 12, 16, 64, 80, 512};
    static const float densities[] = {0, 0.002f, 0.05f, 0.5f, 1};
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(sets) * COUNT(features) * COUNT(densities); n++) {
        const struct map_shape *s = &sets[n / 30];
        embed_matches(fast, s, s->height > 1 ? 8 : 1, 8, features[n / 5 % 6], densities[n % 5]);
        embed_matches(fast, s, 1, 50, features[n / 5 % 6], densities[n % 5]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_conversions_round_trip), cmocka_unit_test(moments_equal_mean_and_squared_deviations),
        cmocka_unit_test(fast_norm_matches_ref),      cmocka_unit_test(fast_threshold_matches_ref),
        cmocka_unit_test(kth_equals_sorted_value),    cmocka_unit_test(fast_collect_above_matches_ref),
        cmocka_unit_test(fast_max_pool_matches_ref),  cmocka_unit_test(fast_embed_max_pool_matches_ref),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
