/* Tests convolutions. Compares every vector table with the reference table, and the reference table with plain sums. */
#include "tests/unit/core/kernels/kernel_check.h"

struct shape {
    int in, out, kernel_h, kernel_w, height, width, dilation;
};

static const struct shape shapes[] = {
    {16, 16, 3, 3, 7, 100, 1},  {32, 32, 3, 3, 5, 13, 1},  {48, 64, 3, 3, 4, 12, 1},   {64, 48, 3, 3, 3, 11, 1},
    {10, 16, 3, 3, 9, 1, 1},    {16, 10, 1, 1, 6, 100, 1}, {80, 80, 1, 3, 1, 100, 1},  {64, 64, 1, 3, 1, 2, 1},
    {80, 16, 1, 1, 1, 29, 1},   {64, 10, 1, 1, 4, 57, 1},  {16, 16, 3, 3, 1, 1, 1},    {16, 48, 3, 3, 20, 2, 1},
    {32, 32, 1, 1, 2, 28, 1},   {1, 1, 3, 3, 3, 3, 1},     {16, 80, 3, 3, 17, 43, 1},  {64, 64, 3, 3, 26, 50, 1},
    {32, 16, 3, 3, 50, 100, 1}, {16, 32, 3, 3, 5, 5, 1},   {80, 80, 3, 3, 6, 9, 1},    {16, 16, 3, 3, 2, 100, 1},
    {32, 32, 1, 11, 1, 90, 1},  {32, 32, 1, 11, 1, 61, 4}, {16, 48, 1, 21, 1, 45, 10}, {20, 3, 1, 41, 1, 130, 25},
    {32, 16, 1, 3, 1, 30, 7},   {80, 32, 1, 5, 1, 1, 2},   {24, 24, 3, 3, 9, 61, 1},   {24, 40, 3, 3, 6, 10, 1},
    {40, 24, 3, 3, 13, 7, 1},   {5, 20, 3, 3, 5, 58, 1},   {96, 96, 3, 3, 5, 22, 1},   {104, 152, 3, 3, 6, 15, 1},
    {152, 24, 3, 3, 4, 9, 1},
};

static struct map_shape map_of(const struct shape *s, int channels)
{
    int reach = s->kernel_w / 2 * s->dilation;
    struct map_shape m = {1, channels, s->height, s->width, s->kernel_h / 2 | (s->height > 1), reach > 1 ? reach : 1};
    return m;
}

static size_t weight_count(const struct shape *s)
{
    return (size_t)s->out * (size_t)s->in * (size_t)(s->kernel_h * s->kernel_w);
}

static float *packed_weights(const struct shape *s, const float *w, bool transposed)
{
    float *p = malloc(conv_packed_size(s->out, s->in, s->kernel_h, s->kernel_w) * sizeof *p);
    (transposed ? conv_pack_transposed_blocks : conv_pack_blocks)(w, s->out, s->in, s->kernel_h, s->kernel_w, 0,
                                                                  map_blocks(transposed ? s->in : s->out), p);
    return p;
}

static float *padded(uint32_t stream, int channels)
{
    float *b = random_floats(stream, (size_t)map_padded(channels));
    for (int c = channels; c < map_padded(channels); c++)
        b[c] = 0;
    return b;
}

/* Computes one output element from planar input and weights in PyTorch's shape. */
static double by_hand(const struct shape *s, const float *planar, const float *w, int o, int y, int x)
{
    double sum = 0;
    for (int i = 0; i < s->in; i++)
        for (int ky = 0; ky < s->kernel_h; ky++)
            for (int kx = 0; kx < s->kernel_w; kx++) {
                int yy = y + ky - s->kernel_h / 2, xx = x + (kx - s->kernel_w / 2) * s->dilation;
                if (yy >= 0 && yy < s->height && xx >= 0 && xx < s->width)
                    sum += (double)planar[(i * s->height + yy) * s->width + xx] *
                           (double)w[((o * s->in + i) * s->kernel_h + ky) * s->kernel_w + kx];
            }
    return sum;
}

