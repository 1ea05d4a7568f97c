/* Compares operations on maps with central differences. The sizes are irregular: channels that are not a multiple of
 * 16, odd image sizes, windows that leave a border, a single image. */
#include "tests/unit/core/gradient.h"

#include <math.h>

#include "tests/support/unit.h"

#define TOLERANCE 1e-6

struct map_case {
    struct map_shape in;
    int out, kh, kw; /* convolution */
    bool residual, bias, relu, affine, hold;
    int ph, pw, dilation;
    struct weight *w, *b;
    struct batch_norm norm;
    const real *planes;
    const real *t;
};

/* --- convolution -------------------------------------------------------------------------------- */

static struct tensor *build_conv(struct probe *p, const void *context)
{
    const struct map_case *c = context;
    return op_conv(&p->exec, probe_input(p, 0), c->w, c->b, c->residual ? probe_input(p, 1) : NULL);
}

static void check_conv(struct map_case c)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    struct map_shape out = c.in;
    out.channels = c.out;
    probe_map(&p, &c.in, 1.0);
    if (c.residual)
        probe_map(&p, &out, 1.0);
    c.w = probe_weight(&p, 4, (int[]){c.out, c.in.channels, c.kh, c.kw}, 0.5);
    c.b = c.bias ? probe_vector(&p, c.out, 0.5) : NULL;
    probe_check(&p, build_conv, &c, TOLERANCE);
    probe_close(&p);
}

static void conv_gradients_match_differences(void **state)
{
    check_conv((struct map_case){.in = {2, 3, 5, 7, 1, 1}, .out = 4, .kh = 3, .kw = 3, .bias = true});
    check_conv(
        (struct map_case){.in = {1, 17, 4, 3, 1, 1}, .out = 18, .kh = 3, .kw = 3, .bias = true, .residual = true});
    check_conv((struct map_case){.in = {2, 16, 9, 1, 1, 1}, .out = 16, .kh = 3, .kw = 3});
    check_conv((struct map_case){.in = {3, 5, 6, 4, 1, 1}, .out = 20, .kh = 1, .kw = 1, .bias = true});
    check_conv(
        (struct map_case){.in = {2, 6, 1, 19, 0, 1}, .out = 6, .kh = 1, .kw = 3, .bias = true, .residual = true});
}

/* --- convolution along lines -------------------------------------------------------------------- */

static struct tensor *build_line(struct probe *p, const void *context)
{
    const struct map_case *c = context;
    return op_conv_line(&p->exec, probe_input(p, 0), c->w, c->b, c->dilation, c->residual ? probe_input(p, 1) : NULL);
}

static void check_line(struct map_case c)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    struct map_shape out = c.in;
    out.channels = c.out;
    probe_map(&p, &c.in, 1.0);
    if (c.residual)
        probe_map(&p, &out, 1.0);
    c.w = probe_weight(&p, 4, (int[]){c.out, c.in.channels, 1, c.kw}, 0.5);
    c.b = c.bias ? probe_vector(&p, c.out, 0.5) : NULL;
    probe_check(&p, build_line, &c, TOLERANCE);
    probe_close(&p);
}

/* Tests lines that are shorter than the span of the kernel, lines that are cut into many pieces, and lengths near the
 * largest length of a piece. */
