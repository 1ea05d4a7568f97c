/* Tests the sparse backward pass, which computes gradients only in regions around active positions (region.h). Maps of
 * booleans are the reference for growing and uniting regions. The pass over whole maps and central differences are the
 * reference for gradients. */
#include "tests/unit/core/gradient.h"

#include <math.h>

#include "tests/support/unit.h"
#include "core/autodiff/region.h"

#define TOLERANCE 1e-6

/* --- regions ------------------------------------------------------------------------------------ */

enum { IMAGES = 3, MOST = IMAGES * 70 * 45 };

static struct region *region_of(struct exec *e, const struct map_shape *s, const bool *set)
{
    int rows = s->images * s->height, spans = 0;
    int *first = op_alloc(e, ((size_t)rows + 1) * sizeof *first);
    struct span *span = op_alloc(e, (size_t)(rows * s->width + 1) * sizeof *span);
    for (int row = 0; row < rows; row++) {
        first[row] = spans;
        for (int col = 0; col < s->width; col++) {
            if (!set[row * s->width + col])
                continue;
            if (spans > first[row] && span[spans - 1].to == col)
                span[spans - 1].to++;
            else
                span[spans++] = (struct span){col, col + 1};
        }
    }
    first[rows] = spans;
    return region_make(e, s, span, first);
}

static void assert_region(const struct region *r, const bool *set, const char *what)
{
    static unsigned char met[MOST];
    int64_t positions = 0;
    memset(met, 0, sizeof met);
    for (int i = 0; i < r->boxes; i++) {
        const struct box *b = &r->box[i];
        assert_true(b->rows >= 1 && b->rows <= BOX_ROWS && b->row + b->rows <= r->height &&
                    b->col + b->cols <= r->width);
        for (int y = b->row; y < b->row + b->rows; y++)
            for (int x = b->col; x < b->col + b->cols; x++)
                met[(b->image * r->height + y) * r->width + x]++;
    }
    for (int i = 0; i < r->images * r->height * r->width; i++) {
        if (met[i] != set[i])
            fail_msg("%s: position %d is in %d boxes, wanted %d", what, i, met[i], set[i]);
        positions += set[i];
    }
    assert_int_equal(r->positions, positions);
}

static void widen(const struct map_shape *s, const bool *set, int rows, int cols, bool *wide)
{
    for (int image = 0; image < s->images; image++)
        for (int y = 0; y < s->height; y++)
            for (int x = 0; x < s->width; x++) {
                bool any = false;
                for (int dy = -rows; dy <= rows; dy++)
                    for (int dx = -cols; dx <= cols; dx++)
                        if (y + dy >= 0 && y + dy < s->height && x + dx >= 0 && x + dx < s->width)
                            any |= set[(image * s->height + y + dy) * s->width + x + dx];
                wide[(image * s->height + y) * s->width + x] = any;
            }
}

static void draw(struct probe *p, const struct map_shape *s, double density, bool *set)
{
    static real number[MOST];
    int count = s->images * s->height * s->width;
    probe_fill(p, number, (size_t)count, 1.0);
    for (int i = 0; i < count; i++)
        set[i] = fabs((double)number[i]) < density;
}

static void check_cut(struct exec *e, const struct region *r)
{
    for (int most = 1; most < 9; most += 3) {
        struct region_cut cut = region_cut(e, r, 40, most);
        assert_true(cut.pieces >= 1 && cut.pieces <= most);
        assert_int_equal(cut.cut[0], 0);
        assert_int_equal(cut.cut[cut.pieces], r->boxes);
        for (int i = 0; i < cut.pieces; i++)
            assert_true(cut.cut[i] <= cut.cut[i + 1]);
    }
}

