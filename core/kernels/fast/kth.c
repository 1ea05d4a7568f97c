/* The k-th smallest value in one pass over the data.
 *
 * A sample of a few thousand values gives a bracket: two values between which the k-th smallest almost certainly is
 * (four standard deviations of its rank on either side). One pass counts the values below the bracket and at its
 * ends and collects the values inside; the k-th is then selected among them. The counts show whether the bracket
 * contains the k-th value. If it does not, or if too many values are inside, the reference kernel computes the
 * result. The result is exact in both cases. */
#include <math.h>
#include <string.h>

#include "core/kernels/fast/fast.h"
#include "core/kernels/ref/ref.h"

enum {
    L = MAP_LANES,
    SAMPLE = 2048,     /* number of sampled pixels per channel */
    CAPACITY = 49152,  /* maximum number of collected values per channel */
    SMALL = 4 * SAMPLE /* below this number of values the reference kernel, which counts histograms, is as fast */
};

/* The state of the search. If `together` is false, each of the 16 lanes has its own quantile; if it is true, all lanes
 * together have one quantile. */
struct search {
    const struct kth_set *set;
    bool together;
    int lanes; /* number of channels in use in a block */
    float low[L], high[L];
    int64_t below[L], low_or_below[L], high_or_below[L];
    /* number of values strictly between the bracket's ends; values equal to an end are only counted, so that many equal
     * values need no memory */
    int collected[L];
    uint32_t *list[L]; /* keys of the collected values, CAPACITY for each lane (L * CAPACITY for `together`) */
};

static uint32_t key_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u >> 31 ? ~u : u | 0x80000000u;
}

static float key_value(uint32_t k)
{
    uint32_t u = k >> 31 ? k ^ 0x80000000u : ~k;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Returns the value at index `rank` of the sorted array a[n]; reorders `a`. Quickselect with the median of three as
 * pivot. */
static uint32_t select_key(uint32_t *a, int n, int rank)
{
    int first = 0, last = n - 1;
    while (first < last) {
        uint32_t x = a[first], y = a[first + (last - first) / 2], z = a[last];
        uint32_t low = x < y ? x : y, high = x < y ? y : x, pivot = z < low ? low : z < high ? z : high;
        int i = first, j = last;
        while (i <= j) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i <= j) {
                uint32_t t = a[i];
                a[i++] = a[j];
                a[j--] = t;
            }
        }
        if (rank <= j)
            last = j;
        else if (rank >= i)
            first = i;
        else
            return a[rank];
    }
    return a[rank];
}

static int64_t set_pixels(const struct kth_set *s)
{
    return (int64_t)s->images * s->height * s->width;
}

static const float *pixel_at(const struct kth_set *s, int block, int64_t index)
{
    int64_t per_image = (int64_t)s->height * s->width, rest = index % per_image;
    return s->at + index / per_image * s->image + block * s->block + rest / s->width * s->row + rest % s->width * L;
}

/* Computes the bracket for rank k of `total` values from a sample of n keys. */
static void bracket(uint32_t *sample, int n, int64_t k, int64_t total, float *low, float *high)
{
    double q = (double)k / (double)total;
    int rank = (int)(q * n), margin = (int)(4 * sqrt(n * q * (1 - q))) + 8;
    *low = rank - margin >= 0 ? key_value(select_key(sample, n, rank - margin)) : -INFINITY;
    *high = rank + margin < n ? key_value(select_key(sample, n, rank + margin)) : INFINITY;
}

/* For each lane, how many values of one image are below the low end of the bracket (`below`), at most the low end
 * (`low`), and at most the high end (`high`). */
struct counts {
    vi below[PV], low[PV], high[PV];
};

/* Counts and collects the values of one row of a block. */
INLINE void search_row(struct search *s, const float *at, int width, struct counts *n)
{
    vf low[PV], high[PV];
    for (int g = 0; g < PV; g++) {
        low[g] = v_load(s->low + g * V);
        high[g] = v_load(s->high + g * V);
    }
    for (int x = 0; x < width; x++, at += L) {
        for (int g = 0; g < PV; g++) {
            vf v = v_load(at + g * V);
            vm above = v_gt(v, low[g]), below = v_lt(v, high[g]);
            n->below[g] = vi_count(n->below[g], v_lt(v, low[g]));
            n->low[g] = vi_count(n->low[g], v_le(v, low[g]));
            n->high[g] = vi_count(n->high[g], v_le(v, high[g]));
            for (unsigned bits = v_bits(above) & v_bits(below); bits; bits &= bits - 1) {
                int lane = g * V + __builtin_ctz(bits), slot = s->together ? 0 : lane;
                int limit = s->together ? L * CAPACITY : CAPACITY;
                if (s->collected[slot] < limit)
                    s->list[slot][s->collected[slot]] = key_of(at[lane]);
                s->collected[slot]++;
            }
        }
    }
}

static void add_counts(const struct search *s, int64_t *to, const vi *from)
{
    int32_t lanes[L];
    for (int g = 0; g < PV; g++)
        vi_store(lanes + g * V, from[g]);
    for (int l = 0; l < L; l++)
        to[s->together ? 0 : l] += lanes[l];
}

