/* Reference selection of the k-th smallest value. It maps values to integer keys of the same order and counts three
 * histograms over the bits of the keys; each narrows the range by a factor of 2^11. Exact for any data. -0 sorts
 * before +0, and NaN sorts to the ends. */
#include <string.h>

#include "core/kernels/ref/ref.h"

enum { L = MAP_LANES, BITS = 11, BINS = 1 << BITS };

#ifdef MOTIF_REAL_DOUBLE
typedef uint64_t key;
#else
typedef uint32_t key;
#endif
enum { KEY_BITS = 8 * (int)sizeof(key) };

static key key_of(real x)
{
    key u;
    memcpy(&u, &x, sizeof u);
    return u >> (KEY_BITS - 1) ? (key)~u : (key)(u | (key)1 << (KEY_BITS - 1));
}

static real key_value(key k)
{
    key u = k >> (KEY_BITS - 1) ? (key)(k ^ (key)1 << (KEY_BITS - 1)) : (key)~k;
    real x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Adds the keys of one channel whose upper bits equal `prefix` to the histogram of bits [shift, shift + bits). */
static void histogram(const struct kth_set *set, int channel, key prefix, int shift, int bits, int64_t *bins)
{
    key mask = ((key)1 << bits) - 1;
    for (int n = 0; n < set->images; n++) {
        for (int y = 0; y < set->height; y++) {
            const real *at = set->at + n * set->image + channel / L * set->block + y * set->row + channel % L;
            for (int x = 0; x < set->width; x++) {
                key k = key_of(at[(ptrdiff_t)x * L]);
                if (shift + bits == KEY_BITS || k >> (shift + bits) == prefix)
                    bins[k >> shift & mask]++;
            }
        }
    }
}

static real select_channels(const struct kth_set *set, int first, int end, int64_t k, int64_t *bins)
{
    key prefix = 0;
    for (int left = KEY_BITS; left > 0;) {
        int bits = left < BITS ? left : BITS, bin = 0;
        memset(bins, 0, BINS * sizeof *bins);
        left -= bits;
        for (int c = first; c < end; c++)
            histogram(set, c, prefix, left, bits, bins);
        while (bin < (1 << bits) - 1 && k > bins[bin])
            k -= bins[bin++];
        prefix = (key)(prefix << bits) | (key)bin;
    }
    return key_value(prefix);
}

void ref_kth_block(const struct kth_set *set, int block, int64_t k, real *out, void *scratch)
{
    for (int c = block * L; c < set->channels && c < (block + 1) * L; c++)
        out[c - block * L] = select_channels(set, c, c + 1, k, scratch);
}

real ref_kth_all(const struct kth_set *set, int64_t k, void *scratch)
{
    return select_channels(set, 0, set->channels, k, scratch);
}

void ref_collect_above(const struct above_call *c)
{
    for (int y = 0; y < c->rows; y++) {
        for (int x = 0; x < c->width; x++) {
            const real *at = c->x.at + y * c->x.row + (ptrdiff_t)x * L;
            for (int l = 0; l < L; l++) {
                if (!(at[l] > c->bound[l]))
                    continue;
                if (c->count[l] < c->room)
                    c->list[(ptrdiff_t)l * c->room + c->count[l]] = at[l];
                c->count[l]++;
            }
        }
    }
}
