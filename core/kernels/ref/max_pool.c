/* Reference kernels of max pooling, and of the 1x1 convolution combined with max pooling. */
#include <string.h>

#include "core/kernels/ref/ref.h"

enum { L = MAP_LANES };

static real *pixel(struct map_strip s, int block, int y, int x)
{
    return s.at + block * s.block + y * s.row + (ptrdiff_t)x * L;
}

void ref_max_pool_forward(const struct max_pool_call *c)
{
    uint16_t *arg = c->arg;
    for (int b = 0; b < c->blocks; b++) {
        for (int r = 0; r < c->rows; r++) {
            for (int w = 0; w < c->width; w++, arg += L) {
                real *out = pixel(c->out, b, r, w);
                memcpy(out, pixel(c->in, b, r * c->max_pool_h, w * c->max_pool_w), L * sizeof *out);
                memset(arg, 0, L * sizeof *arg);
                for (int p = 1; p < c->max_pool_h * c->max_pool_w; p++) {
                    const real *in =
                        pixel(c->in, b, r * c->max_pool_h + p / c->max_pool_w, w * c->max_pool_w + p % c->max_pool_w);
                    for (int l = 0; l < L; l++) {
                        if (in[l] > out[l]) {
                            out[l] = in[l];
                            arg[l] = (uint16_t)p;
                        }
                    }
                }
            }
        }
    }
}

static void clear(struct map_strip s, int blocks, int rows, int width)
{
    for (int b = 0; b < blocks; b++)
        for (int r = 0; r < rows; r++)
            memset(pixel(s, b, r, 0), 0, (size_t)width * L * sizeof(real));
}

void ref_max_pool_backward(const struct max_pool_call *c)
{
    const uint16_t *arg = c->arg;
    clear(c->in, c->blocks, c->din_rows, c->din_width);
    for (int b = 0; b < c->blocks; b++) {
        for (int r = 0; r < c->rows; r++) {
            for (int w = 0; w < c->width; w++, arg += L) {
                const real *out = pixel(c->out, b, r, w);
                for (int l = 0; l < L; l++) {
                    int y = r * c->max_pool_h + arg[l] / c->max_pool_w, x = w * c->max_pool_w + arg[l] % c->max_pool_w;
                    pixel(c->in, b, y, x)[l] = out[l];
                }
            }
        }
    }
}

void ref_embed_max_pool_forward(const struct embed_call *c)
{
    int window = 0;
    for (int r = 0; r < c->rows; r++) {
        for (int w = 0; w < c->width; w++, window++) {
            real *token = c->tokens + window * c->ld_tokens;
            uint16_t *arg = c->arg + (ptrdiff_t)window * c->features;
            for (int p = 0; p < c->max_pool_h * c->max_pool_w; p++) {
                int y = r * c->max_pool_h + p / c->max_pool_w, x = w * c->max_pool_w + p % c->max_pool_w;
                for (int d = 0; d < c->features; d++) {
                    real v = c->bias ? c->bias[d] : 0;
                    for (int i = 0; i < c->blocks * L; i++)
                        v += c->packed[(ptrdiff_t)i * c->features + d] * pixel(c->in, i / L, y, x)[i % L];
                    if (p == 0 || v > token[d]) {
                        token[d] = v;
                        arg[d] = (uint16_t)p;
                    }
                }
            }
        }
    }
}

void ref_embed_max_pool_backward(const struct embed_call *c)
{
    ptrdiff_t padded = (ptrdiff_t)c->blocks * L;
    const real *by_feature = c->packed + padded * c->features;
    int window = 0;
    if (c->din.at)
        clear(c->din, c->blocks, c->din_rows, c->din_width);
    for (int r = 0; r < c->rows; r++) {
        for (int w = 0; w < c->width; w++, window++) {
            const real *dtoken = c->dtokens + window * c->ld_tokens;
            const uint16_t *arg = c->arg + (ptrdiff_t)window * c->features;
            for (int d = 0; d < c->features; d++) {
                int y = r * c->max_pool_h + arg[d] / c->max_pool_w, x = w * c->max_pool_w + arg[d] % c->max_pool_w;
                if (c->dbias)
                    c->dbias[d] += dtoken[d];
                for (int i = 0; i < padded; i++) {
                    if (c->dweights)
                        c->dweights[d * padded + i] += dtoken[d] * pixel(c->in, i / L, y, x)[i % L];
                    if (c->din.at)
                        pixel(c->din, i / L, y, x)[i % L] += dtoken[d] * by_feature[d * padded + i];
                }
            }
        }
    }
}
