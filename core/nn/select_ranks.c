/* Exact selection over ranks: radix selection with histograms of 11 bits, and the merge of the ranks' largest values.
 */
#include "core/nn/select_ranks.h"

#include <string.h>

#include "core/nn/select_kth.h"

enum { DIGIT = 11, BUCKETS = 1 << DIGIT, BITS = 8 * (int)sizeof(real) };

/* Maps reals to unsigned integers with the same order. */
static uint64_t key_of(real x)
{
    if (sizeof(real) == 4) {
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        return bits >> 31 ? (uint32_t)~bits : bits | UINT32_C(1) << 31;
    }
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static real real_of(uint64_t key)
{
    real x;
    if (sizeof(real) == 4) {
        uint32_t bits = key >> 31 ? (uint32_t)key & ~(UINT32_C(1) << 31) : ~(uint32_t)key;
        memcpy(&x, &bits, sizeof bits);
        return x;
    }
    uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
    memcpy(&x, &bits, sizeof x);
    return x;
}

struct histogram_task {
    const struct kth_set *set;
    bool together;
    int shift, bits;        /* the current digit: `bits` bits, of which the lowest is bit `shift` */
    const uint64_t *prefix; /* [groups] the digits found so far */
    int32_t *counts;        /* [workers][groups][BUCKETS] histograms */
    int groups;
};

/* Adds one row of one image to the worker's histograms, for all channels. */
static void histogram_task(void *context, int chunk, int worker)
{
    const struct histogram_task *t = context;
    const struct kth_set *s = t->set;
    int image = chunk / s->height, y = chunk % s->height, above = t->shift + t->bits;
    int32_t *counts = t->counts + (size_t)worker * (size_t)t->groups * BUCKETS;
    for (int c = 0; c < s->channels; c++) {
        const real *row = s->at + image * s->image + c / MAP_LANES * s->block + y * s->row + c % MAP_LANES;
        int group = t->together ? 0 : c;
        int32_t *to = counts + (size_t)group * BUCKETS;
        for (int x = 0; x < s->width; x++) {
            uint64_t key = key_of(row[(ptrdiff_t)x * MAP_LANES]);
            if (above >= BITS || key >> above == t->prefix[group])
                to[key >> t->shift & ((UINT64_C(1) << t->bits) - 1)]++;
        }
    }
}

/* The digit whose bucket contains the k-th value; *k becomes the rank within that bucket. */
static uint64_t find_bucket(const double *counts, int64_t *k)
{
    int64_t before = 0;
    for (int i = 0; i < BUCKETS; i++) {
        if (before + (int64_t)counts[i] >= *k) {
            *k -= before;
            return (uint64_t)i;
        }
        before += (int64_t)counts[i];
    }
    return BUCKETS - 1;
}

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, NULL, "the step needs more memory than there is");
}

enum status select_ranks(struct exec *e, const struct kth_set *set, bool together, const int64_t *k, real *out,
                         struct error *err)
{
    int groups = together ? 1 : set->channels, workers = thread_pool_threads(e->pool);
    size_t each = (size_t)groups * BUCKETS;
    int32_t *counts = arena_alloc(e->arena, (size_t)workers * each * sizeof *counts);
    double *total = arena_alloc(e->arena, each * sizeof *total);
    uint64_t *prefix = arena_zalloc(e->arena, (size_t)groups, sizeof *prefix);
    int64_t *place = arena_alloc(e->arena, (size_t)groups * sizeof *place);
    if (counts == NULL || total == NULL || prefix == NULL || place == NULL)
        return no_memory(err);
    memcpy(place, k, (size_t)groups * sizeof *place);
    enum status status = STATUS_OK;
    for (int left = BITS; !status && left > 0;) {
        int bits = left < DIGIT ? left : DIGIT;
        left -= bits;
        struct histogram_task task = {set, together, left, bits, prefix, counts, groups};
        memset(counts, 0, (size_t)workers * each * sizeof *counts);
        if (!thread_pool_run(e->pool, histogram_task, &task, set->images * set->height))
            return thread_pool_check(e->pool, err);
        for (size_t i = 0; i < each; i++) {
            total[i] = 0.0;
            for (int w = 0; w < workers; w++)
                total[i] += counts[(size_t)w * each + i];
        }
        status = comm_sum(e->comm, total, each, err);
        for (int g = 0; !status && g < groups; g++)
            prefix[g] = prefix[g] << bits | find_bucket(total + (size_t)g * BUCKETS, &place[g]);
    }
    for (int g = 0; !status && g < groups; g++)
        out[g] = real_of(prefix[g]);
    return status;
}

/* Layout of a rank's message: a header for each group, then `most` values for each group. */
struct head {
    int64_t sum, count;
};

static size_t part_bytes(size_t groups, size_t most)
{
    size_t bytes = groups * (sizeof(struct head) + most * sizeof(real)), unit = _Alignof(struct head);
    return (bytes + unit - 1) / unit * unit;
}

/* Writes the largest values of group g over all ranks to `values`. `merged` has room for the values of all ranks. */
static void merge_group(const char *all, size_t ranks, size_t groups, size_t g, size_t most, real *merged, real *values,
                        int *count, int64_t *sum)
{
    size_t n = 0;
    *sum = 0;
    for (size_t r = 0; r < ranks; r++) {
        const struct head *heads = (const struct head *)(const void *)(all + r * part_bytes(groups, most));
        const real *from = (const real *)(const void *)(heads + groups) + g * most;
        memcpy(merged + n, from, (size_t)heads[g].count * sizeof *merged);
        n += (size_t)heads[g].count;
        *sum = *sum < 0 || heads[g].sum < 0 ? -1 : *sum + heads[g].sum;
    }
    size_t keep = n < most ? n : most;
    if (keep < n) /* select_kth() moves the largest values to the end */
        select_kth(merged, n, n - keep + 1);
    memcpy(values, merged + n - keep, keep * sizeof *values);
    *count = (int)keep;
}

enum status largest_ranks(struct exec *e, int groups, int most, real *values, int *count, int64_t *sum,
                          struct error *err)
{
    size_t ranks = (size_t)comm_size(e->comm), room = (size_t)most, bytes = part_bytes((size_t)groups, room);
    char *mine = arena_zalloc(e->arena, 1, bytes), *all = arena_alloc(e->arena, ranks * bytes);
    real *merged = arena_alloc(e->arena, ranks * room * sizeof *merged);
    if (mine == NULL || all == NULL || merged == NULL)
        return no_memory(err);
    struct head *head = (struct head *)(void *)mine;
    real *own = (real *)(void *)(head + groups);
    for (int g = 0; g < groups; g++) {
        head[g] = (struct head){sum[g], count[g]};
        memcpy(own + (size_t)g * room, values + (size_t)g * room, (size_t)count[g] * sizeof *own);
    }
    enum status status = comm_gather(e->comm, mine, bytes, all, err);
    for (int g = 0; !status && g < groups; g++)
        merge_group(all, ranks, (size_t)groups, (size_t)g, room, merged, values + (size_t)g * room, &count[g], &sum[g]);
    return status;
}