static void line_conv_gradients_match_differences(void **state)
{
    static const struct map_case cases[] = {
        {.in = {2, 3, 1, 40, 0, 1}, .out = 4, .kw = 11, .dilation = 1, .bias = true},
        {.in = {2, 17, 1, 50, 0, 1}, .out = 17, .kw = 11, .dilation = 4, .bias = true, .residual = true},
        {.in = {1, 4, 1, 9, 0, 1}, .out = 18, .kw = 21, .dilation = 10},
        {.in = {1, 2, 1, 1700, 0, 1}, .out = 2, .kw = 5, .dilation = 25, .bias = true},
        {.in = {3, 5, 1, 769, 0, 1}, .out = 2, .kw = 3, .dilation = 1, .residual = true},
        {.in = {2, 6, 1, 12, 0, 1}, .out = 3, .kw = 1, .dilation = 1, .bias = true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_line(cases[i]);
}

/* For kernels of width 3 without dilation, op_conv_line() must equal op_conv(). */
static void line_conv_of_three_taps_equals_conv(void **state)
{
    struct probe p;
    struct map_case c = {.in = {2, 5, 1, 900, 0, 1}, .out = 7, .kh = 1, .kw = 3, .dilation = 1, .bias = true};
    probe_open(&p, 2, "ref");
    probe_map(&p, &c.in, 1.0);
    c.w = probe_weight(&p, 4, (int[]){c.out, c.in.channels, 1, 3}, 0.5);
    c.b = probe_vector(&p, c.out, 0.5);
    double line = probe_run(&p, build_line, &c);
    real kept[7 * 5 * 3];
    memcpy(kept, c.w->grad, sizeof kept);
    double plain = probe_run(&p, build_conv, &c);
    assert_true(fabs(line - plain) < 1e-9 * (1 + fabs(plain)));
    for (size_t i = 0; i < c.w->count; i++)
        assert_true(fabs(kept[i] - c.w->grad[i]) < 1e-9);
    probe_close(&p);
}

/* Builds the residual unit of a SpliceAI-style network. Its batch norm uses the moments that the convolution
 * computed. */
static struct tensor *build_line_unit(struct probe *p, const void *context)
{
    struct map_case *c = (struct map_case *)context;
    struct tensor *x = probe_input(p, 0);
    struct tensor *y = op_conv_line(&p->exec, x, c->w, c->b, c->dilation, NULL);
    return op_conv_line(&p->exec, op_batch_norm(&p->exec, y, &c->norm, true), c->w, c->b, c->dilation, y);
}

/* Builds a convolution of x whose residual is x too, so the gradients of both uses of x must be added. */
static struct tensor *build_conv_self(struct probe *p, const void *context)
{
    const struct map_case *c = context;
    struct tensor *x = probe_input(p, 0);
    return op_conv(&p->exec, x, c->w, c->b, x);
}

static void conv_adds_both_gradients_of_its_own_residual(void **state)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    struct map_case c = {.in = {2, 3, 5, 4, 1, 1}};
    probe_map(&p, &c.in, 1.0);
    c.w = probe_weight(&p, 4, (int[]){3, 3, 3, 3}, 0.5);
    c.b = probe_vector(&p, 3, 0.5);
    probe_check(&p, build_conv_self, &c, TOLERANCE);
    probe_close(&p);
}

static struct tensor *build_planar(struct probe *p, const void *context)
{
    const struct map_case *c = context;
    return op_conv_planar(&p->exec, c->planes, c->in.images, c->in.channels, c->in.height, c->in.width, c->in.halo_h,
                          c->w, c->b);
}

static void planar_conv_gradients_match_differences(void **state)
{
    for (int in = 1; in <= 4; in += 3) {
        struct probe p;
        probe_open(&p, 2, "ref");
        struct map_case c = {.in = {3, in, 6, 5, 1, 1}};
        real planes[3 * 4 * 6 * 5];
        probe_fill(&p, planes, sizeof(planes) / sizeof(planes[0]), 1.0);
        c.planes = planes;
        c.w = probe_weight(&p, 4, (int[]){19, in, 1, 1}, 0.5);
        c.b = probe_vector(&p, 19, 0.5);
        probe_check(&p, build_planar, &c, TOLERANCE);
        probe_close(&p);
    }
}

static void planar_conv_of_rare_values_has_the_gradients_of_differences(void **state)
{
    /* with one non-zero value in 7, op_conv_planar() uses the list of these values */
    for (int rare = 2; rare <= 7; rare += 5) {
        struct probe p;
        probe_open(&p, 2, "ref");
        struct map_case c = {.in = {3, 2, 6, 7, 1, 1}};
        real planes[3 * 2 * 6 * 7];
        probe_fill(&p, planes, sizeof(planes) / sizeof(planes[0]), 1.0);
        for (size_t i = 0; i < sizeof(planes) / sizeof(planes[0]); i++)
            if ((i * 5 + i / 11) % (size_t)rare != 0)
                planes[i] = 0;
        c.planes = planes;
        c.w = probe_weight(&p, 4, (int[]){19, 2, 3, 5}, 0.5);
        c.b = probe_vector(&p, 19, 0.5);
        probe_check(&p, build_planar, &c, TOLERANCE);
        probe_close(&p);
    }
}

/* --- batch norm --------------------------------------------------------------------------------- */

static struct tensor *build_norm(struct probe *p, const void *context)
{
    struct map_case *c = (struct map_case *)context;
    return op_batch_norm(&p->exec, probe_input(p, 0), &c->norm, c->relu);
}

static void open_norm(struct probe *p, struct map_case *c, int channels)
{
    c->norm = (struct batch_norm){.momentum = 0.1, .epsilon = 1e-5, .hold = c->hold};
    if (c->affine) {
        c->norm.gain = probe_vector(p, channels, 1.0);
        c->norm.bias = probe_vector(p, channels, 1.0);
    }
    c->norm.mean = probe_vector(p, channels, 0.3);
    c->norm.variance = probe_vector(p, channels, 0.5);
    for (int i = 0; i < channels; i++)
        c->norm.variance->value[i] += R(1.0);
    p->checked_count -= 2; /* running statistics have no gradient */
}

static void check_norm(struct map_case c)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    probe_map(&p, &c.in, 1.0);
    open_norm(&p, &c, c.in.channels);
    probe_check(&p, build_norm, &c, TOLERANCE);
    probe_close(&p);
}