static void check_clear(struct exec *e, const struct map_shape *s, struct region *keep, struct region *within,
                        const bool *kept, const bool *inside)
{
    struct tensor *map = tensor_map(e, s);
    for (size_t i = 0; i < map->count; i++)
        map->data[i] = R(7.0);
    region_clear(e, s, map->data, within, keep);
    for (int i = 0; i < s->images * s->height * s->width; i++) {
        int image = i / (s->height * s->width), y = i / s->width % s->height, x = i % s->width;
        real wanted = kept[i] || (within != NULL && !inside[i]) ? R(7.0) : R(0.0);
        for (int b = 0; b < map_blocks(s->channels); b++)
            assert_true(map->data[map_offset(s, image, b, y, x) + 3] == wanted);
    }
    assert_true(map->data[map_offset(s, 0, 0, -s->halo_h, -1)] == R(7.0)); /* the halo is not cleared */
}

static void regions_grow_and_unite_like_sets_of_positions(void **state)
{
    static bool a[MOST], b[MOST], both[MOST], wide[MOST];
    static const struct map_shape shapes[] = {
        {3, 20, 9, 11, 1, 1}, {2, 5, 70, 45, 1, 1}, {1, 3, 1, 37, 0, 1}, {3, 16, 1, 1, 1, 1}, {2, 3, 5, 2, 1, 1}};
    static const double densities[] = {0, 0.002, 0.05, 0.3, 0.7, 1.1};
    struct probe p;
    probe_open(&p, 2, "ref");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0] * 6; i++) {
        const struct map_shape *s = &shapes[i / 6];
        exec_begin(&p.exec, true, 0);
        draw(&p, s, densities[i % 6], a);
        draw(&p, s, densities[i % 5], b);
        struct region *ra = region_of(&p.exec, s, a), *rb = region_of(&p.exec, s, b);
        assert_region(ra, a, "made");
        for (int grown = 0; grown < 4; grown++) {
            widen(s, a, grown % 2, grown / 2, wide);
            assert_region(region_grow(&p.exec, ra, grown % 2, grown / 2), wide, "grown");
        }
        assert_ptr_equal(region_grow(&p.exec, ra, 1, 1), region_grow(&p.exec, ra, 1, 1));
        for (int j = 0; j < s->images * s->height * s->width; j++)
            both[j] = a[j] || b[j];
        assert_region(region_unite(&p.exec, ra, rb), both, "united");
        assert_ptr_equal(region_unite(&p.exec, ra, ra), ra);
        check_cut(&p.exec, ra);
        check_clear(&p.exec, s, ra, NULL, a, a);
        check_clear(&p.exec, s, ra, rb, a, b);
    }
    probe_close(&p);
}

/* --- behind a threshold ------------------------------------------------------------------------- */

enum reader { READ_MAP, READ_EMBEDDED, READ_POOLED, READ_TWICE };

struct net {
    struct map_shape in;
    int width, motifs, units, kh;
    enum reader reader;
    bool affine, input; /* input: the network begins with a map that has a gradient, instead of with planes */
    bool fused;         /* the network uses op_norm_conv() */
    double density;
    const real *planes;
    int vocabulary; /* > 0: the network begins with words instead of with planes */
    int block;      /* > 1: the motif map is spread, with a pixel for each block */
    struct weight *first_w, *first_b, *w[4], *b[4], *last_w, *last_b, *embed_w, *embed_b;
    struct batch_norm norm[5];
    real t[40];
    bool raw;
};

