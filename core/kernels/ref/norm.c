/* Reference kernels of batch norm, of the sparse layer's threshold, and of sums over maps. */
#include <string.h>

#include "core/kernels/ref/ref.h"

enum { L = MAP_LANES };

static real *pixel(struct map_strip s, int block, int y, int x)
{
    return s.at + block * s.block + y * s.row + (ptrdiff_t)x * L;
}

void ref_map_moments(int blocks, int rows, int width, struct map_strip x, double *moments)
{
    int channels = blocks * L;
    memset(moments, 0, 2 * (size_t)channels * sizeof *moments);
    ref_map_sums(blocks, rows, width, x, moments);
    for (int c = 0; c < channels; c++)
        moments[c] /= (double)rows * width;
    for (int b = 0; b < blocks; b++) {
        for (int r = 0; r < rows; r++) {
            for (int i = 0; i < width; i++) {
                const real *p = pixel(x, b, r, i);
                for (int l = 0; l < L; l++) {
                    double d = (double)p[l] - moments[b * L + l];
                    moments[channels + b * L + l] += d * d;
                }
            }
        }
    }
}

void ref_map_sums(int blocks, int rows, int width, struct map_strip x, double *sums)
{
    for (int b = 0; b < blocks; b++)
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < width; i++)
                for (int l = 0; l < L; l++)
                    sums[b * L + l] += (double)pixel(x, b, r, i)[l];
}

void ref_map_affine(const struct affine_call *c)
{
    for (int b = 0; b < c->blocks; b++) {
        for (int r = 0; r < c->rows; r++) {
            for (int i = 0; i < c->width; i++) {
                const real *x = pixel(c->x, b, r, i);
                real *y = pixel(c->y, b, r, i);
                for (int l = 0; l < L; l++) {
                    real v = x[l] * c->scale[b * L + l] + c->shift[b * L + l];
                    y[l] = c->relu && v <= 0 ? 0 : v;
                }
            }
        }
    }
}

/* Returns dy, or 0 if the norm is followed by a ReLU and the result of the norm is not positive. */
static real gated(const struct norm_call *c, int channel, real x, real dy)
{
    return c->relu && !(x * c->scale[channel] + c->shift[channel] > 0) ? 0 : dy;
}

void ref_norm_sums(const struct norm_call *c)
{
    int channels = c->blocks * L;
    memset(c->sums, 0, 2 * (size_t)channels * sizeof *c->sums);
    for (int b = 0; b < c->blocks; b++) {
        for (int r = 0; r < c->rows; r++) {
            for (int i = 0; i < c->width; i++) {
                const real *x = pixel(c->x, b, r, i), *dy = pixel(c->dy, b, r, i);
                for (int l = 0; l < L; l++) {
                    int ch = b * L + l;
                    real g = gated(c, ch, x[l], dy[l]);
                    c->sums[ch] += (double)g;
                    c->sums[channels + ch] += (double)(g * ((x[l] - c->mean[ch]) * c->inv_std[ch]));
                }
            }
        }
    }
}

void ref_norm_backward(const struct norm_call *c)
{
    for (int b = 0; b < c->blocks; b++) {
        for (int r = 0; r < c->rows; r++) {
            for (int i = 0; i < c->width; i++) {
                const real *x = pixel(c->x, b, r, i), *dy = pixel(c->dy, b, r, i);
                const real *add = c->add.at ? pixel(c->add, b, r, i) : NULL;
                real *dx = pixel(c->dx, b, r, i);
                for (int l = 0; l < L; l++) {
                    int ch = b * L + l;
                    real v = c->a[ch] * gated(c, ch, x[l], dy[l]);
                    if (c->b)
                        v += c->b[ch] * (x[l] - c->mean[ch]) + c->c[ch];
                    dx[l] = add ? v + add[l] : v;
                }
            }
        }
    }
}

void ref_map_add(int blocks, int rows, int width, struct map_strip x, struct map_strip y)
{
    for (int b = 0; b < blocks; b++)
        for (int r = 0; r < rows; r++)
            ref_add((size_t)width * L, pixel(x, b, r, 0), pixel(y, b, r, 0));
}

void ref_map_threshold(const struct threshold_call *c)
{
    for (int b = 0; b < c->blocks; b++) {
        for (int r = 0; r < c->rows; r++) {
            for (int i = 0; i < c->width; i++) {
                const real *x = pixel(c->x, b, r, i);
                real *y = pixel(c->y, b, r, i);
                for (int l = 0; l < L; l++) {
                    real v = x[l] - c->threshold[b * L + l];
                    y[l] = v <= 0 ? 0 : v;
                    if (v > 0 && c->active)
                        c->active[b * L + l]++;
                }
            }
        }
    }
}

void ref_map_mask(int blocks, int rows, int width, struct map_strip y, struct map_strip dy, struct map_strip dx)
{
    for (int b = 0; b < blocks; b++)
        for (int r = 0; r < rows; r++)
            ref_relu_backward((size_t)width * L, pixel(y, b, r, 0), pixel(dy, b, r, 0), pixel(dx, b, r, 0));
}
