/* Max pooling, and a 1x1 convolution to many features combined with max pooling.
 *
 * The combined kernel first lists the non-zero values of a window, pixel by pixel. It then processes the list for
 * one tile of features after another, with the running maximum in registers. Of the pixels that are zero in all
 * channels it lists only the first: all of them have the same value (the bias), and the first one wins a tie. For
 * each feature, a window therefore costs one multiplication for each of its non-zero values, and the result equals
 * that of the full computation. */
#include <string.h>

#include "core/kernels/fast/fast.h"
#include "core/kernels/ref/ref.h"

enum { L = MAP_LANES, ENTRIES = 1024, PIXELS = 256 };

void FAST(max_pool_forward)(const struct max_pool_call *c)
{
    uint16_t *arg = c->arg;
    for (int b = 0; b < c->blocks; b++) {
        for (int r = 0; r < c->rows; r++) {
            for (int w = 0; w < c->width; w++, arg += L) {
                const float *in = c->in.at + b * c->in.block + (ptrdiff_t)r * c->max_pool_h * c->in.row +
                                  (ptrdiff_t)w * c->max_pool_w * L;
                float *out = c->out.at + b * c->out.block + r * c->out.row + (ptrdiff_t)w * L;
                for (int g = 0; g < PV; g++) {
                    vf best = v_load(in + g * V);
                    vi where = vi_zero();
                    for (int y = 0; y < c->max_pool_h; y++) {
                        for (int x = 0; x < c->max_pool_w; x++) {
                            vf v = v_load(in + y * c->in.row + x * L + g * V);
                            vm more = v_gt(v, best);
                            best = v_select(more, v, best);
                            where = vi_select(more, vi_all(y * c->max_pool_w + x), where);
                        }
                    }
                    v_store(out + g * V, best);
                    vi_store_u16(arg + g * V, V, where);
                }
            }
        }
    }
}

/* The list of non-zero values of a window, or of a part of it. */
struct list {
    struct {
        float value;
        int32_t channel;
    } entry[ENTRIES];
    struct {
        int32_t end, position; /* end: index after the last entry of the pixel; position: the pixel's place in the
                                * window */
    } pixel[PIXELS];
    int entries, pixels;
    bool has_zero; /* a pixel that is zero in all channels has been listed */
    bool started;  /* `tokens` contains the maximum over earlier parts of this window */
};

/* Computes T registers of features, from feature d on, with `part` valid lanes in each. */
INLINE void run_tile(const int T, const struct embed_call *c, const struct list *list, int d, int part, float *token,
                     uint16_t *arg)
{
    vf best[4], bias[4];
    vi where[4];
    UNROLL for (int t = 0; t < T; t++)
    {
        bias[t] = c->bias ? v_load_part(c->bias + d + t * V, part) : v_zero();
        best[t] = list->started ? v_load_part(token + d + t * V, part) : v_all(-__builtin_inff());
        where[t] = list->started ? vi_load_u16(arg + d + t * V, part) : vi_zero();
    }
    int e = 0;
    for (int p = 0; p < list->pixels; p++) {
        vf acc[4];
        UNROLL for (int t = 0; t < T; t++) acc[t] = bias[t];
        for (int end = list->pixel[p].end; e < end; e++) {
            const float *w = c->packed + (ptrdiff_t)list->entry[e].channel * c->features + d;
            vf value = v_all(list->entry[e].value);
            UNROLL for (int t = 0; t < T; t++) acc[t] =
                v_fma(part == V ? v_load(w + t * V) : v_load_part(w + t * V, part), value, acc[t]);
        }
        vi here = vi_all(list->pixel[p].position);
        UNROLL for (int t = 0; t < T; t++)
        {
            vm more = v_gt(acc[t], best[t]);
            best[t] = v_select(more, acc[t], best[t]);
            where[t] = vi_select(more, here, where[t]);
        }
    }
    UNROLL for (int t = 0; t < T; t++)
    {
        v_store_part(token + d + t * V, part, best[t]);
        vi_store_u16(arg + d + t * V, part, where[t]);
    }
}