static void batch_norm_gradients_match_differences(void **state)
{
    for (int flags = 0; flags < 8; flags++)
        check_norm(
            (struct map_case){.in = {2, 18, 5, 3, 1, 1}, .relu = flags & 1, .affine = flags & 2, .hold = flags & 4});
    check_norm((struct map_case){.in = {1, 3, 1, 11, 0, 1}, .relu = true, .affine = true});
}

/* Builds the residual unit: convolution, batch norm, convolution. The batch norm uses the moments that the first
 * convolution computed. The skip connection goes around the batch norm and the second convolution. */
static struct tensor *build_unit(struct probe *p, const void *context)
{
    struct map_case *c = (struct map_case *)context;
    struct tensor *x = probe_input(p, 0);
    struct tensor *y = op_conv(&p->exec, x, c->w, c->b, NULL);
    return op_conv(&p->exec, op_batch_norm(&p->exec, y, &c->norm, true), c->w, c->b, y);
}

static void residual_unit_gradients_match_differences(void **state)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    struct map_case c = {.in = {2, 5, 20, 6, 1, 1}, .affine = true};
    probe_map(&p, &c.in, 1.0);
    c.w = probe_weight(&p, 4, (int[]){5, 5, 3, 3}, 0.3);
    c.b = probe_vector(&p, 5, 0.5);
    open_norm(&p, &c, 5);
    probe_check(&p, build_unit, &c, TOLERANCE);
    probe_close(&p);
}

static void dilated_unit_gradients_match_differences(void **state)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    struct map_case c = {.in = {3, 5, 1, 60, 0, 1}, .dilation = 4, .affine = true};
    probe_map(&p, &c.in, 1.0);
    c.w = probe_weight(&p, 4, (int[]){5, 5, 1, 11}, 0.3);
    c.b = probe_vector(&p, 5, 0.5);
    open_norm(&p, &c, 5);
    probe_check(&p, build_line_unit, &c, TOLERANCE);
    probe_close(&p);
}

/* op_norm_conv() does not store the normalised map, except with 66 channels or a 1x1 kernel. */
static struct tensor *build_norm_conv(struct probe *p, const void *context)
{
    struct map_case *c = (struct map_case *)context;
    struct tensor *x = probe_input(p, 0);
    return op_norm_conv(&p->exec, x, &c->norm, c->w, c->b, c->residual ? x : NULL);
}