static void ref_conv_equals_plain_sum(void **state)
{
    for (size_t n = 0; n < COUNT(shapes); n++) {
        const struct shape *s = &shapes[n];
        struct map_shape in = map_of(s, s->in), out = map_of(s, s->out);
        float *planar = random_floats(1, (size_t)(s->in * s->height * s->width)),
              *w = random_floats(2, weight_count(s));
        float *x = empty_map(&in), *y = empty_map(&out), *p = packed_weights(s, w, false);
        map_from_planar(&in, planar, x, 0);
        struct conv_call call = {map_blocks(s->in),
                                 map_blocks(s->out),
                                 s->kernel_h,
                                 s->kernel_w,
                                 s->height,
                                 s->width,
                                 map_strip_at(&in, x, 0, 0),
                                 map_strip_at(&out, y, 0, 0),
                                 {NULL, 0, 0},
                                 p,
                                 NULL,
                                 NULL,
                                 {0},
                                 s->dilation,
                                 map_lanes(s->in),
                                 map_lanes(s->out),
                                 NULL};
        ref->conv_forward(&call);
        for (int o = 0; o < s->out; o += 3)
            for (int yy = 0; yy < s->height; yy += 2)
                for (int xx = 0; xx < s->width; xx++) {
                    float got = y[map_offset(&out, 0, o / 16, yy, xx) + o % 16];
                    assert_true(fabs((double)got - by_hand(s, planar, w, o, yy, xx)) < 1e-4);
                }
        free(planar);
        free(w);
        free(x);
        free(y);
        free(p);
    }
}

/* Returns the weights of a 3x3 kernel in the form that conv_forward() reads, transformed in two calls; NULL for other
 * kernels. */
static float *transformed_weights(const struct kernels *fast, const struct conv_call *call)
{
    if (call->kernel_h != 3 || call->kernel_w != 3)
        return NULL;
    float *to = malloc((size_t)(call->out_blocks * call->in_blocks) * CONV_TRANSFORMED * sizeof *to);
    fast->conv_transform(call, 0, call->out_blocks / 2, to);
    fast->conv_transform(call, call->out_blocks / 2, call->out_blocks - call->out_blocks / 2, to);
    return to;
}

static void forward_matches(const struct kernels *fast, const struct shape *s, bool transposed)
{
    struct map_shape in = map_of(s, transposed ? s->out : s->in), out = map_of(s, transposed ? s->in : s->out);
    float *w = random_floats(2, weight_count(s)), *p = packed_weights(s, w, transposed), *x = random_map(3, &in);
    float *bias = padded(4, out.channels), *add = random_map(5, &out), *y[2] = {empty_map(&out), empty_map(&out)};
    size_t c = (size_t)map_padded(out.channels);
    double *moments[2] = {malloc(2 * c * sizeof(double)), malloc(2 * c * sizeof(double))};
    /* each bit of `variant` selects an option: add, bias, in_lanes and out_lanes, transformed weights */
    for (int variant = 0; variant < 16; variant++) {
        int lanes = variant & 4 ? 1 : 0;
        for (int k = 0; k < 2; k++) {
            struct conv_call call = {map_blocks(in.channels),
                                     map_blocks(out.channels),
                                     s->kernel_h,
                                     s->kernel_w,
                                     s->height,
                                     s->width,
                                     map_strip_at(&in, x, 0, 0),
                                     map_strip_at(&out, y[k], 0, 0),
                                     map_strip_at(&out, add, 0, 0),
                                     p,
                                     variant & 2 ? bias : NULL,
                                     moments[k],
                                     {0},
                                     s->dilation,
                                     lanes * map_lanes(in.channels),
                                     lanes * map_lanes(out.channels),
                                     NULL};
            if (!(variant & 1))
                call.add.at = NULL;
            float *transformed = variant & 8 && k ? transformed_weights(fast, &call) : NULL;
            call.transformed = transformed;
            (k ? fast : ref)->conv_forward(&call);
            free(transformed);
        }
        /* the size includes the halo, which both tables must leave zero */
        CHECK_CLOSE("conv_forward", fast, y[0], y[1], map_size(&out));
        assert_true(distance_double(moments[0], moments[1], c) < 1e-5);
        assert_true(distance_double(moments[0] + c, moments[1] + c, c) < 1e-5);
    }
    for (int k = 0; k < 2; k++) {
        free(y[k]);
        free(moments[k]);
    }
    free(w);
    free(p);
    free(x);
    free(bias);
    free(add);
}

static void fast_conv_matches_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(shapes); n++) {
        forward_matches(fast, &shapes[n], false);
        forward_matches(fast, &shapes[n], true);
    }
}

