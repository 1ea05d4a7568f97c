/* Batch norm, threshold and sums over maps. Sums are taken in float along one row and in double from row to row, so
 * that a sum over ten thousand pixels loses no precision. */
#include <string.h>

#include "core/kernels/fast/fast.h"

enum { L = MAP_LANES };

/* Computes the mean and the sum of squared deviations of V channels (one register) along a row, in two passes over the
 * row, which is in the first-level cache. */
static void column_moments(const float *at, int width, vf *mean, vf *squares)
{
    vf a = v_zero(), b = v_zero();
    for (int x = 0; x + 1 < width; x += 2) {
        a = v_add(a, v_load(at + (ptrdiff_t)x * L));
        b = v_add(b, v_load(at + (ptrdiff_t)(x + 1) * L));
    }
    if (width % 2)
        a = v_add(a, v_load(at + (ptrdiff_t)(width - 1) * L));
    vf m = v_mul(v_add(a, b), v_all(1.0f / (float)width));
    a = b = v_zero();
    for (int x = 0; x + 1 < width; x += 2) {
        vf p = v_sub(v_load(at + (ptrdiff_t)x * L), m), q = v_sub(v_load(at + (ptrdiff_t)(x + 1) * L), m);
        a = v_fma(p, p, a);
        b = v_fma(q, q, b);
    }
    if (width % 2) {
        vf p = v_sub(v_load(at + (ptrdiff_t)(width - 1) * L), m);
        a = v_fma(p, p, a);
    }
    *mean = m;
    *squares = v_add(a, b);
}

void fast_row_moments(int blocks, int width, const float *row, ptrdiff_t block, double *moments, int y)
{
    double share = 1.0 / (y + 1), weight = (double)width * y * share;
    double *means = moments, *sums = moments + blocks * L;
    if (y == 0)
        memset(moments, 0, 2 * (size_t)(blocks * L) * sizeof *moments);
    for (int g = 0; g < blocks * PV; g++) {
        vf mean, squares;
        float m[V], s[V];
        column_moments(row + g / PV * block + g % PV * V, width, &mean, &squares);
        v_store(m, mean);
        v_store(s, squares);
        for (int l = 0; l < V; l++) {
            double delta = (double)m[l] - means[g * V + l];
            means[g * V + l] += delta * share;
            sums[g * V + l] += (double)s[l] + delta * delta * weight;
        }
    }
}

void FAST(map_moments)(int blocks, int rows, int width, struct map_strip x, double *moments)
{
    for (int y = 0; y < rows; y++)
        fast_row_moments(blocks, width, x.at + y * x.row, x.block, moments, y);
}

/* Returns the sums of V channels (one register) along a row. */
static vf column_sum(const float *at, int width)
{
    vf a = v_zero(), b = v_zero();
    for (int x = 0; x + 1 < width; x += 2) {
        a = v_add(a, v_load(at + (ptrdiff_t)x * L));
        b = v_add(b, v_load(at + (ptrdiff_t)(x + 1) * L));
    }
    if (width % 2)
        a = v_add(a, v_load(at + (ptrdiff_t)(width - 1) * L));
    return v_add(a, b);
}

void fast_row_sums(int rows, int width, const float *at, ptrdiff_t row, float *sums)
{
    for (int y = 0; y < rows; y++)
        for (int g = 0; g < PV; g++)
            v_store(sums + g * V, v_add(v_load(sums + g * V), column_sum(at + y * row + g * V, width)));
}

void FAST(map_sums)(int blocks, int rows, int width, struct map_strip x, double *sums)
{
    for (int g = 0; g < blocks * PV; g++)
        for (int y = 0; y < rows; y++)
            v_add_double(sums + g * V, column_sum(x.at + g / PV * x.block + y * x.row + g % PV * V, width));
}

void FAST(map_affine)(const struct affine_call *c)
{
    for (int b = 0; b < c->blocks; b++) {
        vf scale[PV], shift[PV], floor = c->relu ? v_zero() : v_all(-__builtin_inff());
        for (int s = 0; s < PV; s++) {
            scale[s] = v_load(c->scale + b * L + s * V);
            shift[s] = v_load(c->shift + b * L + s * V);
        }
        for (int r = 0; r < c->rows; r++) {
            const float *x = c->x.at + b * c->x.block + r * c->x.row;
            float *y = c->y.at + b * c->y.block + r * c->y.row;
            for (int i = 0; i < c->width; i++, x += L, y += L)
                UNROLL for (int s = 0; s < PV; s++)
                    v_store(y + s * V, v_max(floor, v_fma(v_load(x + s * V), scale[s], shift[s])));
        }
    }
}

struct norm_lanes {
    vf scale, shift, mean, inv_std, a, b, c;
};

static struct norm_lanes norm_lanes(const struct norm_call *c, int at)
{
    struct norm_lanes n = {
        v_load(c->scale + at), v_load(c->shift + at), v_load(c->mean + at), v_zero(), v_zero(), v_zero(), v_zero()};
    if (c->inv_std)
        n.inv_std = v_load(c->inv_std + at);
    if (c->a)
        n.a = v_load(c->a + at);
    if (c->b) {
        n.b = v_load(c->b + at);
        n.c = v_load(c->c + at);
    }
    return n;
}