static void norm_conv_gradients_match_differences(void **state)
{
    static const struct map_case cases[] = {
        {.in = {2, 5, 20, 6, 1, 1}, .out = 5, .kh = 3, .kw = 3, .affine = true, .residual = true},
        {.in = {1, 3, 9, 1, 1, 1}, .out = 18, .kh = 3, .kw = 3},
        {.in = {2, 4, 5, 3, 1, 1}, .out = 3, .kh = 3, .kw = 3, .affine = true, .hold = true},
        {.in = {2, 66, 3, 2, 1, 1}, .out = 2, .kh = 3, .kw = 3, .affine = true},
        {.in = {2, 5, 6, 4, 1, 1}, .out = 4, .kh = 1, .kw = 1, .affine = true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct probe p;
        struct map_case c = cases[i];
        probe_open(&p, 2, "ref");
        probe_map(&p, &c.in, 1.0);
        c.w = probe_weight(&p, 4, (int[]){c.out, c.in.channels, c.kh, c.kw}, 0.3);
        c.b = probe_vector(&p, c.out, 0.5);
        open_norm(&p, &c, c.in.channels);
        probe_check(&p, build_norm_conv, &c, TOLERANCE);
        probe_close(&p);
    }
}

/* Builds a batch norm and two operations that read its result. In the backward pass, the convolution is the first to
 * write the gradient of this result, and the other operation must add its own. */
static struct tensor *build_two_readers(struct probe *p, const void *context)
{
    struct map_case *c = (struct map_case *)context;
    struct tensor *y = op_batch_norm(&p->exec, probe_input(p, 0), &c->norm, true);
    struct tensor *half = op_scale(&p->exec, y, 0.5);
    return op_conv(&p->exec, y, c->w, c->b, c->residual ? y : half);
}

static void batch_norm_with_two_readers_sums_the_whole_gradient(void **state)
{
    for (int residual = 0; residual < 2; residual++) {
        struct probe p;
        probe_open(&p, 2, "ref");
        struct map_case c = {.in = {2, 5, 20, 6, 1, 1}, .affine = true, .residual = residual};
        probe_map(&p, &c.in, 1.0);
        c.w = probe_weight(&p, 4, (int[]){5, 5, 3, 3}, 0.3);
        c.b = probe_vector(&p, 5, 0.5);
        open_norm(&p, &c, 5);
        probe_check(&p, build_two_readers, &c, TOLERANCE);
        probe_close(&p);
    }
}

/* In training, the running mean and variance move a tenth of the way towards those of the batch. The variance of the
 * batch is the unbiased one, n / (n - 1) times the biased one. In evaluation, or with `hold`, the running values do not
 * move. */
static void batch_norm_moves_running_statistics_in_training_only(void **state)
{
    struct probe p;
    probe_open(&p, 1, "ref");
    struct map_case c = {.in = {1, 1, 1, 4, 0, 1}};
    probe_map(&p, &c.in, 1.0);
    /* the values have the mean 1.5, the biased variance 1.25 and the unbiased variance 5/3 */
    for (int i = 0; i < 4; i++)
        p.inputs[0].value[i] = (real)i;
    open_norm(&p, &c, 1);
    c.norm.mean->value[0] = R(1.0);
    c.norm.variance->value[0] = R(2.0);
    exec_begin(&p.exec, true, 0);
    assert_non_null(build_norm(&p, &c));
    assert_float_equal((float)c.norm.mean->value[0], 1.05f, 1e-6f);
    assert_float_equal((float)c.norm.variance->value[0], 1.8f + 0.1f * 5.0f / 3.0f, 1e-6f);
    real mean = c.norm.mean->value[0];
    exec_begin(&p.exec, false, 0);
    struct tensor *y = build_norm(&p, &c);
    assert_non_null(y);
    assert_true(c.norm.mean->value[0] == mean);
    real planes[4];
    tensor_to_planes(y, planes);
    assert_float_equal((float)planes[3], (3.0f - 1.05f) / sqrtf(1.8f + 0.5f / 3.0f + 1e-5f), 1e-6f);
    c.norm.hold = true;
    exec_begin(&p.exec, true, 0);
    assert_non_null(build_norm(&p, &c));
    assert_true(c.norm.mean->value[0] == mean);
    probe_close(&p);
}

/* --- pointwise operations ----------------------------------------------------------------------- */

static struct tensor *build_threshold(struct probe *p, const void *context)
{
    const struct map_case *c = context;
    return op_threshold(&p->exec, probe_input(p, 0), c->t, c->relu);
}

static struct tensor *build_points(struct probe *p, const void *context)
{
    struct tensor *x = probe_input(p, 0);
    struct tensor *y = op_add(&p->exec, op_relu(&p->exec, x), op_sigmoid(&p->exec, x));
    return op_scale(&p->exec, op_residual(&p->exec, x, y, 0.3), 1.7);
}

static struct tensor *build_loss(struct probe *p, const void *context)
{
    struct tensor *x = op_sigmoid(&p->exec, probe_input(p, 0));
    return op_add(&p->exec, op_mean(&p->exec, x), op_scale(&p->exec, op_mean(&p->exec, op_relu(&p->exec, x)), 25.0));
}

static void pointwise_gradients_match_differences(void **state)
{
    static const real t[21] = {R(0.5), R(-0.5), R(0.1)};
    for (int relu = 0; relu < 2; relu++) {
        struct probe p;
        probe_open(&p, 2, "ref");
        struct map_case c = {.in = {2, 21, 4, 5, 1, 1}, .t = t, .relu = relu};
        probe_map(&p, &c.in, 1.0);
        probe_check(&p, build_threshold, &c, TOLERANCE);
        probe_check(&p, build_points, &c, TOLERANCE);
        probe_check(&p, build_loss, &c, TOLERANCE);
        probe_close(&p);
    }
}

static void threshold_keeps_values_above_it(void **state)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    struct map_shape s = {1, 2, 1, 3, 1, 1};
    probe_map(&p, &s, 1.0);
    const real values[6] = {R(1.0), R(0.5), R(0.25), R(-1.0), R(2.0), R(0.0)}, t[2] = {R(0.5), R(-0.5)};
    memcpy(p.inputs[0].value, values, sizeof(values));
    exec_begin(&p.exec, true, 0);
    struct tensor *y = op_threshold(&p.exec, probe_input(&p, 0), t, true);
    real planes[6];
    tensor_to_planes(y, planes);
    const real wanted[6] = {R(0.5), R(0.0), R(0.0), R(0.0), R(2.5), R(0.5)};
    assert_memory_equal(planes, wanted, sizeof(wanted));
    probe_close(&p);
}