/* The convolution and its two gradients must agree: <conv(x), dy> = <x, conv_transposed(dy)> = <w, gradient(x, dy)>,
 * where <a, b> is the sum of the products of all elements. */
static void conv_passes_are_adjoint(void **state)
{
    for (size_t n = 0; n < COUNT(shapes); n++) {
        const struct shape *s = &shapes[n];
        struct map_shape in = map_of(s, s->in), out = map_of(s, s->out);
        size_t packed = conv_packed_size(s->out, s->in, s->kernel_h, s->kernel_w);
        float *w = random_floats(2, weight_count(s)), *p = packed_weights(s, w, false),
              *pt = packed_weights(s, w, true);
        float *x = random_map(3, &in), *dy = random_map(4, &out), *y = empty_map(&out), *dx = empty_map(&in);
        float *dp = calloc(packed, sizeof *dp), *dw = calloc(weight_count(s), sizeof *dw);
        struct map_strip xs = map_strip_at(&in, x, 0, 0), dys = map_strip_at(&out, dy, 0, 0), none = {NULL, 0, 0};
        struct map_strip ys = map_strip_at(&out, y, 0, 0), dxs = map_strip_at(&in, dx, 0, 0);
        int ib = map_blocks(s->in), ob = map_blocks(s->out);
        struct conv_call forward = {ib, ob,   s->kernel_h, s->kernel_w, s->height,   s->width, xs, ys,  none,
                                    p,  NULL, NULL,        {0},         s->dilation, 0,        0,  NULL};
        struct conv_call back = {ob, ib,   s->kernel_h, s->kernel_w, s->height,   s->width, dys, dxs, none,
                                 pt, NULL, NULL,        {0},         s->dilation, 0,        0,   NULL};
        struct conv_gradient_call gradient = {ib,  ob, s->kernel_h, s->kernel_w, s->height,   s->width, xs,
                                              dys, dp, NULL,        {0},         s->dilation, 0,        0};
        double a = 0, b = 0, g = 0;
        ref->conv_forward(&forward);
        ref->conv_forward(&back);
        ref->conv_gradient(&gradient);
        conv_unpack_add_parts(dp, 1, packed, s->out, s->in, s->kernel_h, s->kernel_w, 0,
                              conv_unpack_parts(s->out, s->in), dw);
        for (size_t i = 0; i < map_size(&out); i++)
            a += (double)y[i] * (double)dy[i];
        for (size_t i = 0; i < map_size(&in); i++)
            b += (double)x[i] * (double)dx[i];
        for (size_t i = 0; i < weight_count(s); i++)
            g += (double)w[i] * (double)dw[i];
        assert_true(fabs(a - b) < 1e-3 * (1 + fabs(a)));
        assert_true(fabs(a - g) < 1e-3 * (1 + fabs(a)));
        free(w);
        free(p);
        free(pt);
        free(x);
        free(dy);
        free(y);
        free(dx);
        free(dp);
        free(dw);
    }
}

static void fast_conv_gradient_matches_ref(void **state)
{
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(shapes); n++) {
        const struct shape *s = &shapes[n];
        struct map_shape in = map_of(s, s->in), out = map_of(s, s->out);
        size_t packed = conv_packed_size(s->out, s->in, s->kernel_h, s->kernel_w), c = (size_t)map_padded(s->out);
        float *x = random_map(3, &in), *dy = random_map(4, &out), *start = random_floats(5, packed);
        float *dw[3], *db[3];
        for (int k = 0; k < 3; k++) { /* k = 0: reference; 1: fast; 2: fast, with in_lanes and out_lanes */
            dw[k] = copy_floats(start, packed);
            db[k] = copy_floats(start, c);
            struct conv_gradient_call call = {map_blocks(s->in),
                                              map_blocks(s->out),
                                              s->kernel_h,
                                              s->kernel_w,
                                              s->height,
                                              s->width,
                                              map_strip_at(&in, x, 0, 0),
                                              map_strip_at(&out, dy, 0, 0),
                                              dw[k],
                                              db[k],
                                              {0},
                                              s->dilation,
                                              k == 2 ? map_lanes(s->in) : 0,
                                              k == 2 ? map_lanes(s->out) : 0};
            (k ? fast : ref)->conv_gradient(&call);
        }
        for (int k = 1; k < 3; k++) {
            CHECK_CLOSE("conv_gradient weights", fast, dw[0], dw[k], packed);
            CHECK_CLOSE("conv_gradient bias", fast, db[0], db[k], c);
        }
        /* dw[2] was computed with in_lanes and out_lanes, dw[1] without: the sums have the same order, so equal bits */
        if (s->kernel_h == 3)
            assert_memory_equal(dw[1], dw[2], packed * sizeof *dw[1]);
        for (int k = 0; k < 3; k++) {
            free(dw[k]);
            free(db[k]);
        }
        free(x);
        free(dy);
        free(start);
    }
}

