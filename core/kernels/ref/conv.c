/* Reference convolutions, written as plain sums. Taps run from -kernel/2 to kernel/2, times the dilation along a row.
 */
#include <string.h>

#include "core/kernels/ref/ref.h"

enum { L = MAP_LANES, TILE = L * L };

static int step_of(int dilation)
{
    return dilation > 1 ? dilation : 1;
}

/* Pixel (y, x) of one block of the input. With a batch norm, the normalised pixel is computed into `room`. */
static const real *input_pixel(const struct conv_norm *n, const struct map_strip *in, int rows, int width, int ib,
                               int y, int x, real room[L])
{
    const real *p = in->at + ib * in->block + y * in->row + (ptrdiff_t)x * L;
    if (!n->scale)
        return p;
    bool inside = x >= 0 && x < width && (y >= 0 || n->above) && (y < rows || n->below);
    for (int i = 0; i < L; i++) {
        real v = inside ? p[i] * n->scale[ib * L + i] + n->shift[ib * L + i] : 0;
        room[i] = v > 0 ? v : 0;
    }
    return room;
}

/* acc[o] += sum over taps and inputs of output pixel (y, x). */
static void conv_pixel(const struct conv_call *c, int y, int x, const real *weights, real acc[L])
{
    real room[L];
    for (int ib = 0; ib < c->in_blocks; ib++) {
        for (int ky = 0; ky < c->kernel_h; ky++) {
            for (int kx = 0; kx < c->kernel_w; kx++, weights += TILE) {
                const real *p = input_pixel(&c->norm, &c->in, c->rows, c->width, ib, y + ky - c->kernel_h / 2,
                                            x + (kx - c->kernel_w / 2) * step_of(c->dilation), room);
                for (int i = 0; i < L; i++)
                    for (int o = 0; o < L; o++)
                        acc[o] += p[i] * weights[i * L + o];
            }
        }
    }
}

void ref_conv_forward(const struct conv_call *c)
{
    size_t per_block = (size_t)(c->in_blocks * c->kernel_h * c->kernel_w) * TILE;
    for (int ob = 0; ob < c->out_blocks; ob++) {
        for (int y = 0; y < c->rows; y++) {
            for (int x = 0; x < c->width; x++) {
                real acc[L];
                for (int o = 0; o < L; o++)
                    acc[o] = c->bias ? c->bias[ob * L + o] : 0;
                conv_pixel(c, y, x, c->weights + (size_t)ob * per_block, acc);
                if (c->add.at) {
                    const real *add = c->add.at + ob * c->add.block + y * c->add.row + (ptrdiff_t)x * L;
                    for (int o = 0; o < L; o++)
                        acc[o] += add[o];
                }
                memcpy(c->out.at + ob * c->out.block + y * c->out.row + (ptrdiff_t)x * L, acc, sizeof acc);
            }
        }
    }
    if (c->moments)
        ref_map_moments(c->out_blocks, c->rows, c->width, c->out, c->moments);
}

/* Adds the weight gradient of tap (ky, kx) for one pair of blocks, summed over the strip. */
static void gradient_tap(const struct conv_gradient_call *c, int ib, int ky, int kx, const real *dout, real *dweights)
{
    real room[L];
    for (int y = 0; y < c->rows; y++) {
        for (int x = 0; x < c->width; x++) {
            const real *p = input_pixel(&c->norm, &c->in, c->rows, c->width, ib, y + ky - c->kernel_h / 2,
                                        x + (kx - c->kernel_w / 2) * step_of(c->dilation), room);
            const real *d = dout + y * c->dout.row + (ptrdiff_t)x * L;
            for (int i = 0; i < L; i++)
                for (int o = 0; o < L; o++)
                    dweights[i * L + o] += p[i] * d[o];
        }
    }
}

void ref_conv_gradient(const struct conv_gradient_call *c)
{
    real *dweights = c->dweights;
    for (int ob = 0; ob < c->out_blocks; ob++) {
        const real *dout = c->dout.at + ob * c->dout.block;
        for (int ib = 0; ib < c->in_blocks; ib++) {
            for (int ky = 0; ky < c->kernel_h; ky++)
                for (int kx = 0; kx < c->kernel_w; kx++, dweights += TILE)
                    gradient_tap(c, ib, ky, kx, dout, dweights);
        }
        if (!c->dbias)
            continue;
        for (int y = 0; y < c->rows; y++)
            for (int x = 0; x < c->width; x++)
                for (int o = 0; o < L; o++)
                    c->dbias[ob * L + o] += dout[y * c->dout.row + (ptrdiff_t)x * L + o];
    }
}