static struct tensor *build_net(struct probe *p, const void *context)
{
    struct net *n = (struct net *)context;
    struct exec *e = &p->exec;
    struct tensor *x =
        n->input        ? probe_input(p, 0)
        : n->vocabulary ? op_conv_words(e, n->planes, n->in.images, n->in.width, n->in.halo_h, n->first_w, n->first_b)
                        : op_conv_planar(e, n->planes, n->in.images, 1, n->in.height, n->in.width, n->in.halo_h,
                                         n->first_w, n->first_b);
    for (int i = 0; i < n->units && n->fused; i++) {
        struct tensor *y = op_norm_conv(e, x, &n->norm[2 * i], n->w[2 * i], n->b[2 * i], NULL);
        x = op_norm_conv(e, y, &n->norm[2 * i + 1], n->w[2 * i + 1], n->b[2 * i + 1], x);
    }
    for (int i = 0; i < n->units && !n->fused; i++) {
        struct tensor *y = op_batch_norm(e, x, &n->norm[2 * i], true);
        y = op_batch_norm(e, op_conv(e, y, n->w[2 * i], n->b[2 * i], NULL), &n->norm[2 * i + 1], true);
        x = op_conv(e, y, n->w[2 * i + 1], n->b[2 * i + 1], x);
    }
    x = op_batch_norm(e, op_conv(e, x, n->last_w, n->last_b, NULL), &n->norm[4], false);
    x = op_threshold(e, x, n->t, !n->raw);
    if (n->block > 1 && !n->raw)
        x = op_spread(e, x, n->in.height * n->block - 1, n->in.width * n->block, n->block, 0);
    int ph = n->in.height < 3 ? 1 : 3;
    if (n->raw || n->reader == READ_MAP)
        return x;
    if (n->reader == READ_EMBEDDED)
        return op_embed_max_pool(e, x, n->embed_w, n->embed_b, ph, 2);
    if (n->reader == READ_POOLED)
        return op_max_pool_rows(e, x, ph, 2);
    return op_add(e, op_max_pool_rows(e, x, ph, 2), op_max_pool_rows(e, op_scale(e, x, 0.3), ph, 2));
}

static void open_norm(struct probe *p, struct batch_norm *norm, bool affine, int channels)
{
    *norm = (struct batch_norm){.momentum = 0.1, .epsilon = 1e-5};
    if (affine) {
        norm->gain = probe_vector(p, channels, 1.0);
        norm->bias = probe_vector(p, channels, 1.0);
    }
    norm->mean = probe_vector(p, channels, 0.3);
    norm->variance = probe_vector(p, channels, 0.5);
    for (int i = 0; i < channels; i++)
        norm->variance->value[i] += R(1.0);
    p->checked_count -= 2; /* running statistics have no gradient */
}