static void search_block(struct search *s, int block)
{
    const struct kth_set *set = s->set;
    for (int n = 0; n < set->images; n++) {
        struct counts counts;
        for (int g = 0; g < PV; g++)
            counts.below[g] = counts.low[g] = counts.high[g] = vi_zero();
        for (int y = 0; y < set->height; y++)
            search_row(s, set->at + n * set->image + block * set->block + y * set->row, set->width, &counts);
        add_counts(s, s->below, counts.below);
        add_counts(s, s->low_or_below, counts.low);
        add_counts(s, s->high_or_below, counts.high);
    }
}

/* Finds the k-th smallest of all values, k from 1. It is an end of the bracket, or one of the values collected between
 * the ends. Returns false if the k-th value lies outside the bracket, or if there were too many values between the ends
 * to collect them all. */
static bool found(struct search *s, int slot, float low, float high, int64_t k, float *value)
{
    int64_t rank = k - 1, inside = rank - s->low_or_below[slot];
    int limit = s->together ? L * CAPACITY : CAPACITY;
    if (rank < s->below[slot] || rank >= s->high_or_below[slot])
        return false;
    if (inside < 0)
        *value = low;
    else if (inside >= s->collected[slot])
        *value = high;
    else if (s->collected[slot] <= limit)
        *value = key_value(select_key(s->list[slot], s->collected[slot], (int)inside));
    else
        return false;
    return true;
}

/* Gives the unused lanes, from `lanes` on, an empty bracket with no values below it. */
static void close_lanes(struct search *s, int lanes)
{
    for (int l = lanes; l < L; l++) {
        s->low[l] = -INFINITY;
        s->high[l] = -INFINITY;
    }
}

void FAST(kth_block)(const struct kth_set *set, int block, int64_t k, real *out, void *scratch)
{
    int lanes = set->channels - block * L < L ? set->channels - block * L : L;
    int64_t total = set_pixels(set);
    struct search s = {.set = set};
    uint32_t *sample = (uint32_t *)scratch + L * CAPACITY;
    if (total < SMALL) {
        ref_kth_block(set, block, k, out, scratch);
        return;
    }
    for (int i = 0; i < SAMPLE; i++) {
        const float *at = pixel_at(set, block, (int64_t)((double)i * (double)total / SAMPLE));
        for (int l = 0; l < lanes; l++)
            sample[l * SAMPLE + i] = key_of(at[l]);
    }
    for (int l = 0; l < lanes; l++)
        bracket(sample + l * SAMPLE, SAMPLE, k, total, &s.low[l], &s.high[l]);
    for (int l = 0; l < L; l++)
        s.list[l] = (uint32_t *)scratch + l * CAPACITY;
    close_lanes(&s, lanes);
    search_block(&s, block);
    bool missed[L];
    for (int l = 0; l < lanes; l++)
        missed[l] = !found(&s, l, s.low[l], s.high[l], k, &out[l]);
    for (int l = 0; l < lanes; l++) {
        if (missed[l]) {
            struct kth_set one = *set;
            one.at = set->at + block * set->block + l;
            one.channels = 1;
            ref_kth_block(&one, 0, k, &out[l], scratch);
        }
    }
}

real FAST(kth_all)(const struct kth_set *set, int64_t k, void *scratch)
{
    int64_t pixels = set_pixels(set), total = pixels * set->channels;
    uint32_t *sample = (uint32_t *)scratch + L * CAPACITY;
    struct search s = {.set = set, .together = true};
    int blocks = map_blocks(set->channels), n = 0;
    float low, high;
    if (pixels < SMALL)
        return ref_kth_all(set, k, scratch);
    for (int i = 0; i < 2 * SAMPLE; i++) {
        int64_t index = (int64_t)((double)i * (double)pixels / (2 * SAMPLE));
        int channel = i % set->channels;
        sample[n++] = key_of(pixel_at(set, channel / L, index)[channel % L]);
    }
    bracket(sample, n, k, total, &low, &high);
    s.list[0] = scratch;
    for (int b = 0; b < blocks; b++) {
        for (int l = 0; l < L; l++) {
            s.low[l] = low;
            s.high[l] = high;
        }
        close_lanes(&s, set->channels - b * L < L ? set->channels - b * L : L);
        search_block(&s, b);
    }
    /* The sums over all lanes may include unused lanes, which counted nothing: their bracket ends at minus infinity,
     * and no value is below that. */
    float value;
    return found(&s, 0, low, high, k, &value) ? value : ref_kth_all(set, k, scratch);
}

void FAST(collect_above)(const struct above_call *c)
{
    vf bound[PV];
    for (int g = 0; g < PV; g++)
        bound[g] = v_load(c->bound + g * V);
    for (int y = 0; y < c->rows; y++) {
        const float *at = c->x.at + y * c->x.row;
        for (int x = 0; x < c->width; x++, at += L) {
            for (int g = 0; g < PV; g++) {
                for (unsigned bits = v_bits(v_gt(v_load(at + g * V), bound[g])); bits; bits &= bits - 1) {
                    int l = g * V + __builtin_ctz(bits);
                    if (c->count[l] < c->room)
                        c->list[(ptrdiff_t)l * c->room + c->count[l]] = at[l];
                    c->count[l]++;
                }
            }
        }
    }
}