/* Tests convolutions that normalise their input, on strips at both ends of the image, in its middle, and on the whole
 * image. Compares the reference table with a convolution of a map that was normalised first. */
static void normed_strip(const struct kernels *fast, const struct shape *s, int first, int rows)
{
    struct map_shape in = map_of(s, s->in), out = map_of(s, s->out);
    size_t packed = conv_packed_size(s->out, s->in, 3, 3);
    float *w = random_floats(2, weight_count(s)), *p = packed_weights(s, w, false), *x = random_map(3, &in),
          *z = empty_map(&in);
    float *scale = padded(6, s->in), *shift = padded(7, s->in), *dy = random_map(4, &out), *y[3], *dw[3];
    struct affine_call affine = {map_blocks(s->in),          s->height, s->width, true, map_strip_at(&in, x, 0, 0),
                                 map_strip_at(&in, z, 0, 0), scale,     shift};
    ref->map_affine(&affine);
    for (int k = 0; k < 3; k++) { /* k = 0: reference on the normalised map; 1: reference; 2: fast */
        const struct kernels *table = k < 2 ? ref : fast;
        struct conv_norm norm = {k ? scale : NULL, shift, first > 0, first + rows < s->height};
        struct map_strip from = map_strip_at(&in, k ? x : z, 0, first);
        y[k] = empty_map(&out);
        dw[k] = random_floats(5, packed);
        struct conv_call forward = {map_blocks(s->in),
                                    map_blocks(s->out),
                                    3,
                                    3,
                                    rows,
                                    s->width,
                                    from,
                                    map_strip_at(&out, y[k], 0, first),
                                    {NULL, 0, 0},
                                    p,
                                    NULL,
                                    NULL,
                                    norm,
                                    0,
                                    map_lanes(s->in),
                                    map_lanes(s->out),
                                    NULL};
        struct conv_gradient_call gradient = {map_blocks(s->in),
                                              map_blocks(s->out),
                                              3,
                                              3,
                                              rows,
                                              s->width,
                                              from,
                                              map_strip_at(&out, dy, 0, first),
                                              dw[k],
                                              NULL,
                                              norm,
                                              0,
                                              map_lanes(s->in),
                                              map_lanes(s->out)};
        table->conv_forward(&forward);
        table->conv_gradient(&gradient);
    }
    for (int k = 1; k < 3; k++) {
        CHECK_CLOSE("conv_forward behind a norm", k == 1 ? ref : fast, y[0], y[k], map_size(&out));
        CHECK_CLOSE("conv_gradient behind a norm", k == 1 ? ref : fast, dw[0], dw[k], packed);
    }
    for (int k = 0; k < 3; k++) {
        free(y[k]);
        free(dw[k]);
    }
    free(w);
    free(p);
    free(x);
    free(z);
    free(scale);
    free(shift);
    free(dy);
}

static void conv_normalises_its_input(void **state)
{
    FOR_EACH_TABLE(fast)
    for (size_t n = 0; n < COUNT(shapes); n++) {
        const struct shape *s = &shapes[n];
        if (s->kernel_h != 3)
            continue;
        normed_strip(fast, s, 0, s->height);
        if (s->height > 2)
            normed_strip(fast, s, 1, s->height - 2);
        if (s->height > 1) {
            normed_strip(fast, s, 0, s->height - 1);
            normed_strip(fast, s, s->height - 1, 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ref_conv_equals_plain_sum), cmocka_unit_test(fast_conv_matches_ref),
        cmocka_unit_test(conv_passes_are_adjoint),   cmocka_unit_test(fast_conv_gradient_matches_ref),
        cmocka_unit_test(conv_normalises_its_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
