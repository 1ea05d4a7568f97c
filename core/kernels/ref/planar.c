/* Reference kernels of the first convolution of a network, from planes to the blocked layout: over all positions,
 * and over the values that are not zero. */
#include "core/kernels/ref/ref.h"

enum { L = MAP_LANES };

void ref_planar_forward(const struct planar_call *c)
{
    size_t padded = (size_t)c->out_blocks * L;
    for (int ob = 0; ob < c->out_blocks; ob++) {
        for (int y = 0; y < c->rows; y++) {
            for (int x = 0; x < c->width; x++) {
                real *out = c->out.at + ob * c->out.block + y * c->out.row + (ptrdiff_t)x * L;
                for (int o = 0; o < L; o++) {
                    real sum = c->bias ? c->bias[ob * L + o] : 0;
                    for (int i = 0; i < c->channels; i++)
                        sum += c->weights[(size_t)i * padded + (size_t)(ob * L + o)] *
                               c->in[i * c->in_plane + y * c->in_row + x];
                    out[o] = sum;
                }
            }
        }
    }
    if (c->moments)
        ref_map_moments(c->out_blocks, c->rows, c->width, c->out, c->moments);
}

void ref_planar_gradient(const struct planar_call *c)
{
    size_t padded = (size_t)c->out_blocks * L;
    for (int ob = 0; ob < c->out_blocks; ob++) {
        for (int y = 0; y < c->rows; y++) {
            for (int x = 0; x < c->width; x++) {
                const real *dout = c->out.at + ob * c->out.block + y * c->out.row + (ptrdiff_t)x * L;
                for (int o = 0; o < L; o++) {
                    for (int i = 0; i < c->channels; i++)
                        c->dweights[(size_t)i * padded + (size_t)(ob * L + o)] +=
                            dout[o] * c->in[i * c->in_plane + y * c->in_row + x];
                    if (c->dbias)
                        c->dbias[ob * L + o] += dout[o];
                }
            }
        }
    }
}

/* Goes through the taps in order. For each tap, calls `use` for every output position in row y of the strip at which
 * the tap reads a non-zero value. */
static void each_pair(const struct sites_call *c, int y,
                      void (*use)(const struct sites_call *c, int y, int x, int tap, real value))
{
    for (int p = 0; p < c->planes; p++)
        for (int ky = 0; ky < c->kernel_h; ky++) {
            int row = c->row + y + ky - c->kernel_h / 2;
            if (row < 0 || row >= c->height)
                continue;
            const int *first = c->sites.first + p * c->height + row;
            for (int kx = 0; kx < c->kernel_w; kx++)
                for (int i = first[0]; i < first[1]; i++) {
                    int x = c->sites.col[i] + c->kernel_w / 2 - kx - c->col;
                    if (x >= 0 && x < c->width)
                        use(c, y, x, (p * c->kernel_h + ky) * c->kernel_w + kx, c->sites.value[i]);
                }
        }
}

static void add_product(const struct sites_call *c, int y, int x, int tap, real value)
{
    for (int o = 0; o < c->out_blocks * L; o++) {
        real *out = c->out.at + o / L * c->out.block + y * c->out.row + (ptrdiff_t)x * L + o % L;
        *out += value * c->weights[(size_t)tap * (size_t)c->out_blocks * L + (size_t)o];
    }
}

void ref_sites_forward(const struct sites_call *c)
{
    for (int y = 0; y < c->rows; y++) {
        for (int ob = 0; ob < c->out_blocks; ob++)
            for (int x = 0; x < c->width; x++)
                for (int o = 0; o < L; o++)
                    c->out.at[ob * c->out.block + y * c->out.row + (ptrdiff_t)x * L + o] =
                        c->bias ? c->bias[ob * L + o] : 0;
        each_pair(c, y, add_product);
    }
    if (c->moments)
        ref_map_moments(c->out_blocks, c->rows, c->width, c->out, c->moments);
}

static void add_gradient(const struct sites_call *c, int y, int x, int tap, real value)
{
    for (int o = 0; o < c->out_blocks * L; o++) {
        real dout = c->out.at[o / L * c->out.block + y * c->out.row + (ptrdiff_t)x * L + o % L];
        c->dweights[(size_t)tap * (size_t)c->out_blocks * L + (size_t)o] += value * dout;
    }
}

void ref_sites_gradient(const struct sites_call *c)
{
    for (int y = 0; y < c->rows; y++) {
        each_pair(c, y, add_gradient);
        for (int ob = 0; ob < c->out_blocks && c->dbias; ob++)
            for (int x = 0; x < c->width; x++)
                for (int o = 0; o < L; o++)
                    c->dbias[ob * L + o] += c->out.at[ob * c->out.block + y * c->out.row + (ptrdiff_t)x * L + o];
    }
}

void ref_sum_rows(const struct sum_rows_call *c)
{
    for (int block = 0; block < c->blocks; block++)
        for (int o = 0; o < L; o++) {
            real sum = c->start ? c->start[block * L + o] : 0;
            for (int i = 0; i < c->count; i++)
                sum += c->from[i][block * c->from_block + o];
            c->to[block * c->to_block + o] = sum;
        }
}