/* --- pooling ------------------------------------------------------------------------------------ */

static struct tensor *build_max_pool_rows(struct probe *p, const void *context)
{
    const struct map_case *c = context;
    return op_max_pool_rows(&p->exec, probe_input(p, 0), c->ph, c->pw);
}

static struct tensor *build_embed(struct probe *p, const void *context)
{
    const struct map_case *c = context;
    return op_embed_max_pool(&p->exec, probe_input(p, 0), c->w, c->b, c->ph, c->pw);
}

/* Builds a convolution, max pooling, and the conversion of the map to rows. Half of the motif map is zero. */
static struct tensor *build_composed(struct probe *p, const void *context)
{
    const struct map_case *c = context;
    return op_max_pool_rows(&p->exec, op_conv(&p->exec, probe_input(p, 0), c->w, c->b, NULL), c->ph, c->pw);
}

/* Creates a sparse map: one element in `stride` is active, and one image has none. */
static struct tensor *sparse_map(struct probe *p, const struct map_shape *shape, int stride)
{
    static real planes[4096];
    size_t image = (size_t)shape->channels * (size_t)shape->height * (size_t)shape->width;
    for (size_t i = 0; i < image * (size_t)shape->images; i++)
        planes[i] = i >= image && i % (size_t)stride == 0 ? R(1.0) : R(0.0);
    return tensor_from_planes(&p->exec, planes, shape, false);
}

static struct tensor *build_gather(struct probe *p, const void *context)
{
    const struct map_case *c = context;
    struct active_sites *active = op_active_sites(&p->exec, sparse_map(p, &c->in, 23), c->ph, c->pw);
    struct tensor *x = probe_input(p, 0);
    /* two operations gather from one map, so the second gradient is added to the first */
    return op_add(&p->exec, op_gather_sites(&p->exec, x, active), op_gather_sites(&p->exec, x, active));
}

static void gathered_rows_are_the_active_sites(void **state)
{
    const struct map_case c = {.in = {3, 5, 9, 7, 1, 1}, .ph = 2, .pw = 3};
    struct probe p;
    probe_open(&p, 2, "ref");
    const int sites = 4 * 2, cols = 3;
    probe_rows(&p, c.in.images * sites, cols, 1.0);
    probe_check(&p, build_gather, &c, TOLERANCE);

    exec_begin(&p.exec, true, 0);
    struct tensor *motifs = sparse_map(&p, &c.in, 23);
    struct active_sites *active = op_active_sites(&p.exec, motifs, c.ph, c.pw);
    struct tensor *x = probe_input(&p, 0), *y = op_gather_sites(&p.exec, x, active);
    assert_non_null(y);
    assert_int_equal(active->sites, sites);
    assert_int_equal(active->lengths[0], 1); /* if an image has no active site, its first site is listed */
    assert_int_equal(active->index[0], 0);
    int most = 0;
    for (int n = 0; n < c.in.images; n++) {
        int count = 0;
        for (int site = 0; site < sites; site++) {
            bool any = false;
            for (int ch = 0; ch < c.in.channels; ch++)
                for (int k = 0; k < c.ph * c.pw; k++) {
                    int row = site / 2 * c.ph + k / c.pw, col = site % 2 * c.pw + k % c.pw;
                    any |= motifs->data[map_offset(&c.in, n, 0, row, col) + ch] > 0;
                }
            if (!any && !(n == 0 && site == 0))
                continue;
            assert_true(count < active->lengths[n]);
            assert_int_equal(active->index[n * sites + count], site);
            for (int j = 0; j < cols; j++)
                assert_true(y->data[(n * active->capacity + count) * cols + j] ==
                            x->data[(n * sites + site) * cols + j]);
            count++;
        }
        assert_int_equal(count, active->lengths[n]);
        most = count > most ? count : most;
        for (int i = count * cols; i < active->capacity * cols; i++)
            assert_true(y->data[n * active->capacity * cols + i] == 0);
    }
    assert_int_equal(active->capacity, most);
    assert_true(most > 1 && most < sites);
    probe_close(&p);
}

