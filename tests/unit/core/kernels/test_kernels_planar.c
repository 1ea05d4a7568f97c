/* Tests the first convolution of a network, which reads planes, or a list of those values of the
 * planes that are not zero. */
#include "tests/unit/core/kernels/kernel_check.h"

static void fast_planar_conv_matches_ref(void **state)
{
    static const int channels[] = {1, 2, 3, 4}, outs[] = {16, 10, 64, 80}, heights[] = {1, 5},
                     widths[] = {1, 2, 13, 100};
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < 4 * 4 * 2 * 4; n++) {
        int in = channels[n % 4], o = outs[n / 4 % 4], h = heights[n / 16 % 2], w = widths[n / 32 % 4];
        struct map_shape out = {1, o, h, w, 1, 1};
        int pad = map_padded(o);
        float *x = random_floats(1, (size_t)(in * h * w)), *weights = random_floats(2, (size_t)(pad * in));
        float *bias = random_floats(3, (size_t)pad), *dy = random_map(4, &out), *y[2], *dw[2], *db[2];
        double moments[2][2 * 80];
        for (int k = 0; k < 2; k++) {
            y[k] = empty_map(&out);
            dw[k] = calloc((size_t)(pad * in), sizeof(float));
            db[k] = calloc((size_t)pad, sizeof(float));
            struct planar_call call = {
                in,      map_blocks(o), h,          w,     x,    h * w, w, map_strip_at(&out, y[k], 0, 0),
                weights, bias,          moments[k], dw[k], db[k]};
            (k ? fast : ref)->planar_forward(&call);
            call.out = map_strip_at(&out, dy, 0, 0);
            (k ? fast : ref)->planar_gradient(&call);
        }
        CHECK_CLOSE("planar_forward", fast, y[0], y[1], map_size(&out));
        CHECK_CLOSE("planar_gradient weights", fast, dw[0], dw[1], (size_t)(pad * in));
        CHECK_CLOSE("planar_gradient bias", fast, db[0], db[1], (size_t)pad);
        assert_true(distance_double(moments[0], moments[1], (size_t)pad) < 1e-5);
        assert_true(distance_double(moments[0] + pad, moments[1] + pad, (size_t)pad) < 1e-5);
        for (int k = 0; k < 2; k++) {
            free(y[k]);
            free(dw[k]);
            free(db[k]);
        }
        free(x);
        free(weights);
        free(bias);
        free(dy);
    }
}

/* Planes of one image, in which about one value in `rare` is not zero. These values are also listed row by row: `site`
 * has the values, `col` their columns, and first[row] is the index of the first value of a row. */
struct planes {
    int count, height, width;
    float *value;
    int *first, *col;
    float *site;
};

static struct planes planes_of(uint32_t stream, int count, int height, int width, float rare)
{
    int size = count * height * width, sites = 0;
    struct planes p = {.count = count, .height = height, .width = width};
    p.value = random_floats(stream, (size_t)size);
    p.first = calloc((size_t)(count * height + 1), sizeof *p.first);
    p.col = calloc((size_t)size + 1, sizeof *p.col);
    p.site = calloc((size_t)size + 1, sizeof *p.site);
    for (int i = 0; i < size; i++) {
        if (random_at_index(stream + 1, (uint64_t)i) * rare > 1)
            p.value[i] = 0;
        if (i % width == 0)
            p.first[i / width] = sites;
        p.col[sites] = i % width;
        p.site[sites] = p.value[i];
        sites += p.value[i] != 0;
    }
    p.first[count * height] = sites;
    return p;
}

static void planes_free(struct planes *p)
{
    free(p->value);
    free(p->first);
    free(p->col);
    free(p->site);
}

/* Returns a copy of the planes for each tap of the kernel, shifted by the offset of the tap. */
static float *moved(const struct planes *p, int high, int wide)
{
    float *out = calloc((size_t)(p->count * high * wide * p->height * p->width), sizeof *out), *to = out;
    for (int n = 0; n < p->count * high * wide; n++) {
        int down = n / wide % high - high / 2, right = n % wide - wide / 2;
        for (int y = 0; y < p->height; y++)
            for (int x = 0; x < p->width; x++, to++) {
                int row = y + down, col = x + right;
                if (row >= 0 && row < p->height && col >= 0 && col < p->width)
                    *to = p->value[(n / (high * wide) * p->height + row) * p->width + col];
            }
    }
    return out;
}

struct sites_case {
    int planes, out, high, wide, height, width;
    float rare;
    int row, rows, col, cols; /* the strip */
};

static const struct sites_case sites_cases[] = {
    {20, 16, 1, 25, 1, 160, 20, 0, 1, 0, 160}, {4, 32, 1, 25, 1, 300, 4, 0, 1, 0, 300},
    {4, 10, 1, 25, 1, 40, 4, 0, 1, 3, 17},     {4, 16, 1, 63, 1, 9, 3, 0, 1, 0, 9},
    {1, 16, 9, 9, 48, 48, 6, 0, 48, 0, 48},    {3, 40, 9, 9, 20, 13, 5, 4, 9, 0, 13},
    {2, 80, 3, 5, 11, 7, 2, 1, 10, 2, 4},      {1, 16, 3, 3, 4, 1, 2, 0, 4, 0, 1},
    {5, 16, 1, 1, 1, 33, 5, 0, 1, 1, 32},      {2, 16, 5, 3, 2, 6, 1000, 0, 2, 0, 6},
};