/* Returns dy, or, with `relu`, dy where x * scale + shift is positive and 0 elsewhere. Computes x * scale + shift with
 * the same rounding as map_affine, so that the gradient passes exactly where y > 0. */
INLINE vf gated(const struct norm_lanes *n, bool relu, vf x, vf dy)
{
    return relu ? v_keep(v_gt(v_fma(x, n->scale, n->shift), v_zero()), dy) : dy;
}

INLINE void sums_row(const bool relu, const struct norm_lanes *n, const float *x, const float *dy, int width,
                     double *plain, double *projected)
{
    vf sum = v_zero(), dot = v_zero();
    for (int i = 0; i < width; i++, x += L, dy += L) {
        vf value = v_load(x), g = gated(n, relu, value, v_load(dy));
        sum = v_add(sum, g);
        dot = v_fma(g, v_sub(value, n->mean), dot);
    }
    v_add_double(plain, sum);
    v_add_double(projected, v_mul(dot, n->inv_std));
}

void FAST(norm_sums)(const struct norm_call *c)
{
    memset(c->sums, 0, 2 * (size_t)(c->blocks * L) * sizeof *c->sums);
    for (int g = 0; g < c->blocks * PV; g++) {
        struct norm_lanes n = norm_lanes(c, g * V);
        double *plain = c->sums + g * V, *projected = plain + c->blocks * L;
        for (int r = 0; r < c->rows; r++) {
            const float *x = c->x.at + g / PV * c->x.block + r * c->x.row + g % PV * V;
            const float *dy = c->dy.at + g / PV * c->dy.block + r * c->dy.row + g % PV * V;
            if (c->relu)
                sums_row(true, &n, x, dy, c->width, plain, projected);
            else
                sums_row(false, &n, x, dy, c->width, plain, projected);
        }
    }
}

INLINE void backward_row(const bool relu, const struct norm_lanes *n, const float *x, const float *dy, const float *add,
                         float *dx, int width)
{
    for (ptrdiff_t i = 0; i < (ptrdiff_t)width * L; i += L) {
        vf value = v_load(x + i), rest = v_fma(n->b, v_sub(value, n->mean), n->c);
        rest = v_fma(n->a, gated(n, relu, value, v_load(dy + i)), rest);
        v_store(dx + i, add ? v_add(rest, v_load(add + i)) : rest);
    }
}

void FAST(norm_backward)(const struct norm_call *c)
{
    for (int g = 0; g < c->blocks * PV; g++) {
        struct norm_lanes n = norm_lanes(c, g * V);
        for (int r = 0; r < c->rows; r++) {
            const float *x = c->x.at + g / PV * c->x.block + r * c->x.row + g % PV * V;
            const float *dy = c->dy.at + g / PV * c->dy.block + r * c->dy.row + g % PV * V;
            const float *add = c->add.at ? c->add.at + g / PV * c->add.block + r * c->add.row + g % PV * V : NULL;
            float *dx = c->dx.at + g / PV * c->dx.block + r * c->dx.row + g % PV * V;
            if (c->relu)
                backward_row(true, &n, x, dy, add, dx, c->width);
            else
                backward_row(false, &n, x, dy, add, dx, c->width);
        }
    }
}

void FAST(map_add)(int blocks, int rows, int width, struct map_strip x, struct map_strip y)
{
    for (int b = 0; b < blocks; b++)
        for (int r = 0; r < rows; r++)
            FAST(add)((size_t)width * L, x.at + b * x.block + r * x.row, y.at + b * y.block + r * y.row);
}

void FAST(map_threshold)(const struct threshold_call *c)
{
    for (int g = 0; g < c->blocks * PV; g++) {
        vf threshold = v_load(c->threshold + g * V);
        vi count = vi_zero();
        int32_t counts[V];
        for (int r = 0; r < c->rows; r++) {
            const float *x = c->x.at + g / PV * c->x.block + r * c->x.row + g % PV * V;
            float *y = c->y.at + g / PV * c->y.block + r * c->y.row + g % PV * V;
            for (int i = 0; i < c->width; i++, x += L, y += L) {
                vf v = v_sub(v_load(x), threshold);
                count = vi_count(count, v_gt(v, v_zero()));
                v_store(y, v_relu(v));
            }
        }
        vi_store(counts, count);
        for (int l = 0; l < V && c->active; l++)
            c->active[g * V + l] += counts[l];
    }
}

void FAST(map_mask)(int blocks, int rows, int width, struct map_strip y, struct map_strip dy, struct map_strip dx)
{
    for (int b = 0; b < blocks; b++)
        for (int r = 0; r < rows; r++)
            FAST(relu_backward)
    ((size_t)width * L, y.at + b * y.block + r * y.row, dy.at + b * dy.block + r * dy.row,
     dx.at + b * dx.block + r * dx.row);
}