static struct tensor *build_rows(struct probe *p, const void *context)
{
    struct tensor *x = probe_input(p, 0);
    return op_map_rows(&p->exec, op_conv(&p->exec, x, ((const struct map_case *)context)->w, NULL, x));
}

static void max_pool_gradients_match_differences(void **state)
{
    static const struct map_case cases[] = {
        {.in = {2, 18, 9, 7, 1, 1}, .ph = 2, .pw = 3},
        {.in = {1, 3, 5, 5, 1, 1}, .ph = 5, .pw = 5},
        {.in = {3, 16, 1, 10, 0, 1}, .ph = 1, .pw = 4},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct probe p;
        probe_open(&p, 2, "ref");
        probe_map(&p, &cases[i].in, 1.0);
        probe_check(&p, build_max_pool_rows, &cases[i], TOLERANCE);
        probe_close(&p);
    }
}

static void map_rows_gradients_match_differences(void **state)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    struct map_case c = {.in = {2, 5, 3, 4, 1, 1}};
    probe_map(&p, &c.in, 1.0);
    c.w = probe_weight(&p, 4, (int[]){5, 5, 1, 1}, 0.5);
    probe_check(&p, build_rows, &c, TOLERANCE);
    probe_close(&p);
}

static void embed_max_pool_gradients_match_differences(void **state)
{
    static const struct map_case cases[] = {
        {.in = {2, 10, 9, 7, 1, 1}, .ph = 3, .pw = 3, .out = 21},
        {.in = {1, 18, 4, 5, 1, 1}, .ph = 2, .pw = 2, .out = 16},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct probe p;
        probe_open(&p, 2, "ref");
        struct map_case c = cases[i];
        probe_map(&p, &c.in, 1.0);
        c.w = probe_weight(&p, 4, (int[]){c.out, c.in.channels, 1, 1}, 0.5);
        c.b = probe_vector(&p, c.out, 0.5);
        probe_check(&p, build_embed, &c, TOLERANCE);
        double composed = probe_run(&p, build_composed, &c), fused = probe_run(&p, build_embed, &c);
        assert_true(fabs(composed - fused) <= 1e-12 * (1.0 + fabs(composed)));
        probe_close(&p);
    }
}

/* Most pixels of this map are zero in all channels. The operation that fuses embedding and max pooling must have the
 * gradients of the two separate operations. If several values are the largest of a window, the first one in scan order
 * gets the gradient. */
static void embed_max_pool_of_sparse_map_equals_conv_then_max_pool(void **state)
{
    struct probe p;
    probe_open(&p, 2, "ref");
    struct map_case c = {.in = {2, 10, 8, 8, 1, 1}, .ph = 4, .pw = 4, .out = 24};
    probe_map(&p, &c.in, 1.0);
    for (size_t i = 0; i < p.inputs[0].count; i++)
        if (i % 23 != 0)
            p.inputs[0].value[i] = R(0.0);
    c.w = probe_weight(&p, 4, (int[]){24, 10, 1, 1}, 0.5);
    c.b = probe_vector(&p, 24, 0.5);
    probe_run(&p, build_composed, &c);
    size_t count = p.inputs[0].count;
    real *dx = malloc(count * sizeof(real)), dw[240], db[24];
    memcpy(dx, p.inputs[0].grad, count * sizeof(real));
    memcpy(dw, c.w->grad, sizeof(dw));
    memcpy(db, c.b->grad, sizeof(db));
    probe_run(&p, build_embed, &c);
    for (size_t i = 0; i < count; i++)
        assert_true(fabs((double)(dx[i] - p.inputs[0].grad[i])) < 1e-12);
    for (int i = 0; i < 240; i++)
        assert_true(fabs((double)(dw[i] - c.w->grad[i])) < 1e-12);
    for (int i = 0; i < 24; i++)
        assert_true(fabs((double)(db[i] - c.b->grad[i])) < 1e-12);
    free(dx);
    probe_close(&p);
}