/* The results of a forward and a gradient kernel. */
struct answer {
    float *y, *dw, *db;
    double moments[2 * 80];
};

static struct answer answer_of(const struct kernels *table, const struct sites_case *s, const struct planes *p,
                               const float *weights, const float *bias, const float *dy, bool sites)
{
    struct map_shape out = {1, s->out, s->height, s->width, 1, 1};
    int pad = map_padded(s->out), products = s->planes * s->high * s->wide;
    struct answer a = {
        empty_map(&out), calloc((size_t)(pad * products), sizeof(float)), calloc((size_t)pad, sizeof(float)), {0}};
    struct map_strip y = map_strip_at(&out, a.y, 0, s->row), d = map_strip_at(&out, dy, 0, s->row);
    float *all = moved(p, s->high, s->wide);
    y.at += s->col * MAP_LANES;
    d.at += s->col * MAP_LANES;
    if (sites) {
        struct sites_call call = {s->planes, s->high, s->wide, map_blocks(s->out),          s->height, s->width, s->row,
                                  s->rows,   s->col,  s->cols, {p->first, p->col, p->site}, y,         weights,  bias,
                                  a.moments, a.dw,    a.db};
        table->sites_forward(&call);
        call.out = d;
        table->sites_gradient(&call);
    } else {
        struct planar_call call = {products,
                                   map_blocks(s->out),
                                   s->rows,
                                   s->cols,
                                   all + s->row * s->width + s->col,
                                   s->height * s->width,
                                   s->width,
                                   y,
                                   weights,
                                   bias,
                                   a.moments,
                                   a.dw,
                                   a.db};
        table->planar_forward(&call);
        call.out = d;
        table->planar_gradient(&call);
    }
    free(all);
    return a;
}

static void answer_free(struct answer *a)
{
    free(a->y);
    free(a->dw);
    free(a->db);
}

/* Compares two answers to a call; limit 0: bit by bit. */
static void compare(const char *name, const struct sites_case *s, const struct answer *a, const struct answer *b,
                    double limit)
{
    struct map_shape out = {1, s->out, s->height, s->width, 1, 1};
    size_t pad = (size_t)map_padded(s->out), products = (size_t)(s->planes * s->high * s->wide);
    double far[] = {distance(a->y, b->y, map_size(&out)), distance(a->dw, b->dw, pad * products),
                    distance(a->db, b->db, pad), distance_double(a->moments, b->moments, 2 * pad)};
    for (size_t i = 0; i < COUNT(far); i++)
        if (!(far[i] <= limit))
            fail_msg("%s, %d planes, kernel %d x %d, part %zu: %g", name, s->planes, s->high, s->wide, i, far[i]);
}

static void sites_give_the_sums_of_all_positions(void **state)
{
    for (size_t n = 0; n < COUNT(sites_cases); n++) {
        const struct sites_case *s = &sites_cases[n];
        struct map_shape out = {1, s->out, s->height, s->width, 1, 1};
        size_t count = (size_t)map_padded(s->out) * (size_t)(s->planes * s->high * s->wide);
        struct planes p = planes_of(20 + 2 * (uint32_t)n, s->planes, s->height, s->width, s->rare);
        float *weights = random_floats(2, count), *bias = random_floats(3, (size_t)map_padded(s->out)),
              *dy = random_map(4, &out);
        struct answer plain = answer_of(ref, s, &p, weights, bias, dy, false),
                      plain_sites = answer_of(ref, s, &p, weights, bias, dy, true);
        compare("plain sites and plain planes", s, &plain, &plain_sites, 1e-5);
        FOR_EACH_TABLE(fast)
        {
            struct answer all = answer_of(fast, s, &p, weights, bias, dy, false),
                          few = answer_of(fast, s, &p, weights, bias, dy, true);
            compare("fast and plain sites", s, &plain_sites, &few, 1e-5);
            compare("fast sites and fast planes", s, &all, &few, 0);
            answer_free(&all);
            answer_free(&few);
        }
        answer_free(&plain);
        answer_free(&plain_sites);
        planes_free(&p);
        free(weights);
        free(bias);
        free(dy);
    }
}

static void fast_sums_of_rows_are_the_plain_ones(void **state)
{
    enum { ROWS = 70 };
    FOR_EACH_TABLE(fast)
    for (int n = 0; n < 12; n++) {
        int blocks = 1 + n % 3, count = n / 3 * 20, block = MAP_LANES * (1 + n % 2);
        float *rows = random_floats(1, (size_t)(ROWS * 3 * 2 * MAP_LANES)), *start = random_floats(2, 3 * MAP_LANES);
        float y[2][3 * 2 * MAP_LANES] = {0};
        const float *from[ROWS];
        for (int i = 0; i < count; i++)
            from[i] = rows + (ptrdiff_t)(i * 37 % ROWS) * blocks * block;
        for (int k = 0; k < 2; k++) {
            struct sum_rows_call call = {blocks, count, from, block, 2 * MAP_LANES, n % 4 ? start : NULL, y[k]};
            (k ? fast : ref)->sum_rows(&call);
        }
        assert_memory_equal(y[0], y[1], sizeof y[0]);
        free(rows);
        free(start);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_planar_conv_matches_ref),
        cmocka_unit_test(sites_give_the_sums_of_all_positions),
        cmocka_unit_test(fast_sums_of_rows_are_the_plain_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