static void run_list(const struct embed_call *c, struct list *list, float *token, uint16_t *arg)
{
    int d = 0;
    for (; d + 4 * V <= c->features; d += 4 * V)
        run_tile(4, c, list, d, V, token, arg);
    for (; d + V <= c->features; d += V)
        run_tile(1, c, list, d, V, token, arg);
    if (d < c->features)
        run_tile(1, c, list, d, c->features - d, token, arg);
    list->entries = list->pixels = 0;
    list->started = true;
}

/* Lists one pixel; false if it is zero in all channels and not the first such pixel. */
static bool list_pixel(struct list *list, const float *at, ptrdiff_t block, int blocks, int position)
{
    int before = list->entries;
    for (int g = 0; g < blocks * PV; g++) {
        const float *lanes = at + g / PV * block + g % PV * V;
        for (unsigned bits = v_bits(v_ne(v_load(lanes), v_zero())); bits; bits &= bits - 1) {
            int lane = __builtin_ctz(bits);
            list->entry[list->entries].value = lanes[lane];
            list->entry[list->entries++].channel = g * V + lane;
        }
    }
    if (list->entries == before) {
        if (list->has_zero)
            return false;
        list->has_zero = true;
    }
    list->pixel[list->pixels].end = list->entries;
    list->pixel[list->pixels++].position = position;
    return true;
}

void FAST(embed_max_pool_forward)(const struct embed_call *c)
{
    struct list list;
    if (c->blocks * L > ENTRIES) {
        ref_embed_max_pool_forward(c);
        return;
    }
    for (int window = 0; window < c->rows * c->width; window++) {
        float *token = c->tokens + window * c->ld_tokens;
        uint16_t *arg = c->arg + (ptrdiff_t)window * c->features;
        const float *first = c->in.at + (ptrdiff_t)(window / c->width) * c->max_pool_h * c->in.row +
                             (ptrdiff_t)(window % c->width) * c->max_pool_w * L;
        list.entries = list.pixels = 0;
        list.has_zero = list.started = false;
        for (int y = 0; y < c->max_pool_h; y++) {
            for (int x = 0; x < c->max_pool_w; x++) {
                if (list.pixels == PIXELS || list.entries + c->blocks * L > ENTRIES)
                    run_list(c, &list, token, arg);
                list_pixel(&list, first + y * c->in.row + x * L, c->in.block, c->blocks, y * c->max_pool_w + x);
            }
        }
        if (list.pixels > 0)
            run_list(c, &list, token, arg);
    }
}

/* The backward pass of one window: the gradient of every feature goes to the pixel that had its maximum. */
static void embed_window(const struct embed_call *c, int window, const float *by_feature)
{
    const float *dtoken = c->dtokens + window * c->ld_tokens;
    const uint16_t *arg = c->arg + (ptrdiff_t)window * c->features;
    int y0 = window / c->width * c->max_pool_h, x0 = window % c->width * c->max_pool_w, groups = c->blocks * PV;
    for (int d = 0; d < c->features; d++) {
        int y = y0 + arg[d] / c->max_pool_w, x = x0 + arg[d] % c->max_pool_w;
        vf gradient = v_all(dtoken[d]);
        for (int g = 0; g < groups; g++) {
            ptrdiff_t at = (ptrdiff_t)d * groups * V + g * V;
            if (c->dweights) {
                const float *in = c->in.at + g / PV * c->in.block + y * c->in.row + (ptrdiff_t)x * L + g % PV * V;
                v_store(c->dweights + at, v_fma(gradient, v_load(in), v_load(c->dweights + at)));
            }
            if (c->din.at) {
                float *din = c->din.at + g / PV * c->din.block + y * c->din.row + (ptrdiff_t)x * L + g % PV * V;
                v_store(din, v_fma(gradient, v_load(by_feature + at), v_load(din)));
            }
        }
    }
    if (c->dbias)
        FAST(add)((size_t)c->features, dtoken, c->dbias);
}

void FAST(embed_max_pool_backward)(const struct embed_call *c)
{
    const float *by_feature = c->packed + (ptrdiff_t)c->blocks * L * c->features;
    if (c->din.at)
        for (int b = 0; b < c->blocks; b++)
            for (int y = 0; y < c->din_rows; y++)
                memset(c->din.at + b * c->din.block + y * c->din.row, 0, (size_t)c->din_width * L * sizeof(float));
    for (int window = 0; window < c->rows * c->width; window++)
        embed_window(c, window, by_feature);
}