/* --- failures ----------------------------------------------------------------------------------- */

static void wrong_shapes_of_maps_are_refused(void **state)
{
    struct probe p;
    struct error err = {0};
    probe_open(&p, 1, "ref");
    struct map_shape s = {1, 3, 4, 4, 1, 1};
    probe_map(&p, &s, 1.0);
    struct weight *w = probe_weight(&p, 4, (int[]){3, 4, 3, 3}, 1.0);
    exec_begin(&p.exec, true, 0);
    struct tensor *y = op_conv(&p.exec, probe_input(&p, 0), w, NULL, NULL);
    assert_null(y);
    assert_null(op_relu(&p.exec, y));
    assert_int_equal(exec_status(&p.exec, &err), STATUS_INTERNAL);
    assert_string_equal(err.message, "convolution: shapes do not fit");
    exec_begin(&p.exec, true, 0);
    assert_int_equal(exec_status(&p.exec, NULL), STATUS_OK);
    assert_null(op_max_pool_rows(&p.exec, probe_input(&p, 0), 5, 1));
    assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
    probe_close(&p);
}

/* An arena that is too small fails the step at some allocation; the next step with enough memory succeeds. */
static void full_arena_fails_the_step_and_the_next_one_succeeds(void **state)
{
    struct probe p;
    probe_open(&p, 1, "ref");
    struct map_case c = {.in = {2, 5, 20, 6, 1, 1}, .affine = true};
    probe_map(&p, &c.in, 1.0);
    c.w = probe_weight(&p, 4, (int[]){5, 5, 3, 3}, 0.3);
    c.b = probe_vector(&p, 5, 0.5);
    open_norm(&p, &c, 5);
    int failures = 0;
    for (size_t limit = 4096; limit < (1 << 19); limit += 8192) {
        struct error err = {0};
        arena_close(&p.arena);
        arena_init(&p.arena, 1024, limit);
        exec_begin(&p.exec, true, 0);
        struct tensor *out = build_unit(&p, &c);
        enum status status = tape_backward(&p.exec, out, NULL, &err);
        assert_true(status == STATUS_OK || status == STATUS_NO_MEMORY);
        failures += status == STATUS_NO_MEMORY;
    }
    assert_true(failures > 5);
    arena_close(&p.arena);
    arena_init(&p.arena, 1024, 0);
    probe_check(&p, build_unit, &c, TOLERANCE);
    probe_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_gradients_match_differences),
        cmocka_unit_test(conv_adds_both_gradients_of_its_own_residual),
        cmocka_unit_test(line_conv_gradients_match_differences),
        cmocka_unit_test(line_conv_of_three_taps_equals_conv),
        cmocka_unit_test(dilated_unit_gradients_match_differences),
        cmocka_unit_test(planar_conv_gradients_match_differences),
        cmocka_unit_test(planar_conv_of_rare_values_has_the_gradients_of_differences),
        cmocka_unit_test(batch_norm_gradients_match_differences),
        cmocka_unit_test(residual_unit_gradients_match_differences),
        cmocka_unit_test(norm_conv_gradients_match_differences),
        cmocka_unit_test(batch_norm_with_two_readers_sums_the_whole_gradient),
        cmocka_unit_test(batch_norm_moves_running_statistics_in_training_only),
        cmocka_unit_test(pointwise_gradients_match_differences),
        cmocka_unit_test(threshold_keeps_values_above_it),
        cmocka_unit_test(max_pool_gradients_match_differences),
        cmocka_unit_test(gathered_rows_are_the_active_sites),
        cmocka_unit_test(map_rows_gradients_match_differences),
        cmocka_unit_test(embed_max_pool_gradients_match_differences),
        cmocka_unit_test(embed_max_pool_of_sparse_map_equals_conv_then_max_pool),
        cmocka_unit_test(wrong_shapes_of_maps_are_refused),
        cmocka_unit_test(full_arena_fails_the_step_and_the_next_one_succeeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