static int descending(const void *a, const void *b)
{
    const real *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* Sets thresholds between the sorted values, so that about `density` of each channel is active (0: none, 1: all). */
static void set_thresholds(struct probe *p, struct net *n)
{
    int pixels = n->in.height * n->in.width, count = n->in.images * pixels;
    real *planes = calloc((size_t)(count * n->motifs), sizeof *planes), *values = calloc((size_t)count, sizeof *values);
    assert_non_null(planes);
    assert_non_null(values);
    memset(n->t, 0, sizeof n->t);
    n->raw = true;
    exec_begin(&p->exec, true, 0);
    struct tensor *z = build_net(p, n);
    assert_non_null(z);
    tensor_to_planes(z, planes);
    n->raw = false;
    for (int c = 0; c < n->motifs; c++) {
        for (int i = 0; i < count; i++)
            values[i] = planes[(i / pixels * n->motifs + c) * pixels + i % pixels];
        qsort(values, (size_t)count, sizeof *values, descending);
        int active = (int)ceil(n->density * count);
        n->t[c] = active >= count ? values[count - 1] - R(1.0)
                  : active == 0   ? values[0] + R(1.0)
                                  : (values[active - 1] + values[active]) / R(2.0);
    }
    free(planes);
    free(values);
}

static void open_net(struct probe *p, struct net *n, real *planes)
{
    struct map_shape wide = n->in;
    wide.channels = n->width;
    probe_open(p, 1, "ref");
    p->exec.hold = true;
    probe_fill(p, planes, (size_t)(n->in.images * n->in.height * n->in.width), 1.0);
    n->planes = planes;
    if (n->input) {
        probe_map(p, &wide, 1.0);
    } else {
        int words = n->vocabulary, taps = words ? 5 : 1;
        for (int i = 0; words && i < n->in.images * n->in.width; i++)
            planes[i] = (real)(i * i % 13 % (words + 1));
        n->first_w = probe_weight(p, 4, (int[]){n->width, words ? words : 1, 1, taps}, 1.0);
        n->first_b = probe_vector(p, n->width, 0.5);
    }
    for (int i = 0; i < 2 * n->units; i++) {
        open_norm(p, &n->norm[i], true, n->width);
        n->w[i] = probe_weight(p, 4, (int[]){n->width, n->width, n->kh, 3}, 1.0 / sqrt(3.0 * n->kh * n->width));
        n->b[i] = probe_vector(p, n->width, 0.5);
    }
    n->last_w = probe_weight(p, 4, (int[]){n->motifs, n->width, 1, 1}, 0.5);
    n->last_b = probe_vector(p, n->motifs, 0.5);
    open_norm(p, &n->norm[4], n->affine, n->motifs);
    if (n->reader == READ_EMBEDDED) {
        n->embed_w = probe_matrix(p, 7, n->motifs, 0.5);
        n->embed_b = probe_vector(p, 7, 0.5);
    }
    set_thresholds(p, n);
}

struct copy {
    real *at;
    size_t count;
};

static struct copy all_gradients(struct probe *p, const struct net *n, enum exec_sparse sparse)
{
    struct copy copy = {NULL, 0};
    p->exec.sparse = sparse;
    probe_run(p, build_net, n);
    for (int pass = 0; pass < 2; pass++) {
        copy.count = 0;
        for (int i = 0; i < p->checked_count + p->input_count; i++) {
            const struct weight *w = p->checked[i];
            bool input = i >= p->checked_count;
            size_t count = input ? p->inputs[i - p->checked_count].count : w->count;
            if (pass == 1)
                memcpy(copy.at + copy.count, input ? p->inputs[i - p->checked_count].grad : w->grad,
                       count * sizeof(real));
            copy.count += count;
        }
        if (pass == 0)
            copy.at = calloc(copy.count, sizeof *copy.at);
        assert_non_null(copy.at);
    }
    return copy;
}

static void check_net(struct net n, bool differences)
{
    static real planes[MOST];
    struct probe p;
    open_net(&p, &n, planes);
    struct copy dense = all_gradients(&p, &n, EXEC_DENSE);
    for (int sparse = EXEC_SPARSE; sparse <= EXEC_SPARSE_AUTO; sparse++) {
        struct copy other = all_gradients(&p, &n, (enum exec_sparse)sparse);
        double largest = 1e-3;
        for (size_t i = 0; i < dense.count; i++)
            largest = fmax(largest, fabs((double)dense.at[i]));
        for (size_t i = 0; i < dense.count; i++)
            if (!(fabs((double)(dense.at[i] - other.at[i])) <= 1e-12 * largest))
                fail_msg("width %d motifs %d units %d reader %d density %g mode %d, gradient %zu of %zu: dense %.15g, "
                         "sparse %.15g",
                         n.width, n.motifs, n.units, (int)n.reader, n.density, sparse, i, dense.count,
                         (double)dense.at[i], (double)other.at[i]);
        free(other.at);
    }
    free(dense.at);
    if (differences) { /* compares with central differences of a function in which the thresholds are constants */
        for (int i = 0; i < 5; i++)
            n.norm[i].hold = true;
        p.exec.sparse = EXEC_SPARSE;
        probe_check(&p, build_net, &n, TOLERANCE);
    }
    probe_close(&p);
}

static void sparse_backward_of_words_equals_dense_backward(void **state)
{
    for (int i = 0; i < 6; i++)
        check_net((struct net){.in = {1 + i % 3, 1, 1, 40, 0, 1},
                               .width = i % 2 ? 3 : 17,
                               .motifs = 2,
                               .units = i % 2,
                               .kh = 1,
                               .affine = true,
                               .vocabulary = 4 + i,
                               .density = i < 5 ? 0.03 * i : 1},
                  i % 2);
}

static void sparse_backward_equals_dense_backward(void **state)
{
    static const double densities[] = {0, 1e-9, 0.004, 0.03, 0.2, 1};
    static const struct map_shape shapes[] = {{3, 1, 17, 15, 1, 1}, {1, 1, 7, 5, 1, 1}, {2, 1, 4, 40, 1, 1}};
    for (int i = 0; i < 36; i++)
        check_net((struct net){.in = shapes[i % 3],
                               .width = i % 2 ? 3 : 17,
                               .motifs = i % 5 ? 3 : 1,
                               .units = 1 + i % 2,
                               .kh = 3,
                               .reader = (enum reader)(i % 4),
                               .affine = i % 3,
                               .density = densities[i / 6],
                               .input = i % 5 == 1,
                               .block = i % 4 == 3 ? 0 : 1 + i % 4,
                               .fused = i % 3 == 1},
                  false);
    /* nets on sequences (images of height 1), with enough channels for several blocks */
    for (int i = 0; i < 6; i++)
        check_net((struct net){.in = {2, 1, 1, 50, 0, 1},
                               .width = 4,
                               .motifs = 2,
                               .units = 2,
                               .kh = 1,
                               .affine = true,
                               .reader = (enum reader)(i % 4),
                               .density = densities[i]},
                  false);
    check_net((struct net){.in = {2, 1, 30, 30, 1, 1},
                           .width = 33,
                           .motifs = 18,
                           .units = 2,
                           .kh = 3,
                           .affine = true,
                           .reader = READ_EMBEDDED,
                           .density = 0.002},
              false);
}

static void sparse_backward_gradients_match_differences(void **state)
{
    for (int i = 0; i < 4; i++)
        check_net((struct net){.in = {2, 1, 9, 12, 1, 1},
                               .width = 3,
                               .motifs = 2,
                               .units = 2,
                               .kh = 3,
                               .reader = (enum reader)i,
                               .affine = true,
                               .density = 0.01,
                               .input = i % 2,
                               .fused = i > 1},
                  true);
    check_net((struct net){.in = {3, 1, 1, 20, 0, 1},
                           .width = 3,
                           .motifs = 1,
                           .units = 1,
                           .kh = 1,
                           .reader = READ_POOLED,
                           .affine = false,
                           .density = 0.05},
              true);
}

/* exec.hold does not change the forward pass. With exec.hold, a step sends the gradient of the batch statistics through
 * one image; the mean of these gradients over all images is the exact gradient. */
static void held_statistics_give_the_exact_gradient_in_the_mean(void **state)
{
    enum { ALL = 3 };
    struct net n = {
        .in = {ALL, 1, 6, 7, 1, 1}, .width = 3, .motifs = 2, .kh = 3, .affine = true, .density = 0.1, .input = true};
    static real planes[MOST];
    for (int sparse = EXEC_DENSE; sparse <= EXEC_SPARSE; sparse++) {
        struct probe p;
        open_net(&p, &n, planes);
        p.exec.hold = false;
        double value = probe_run(&p, build_net, &n), one = 0, largest = 0;
        struct copy whole = all_gradients(&p, &n, EXEC_DENSE), held[ALL];
        p.exec.hold = true;
        for (int i = 0; i < ALL; i++) {
            p.step = (uint64_t)i;
            held[i] = all_gradients(&p, &n, (enum exec_sparse)sparse);
            assert_true(probe_run(&p, build_net, &n) == value);
        }
        for (size_t i = 0; i < whole.count; i++) {
            double sum = 0;
            for (int j = 0; j < ALL; j++)
                sum += (double)held[j].at[i];
            assert_true(fabs(sum / ALL - (double)whole.at[i]) < 1e-9);
            one = fmax(one, fabs((double)(held[0].at[i] - whole.at[i])));
            largest = fmax(largest, fabs((double)whole.at[i]));
        }
        assert_true(one > 0.01 * largest);
        free(whole.at);
        for (int i = 0; i < ALL; i++)
            free(held[i].at);
        probe_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_grow_and_unite_like_sets_of_positions),
        cmocka_unit_test(sparse_backward_of_words_equals_dense_backward),
        cmocka_unit_test(sparse_backward_equals_dense_backward),
        cmocka_unit_test(sparse_backward_gradients_match_differences),
        cmocka_unit_test(held_statistics_give_the_exact_gradient_in_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
