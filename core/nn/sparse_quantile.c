/* Finds the quantiles of a sparse layer's batch. There are three ways to find a quantile, all exact:
 *
 * 1. From a whole batch: a kernel selects the k-th value in place.
 * 2. From few large values. At low densities the quantile is among the largest values of a channel. The layer keeps a
 *    bound for each channel, which it computed from an earlier batch, and collects the values above it. If there are
 *    enough of them, the quantile is selected among them. Otherwise it is selected from the whole batch, and a new
 *    bound is set. Bounds change the time of a step, never its result, so a checkpoint does not contain them.
 * 3. From several batches, with `accumulate`: thresholds move once the number of collected values times the density
 *    reaches `accumulate`. This product is the number of values above the quantile. It was below `accumulate` before
 *    the last batch, and is below it for that batch alone, or else the batch would not be collected. So it is enough to
 *    store the 2 * `accumulate` largest values. If the density rises meanwhile, the collected values are dropped. With
 *    `elements` there are so few values that all are stored.
 *
 * Ranks that share a batch find the same quantiles. Where few large values are enough, every rank sends its largest
 * values to the others; otherwise the ranks select digit by digit (select_ranks()). All ranks store the same collected
 * values. */
#include "core/nn/sparse_int.h"

#include <math.h>
#include <string.h>

#include "core/autodiff/tape.h"
#include "core/nn/select_kth.h"

/* Exact order statistics of values that are distributed over ranks.
 *
 * select_ranks() finds the result digit by digit, from a histogram of each digit that is summed over all ranks. All
 * ranks make the same calls with the same k and get the same result. Memory comes from the step arena. Errors:
 * STATUS_NO_MEMORY and those of comm.h. */

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

/* out[g] = the k[g]-th smallest (1-based) value of channel g over all ranks of e->comm; with `together`, all channels
 * are one group and out[0] is the only result. */
static enum status select_ranks(struct exec *e, const struct kth_set *set, bool together, const int64_t *k, real *out,
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

/* Finds the `most` largest values of each group over all ranks. values: [groups][most], count: [groups]. On entry,
 * the first count[g] (<= most) values of row g are the largest of this rank. On return they are the largest of all
 * ranks, unordered. sum: [groups]; each sum[g] is overwritten with its sum over ranks, or with -1 if it is negative
 * on any rank. */
static enum status largest_ranks(struct exec *e, int groups, int most, real *values, int *count, int64_t *sum,
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

/* --- order statistics of quantiles ---------------------------------------------------------- */

bool sparse_no_memory(struct exec *e)
{
    (void)no_memory(&e->error);
    return false;
}

struct order_statistic sparse_order_of(const struct sparse *s, int64_t n, double density)
{
    double lower = 1.0 - density;
    if (s->config.interpolate) {
        double place = lower * (double)(n - 1);
        int64_t below = (int64_t)place;
        return (struct order_statistic){below + 1, below + 1 < n ? place - (double)below : 0.0};
    }
    int64_t k = (int64_t)((double)n * lower);
    return (struct order_statistic){k < 1 ? 1 : k, 0.0};
}

/* The density of a channel: the product of the common density, `share` and `times`, at most 1. */
static double channel_density(const struct sparse *s, int channel, double density)
{
    return fmin(1.0, density * s->share[channel] * s->times[channel]);
}

/* The order statistic that is the quantile of one channel. */
static struct order_statistic order_of_channel(const struct quantile_task *t, int channel)
{
    return t->orders == NULL ? t->order : t->orders[channel];
}

/* The largest order of any channel's quantile, counted from the largest value. */
static int64_t largest_top(const struct quantile_task *t)
{
    int64_t k = t->order.k;
    for (int c = 0; t->orders != NULL && c < t->sparse->config.channels; c++)
        k = c == 0 || t->orders[c].k < k ? t->orders[c].k : k;
    return t->batch - k + 1;
}

/* --- quantiles of a batch ----------------------------------------------------------------------- */

struct kth_set sparse_set_of(const struct tensor *z)
{
    const struct map_shape *m = &z->map;
    return (struct kth_set){.at = map_strip_at(m, z->data, 0, 0).at,
                            .images = m->images,
                            .channels = m->channels,
                            .height = m->height,
                            .width = m->width,
                            .image = map_image_stride(m),
                            .block = map_block_stride(m),
                            .row = map_row_stride(m)};
}

static real between(real low, real high, double share)
{
    return share > 0.0 ? (real)((double)low + share * ((double)high - (double)low)) : low;
}

/* The quantiles of a block whose channels have different orders. A call of the kernel selects the same order for all
 * channels of the block. So the kernel is called again for each channel whose order differs from the previous
 * channel's. */
static void select_uneven_block(const struct quantile_task *t, int block, int lanes, char *scratch)
{
    real low[MAP_LANES] = {0}, high[MAP_LANES] = {0};
    int64_t selected = -1;
    for (int i = 0; i < lanes; i++) {
        struct order_statistic order = t->orders[block * MAP_LANES + i];
        if (order.k != selected) {
            t->kernels->kth_block(&t->set, block, order.k, low, scratch);
            t->kernels->kth_block(&t->set, block, order.k < t->batch ? order.k + 1 : order.k, high, scratch);
        }
        selected = order.k;
        t->quantile[block * MAP_LANES + i] = between(low[i], high[i], order.share);
    }
}

static void select_task(void *context, int chunk, int worker)
{
    const struct quantile_task *t = context;
    char *scratch = t->scratch + (size_t)worker * KTH_SCRATCH_BYTES;
    if (t->sparse->config.mode == SPARSE_SINGLE) {
        real low = t->kernels->kth_all(&t->set, t->order.k, scratch);
        real high = t->order.share > 0.0 ? t->kernels->kth_all(&t->set, t->order.k + 1, scratch) : low;
        t->quantile[0] = between(low, high, t->order.share);
        return;
    }
    real *low = t->quantile + (ptrdiff_t)chunk * MAP_LANES, high[MAP_LANES] = {0};
    int lanes = t->set.channels - chunk * MAP_LANES < MAP_LANES ? t->set.channels - chunk * MAP_LANES : MAP_LANES;
    if (t->orders != NULL) {
        select_uneven_block(t, chunk, lanes, scratch);
        return;
    }
    t->kernels->kth_block(&t->set, chunk, t->order.k, low, scratch);
    if (t->order.share > 0.0)
        t->kernels->kth_block(&t->set, chunk, t->order.k + 1, high, scratch);
    for (int i = 0; i < lanes && t->order.share > 0.0; i++)
        low[i] = between(low[i], high[i], t->order.share);
}

static bool kernel_scratch(struct exec *e, struct quantile_task *t, int workers)
{
    t->scratch = arena_alloc(e->arena, (size_t)workers * KTH_SCRATCH_BYTES);
    return t->scratch != NULL || sparse_no_memory(e);
}

/* Selects the quantiles from all values of this rank's batch, or of the batch that ranks share. orders: [groups] an
 * order statistic for each group; NULL: task->order for every group. */
static bool select_whole_batch(struct exec *e, struct quantile_task *t, const struct order_statistic *orders)
{
    const struct sparse *s = t->sparse;
    int groups = s->groups;
    if (e->comm == NULL) {
        int tasks = s->config.mode == SPARSE_SINGLE ? 1 : map_blocks(t->set.channels);
        if (!kernel_scratch(e, t, thread_pool_workers(e->pool, tasks)))
            return false;
        return thread_pool_run(e->pool, select_task, t, tasks) || !thread_pool_check(e->pool, &e->error);
    }
    int64_t *k = arena_alloc(e->arena, (size_t)groups * sizeof *k);
    real *high = arena_alloc(e->arena, (size_t)groups * sizeof *high);
    bool more = false;
    for (int g = 0; k != NULL && g < groups; g++) {
        struct order_statistic order = orders == NULL ? t->order : orders[g];
        k[g] = order.k;
        more = more || order.share > 0.0;
    }
    if (k == NULL || high == NULL)
        return sparse_no_memory(e);
    if (select_ranks(e, &t->set, s->config.mode == SPARSE_SINGLE, k, t->quantile, &e->error))
        return false;
    for (int g = 0; g < groups && more; g++)
        k[g]++;
    if (more && select_ranks(e, &t->set, s->config.mode == SPARSE_SINGLE, k, high, &e->error))
        return false;
    for (int g = 0; g < groups && more; g++)
        t->quantile[g] = between(t->quantile[g], high[g], (orders == NULL ? t->order : orders[g]).share);
    return true;
}

/* --- quantiles from few large values --------------------------------------------------------------- */

/* The selection from few large values is tried only if the quantile is among the TOP_MOST largest values. */
enum { TOP_MOST = 512 };

/* Returns how many values of a batch should be above a bound if the quantile is the `order`-th largest value. The
 * result is several times `order`, because the next batch may have fewer values above the bound. */
static int64_t top_wanted(int64_t order)
{
    return 6 * order + 64;
}

struct top_task {
    const struct sparse *sparse;
    const struct kernels *kernels;
    const struct tensor *z;
    int room, *count; /* count: [images][padded] number of values above the bound; at most `room` of them are stored */
    real *list;       /* [images][padded][room] the values */
};

static void top_task(void *context, int chunk, int worker)
{
    const struct top_task *t = context;
    const struct map_shape *s = &t->z->map;
    int block = chunk % map_blocks(s->channels), image = chunk / map_blocks(s->channels);
    size_t at = (size_t)chunk * MAP_LANES;
    struct above_call call = {.rows = s->height,
                              .width = s->width,
                              .room = t->room,
                              .x = map_strip_at(s, t->z->data, image, 0),
                              .bound = t->sparse->bound + block * MAP_LANES,
                              .list = t->list + at * (size_t)t->room,
                              .count = t->count + at};
    call.x.at += block * call.x.block;
    t->kernels->collect_above(&call);
}

/* Copies all values of a channel above its bound to `values` and returns their number; -1 if some were not stored. */
static int64_t top_values(const struct top_task *t, int channel, real *values)
{
    int padded = map_padded(t->z->map.channels);
    int64_t n = 0;
    for (int image = 0; image < t->z->map.images; image++) {
        size_t at = (size_t)image * (size_t)padded + (size_t)channel;
        if (t->count[at] > t->room)
            return -1;
        memcpy(values + n, t->list + at * (size_t)t->room, (size_t)t->count[at] * sizeof(real));
        n += t->count[at];
    }
    return n;
}

/* Large values of one channel. n values of the batch are above the channel's bound, and `values` contains the `have`
 * largest of them. The quantile is the `top`-th largest value; top <= have <= n. */
struct top_list {
    real *values;
    int64_t have, n, top;
};

/* Selects a channel's quantile from its large values. Raises the channel's bound if too many values are above it. Sets
 * *sound to false if so few values are above it that the next batch cannot use the bound. */
static void take_top(struct sparse *s, struct quantile_task *task, int channel, const struct top_list *list,
                     bool *sound)
{
    int64_t wanted = top_wanted(list->top), from = list->have - list->top;
    size_t have = (size_t)list->have;
    real low = select_kth(list->values, have, (size_t)(from + 1));
    double share = order_of_channel(task, channel).share;
    real high = share > 0.0 && list->top > 1 ? select_kth(list->values, have, (size_t)(from + 2)) : low;
    task->quantile[channel] = between(low, high, share);
    *sound = *sound && list->n >= 3 * list->top + 16;
    if (list->n > 4 * wanted)
        s->bound[channel] = select_kth(list->values, have, (size_t)(list->have - wanted));
}

/* Does the work of select_from_top() for a batch that ranks share: every rank sends the largest values of its own
 * samples to all others. t: NULL if this rank has no memory to collect values. It then sends a negative count, and all
 * ranks select from the whole batch instead. */
static bool select_from_top_of_ranks(struct exec *e, struct sparse *s, const struct top_task *t,
                                     struct quantile_task *task, int64_t top, real *room)
{
    int channels = s->config.channels, most = (int)top_wanted(top) + 1;
    real *values = arena_alloc(e->arena, (size_t)channels * (size_t)most * sizeof *values);
    int *count = arena_alloc(e->arena, (size_t)channels * sizeof *count);
    int64_t *all = arena_alloc(e->arena, (size_t)channels * sizeof *all);
    if (values == NULL || count == NULL || all == NULL)
        return sparse_no_memory(e);
    for (int c = 0; c < channels; c++) {
        int64_t n = all[c] = t == NULL ? -1 : top_values(t, c, room);
        count[c] = (int)(n < 0 ? 0 : n < most ? n : most);
        if (t != NULL && n > most) /* select_kth() moves the largest values to the end */
            select_kth(room, (size_t)n, (size_t)(n - most + 1));
        if (count[c] > 0)
            memcpy(values + (size_t)c * (size_t)most, room + (n > most ? n - most : 0),
                   (size_t)count[c] * sizeof *values);
    }
    if (largest_ranks(e, channels, most, values, count, all, &e->error))
        return false;
    bool found = true, sound = true;
    for (int c = 0; c < channels && found; c++) {
        int64_t own = task->batch - order_of_channel(task, c).k + 1;
        found = all[c] >= own;
        if (found)
            take_top(s, task, c, &(struct top_list){values + (size_t)c * (size_t)most, count[c], all[c], own}, &sound);
    }
    s->bounded = found && sound;
    return found;
}

/* Selects the quantile of each channel from the few values above the channel's bound. top: every quantile is one of the
 * `top` largest values of its channel. Returns false, and sets no error, if too few values are above the bounds. */
static bool select_from_top(struct exec *e, struct sparse *s, const struct tensor *z, struct quantile_task *task,
                            int64_t top)
{
    int padded = map_padded(z->map.channels), images = z->map.images, blocks = map_blocks(z->map.channels);
    int64_t wanted = top_wanted(top);
    struct top_task t = {s, e->kernels, z, (int)wanted, NULL, NULL};
    size_t lists = (size_t)images * (size_t)padded;
    t.count = arena_zalloc(e->arena, lists, sizeof *t.count);
    t.list = arena_alloc(e->arena, lists * (size_t)t.room * sizeof *t.list);
    real *values = arena_alloc(e->arena, (size_t)images * (size_t)t.room * sizeof *values);
    bool room = t.count != NULL && t.list != NULL && values != NULL;
    if (room && !thread_pool_run(e->pool, top_task, &t, images * blocks)) {
        (void)thread_pool_check(e->pool, &e->error);
        return false;
    }
    if (e->comm != NULL)
        return select_from_top_of_ranks(e, s, room ? &t : NULL, task, top, values);
    if (!room)
        return false; /* the caller then selects from the whole batch, which needs less memory */
    bool found = true, sound = true;
    for (int c = 0; c < s->config.channels && found; c++) {
        int64_t n = top_values(&t, c, values), own = task->batch - order_of_channel(task, c).k + 1;
        found = n >= own;
        if (found)
            take_top(s, task, c, &(struct top_list){values, n, n, own}, &sound);
    }
    s->bounded = found && sound;
    return found;
}

/* Sets the bounds from this batch: top_wanted(top) values of each channel are above its bound. */
static void set_bounds(struct exec *e, struct sparse *s, const struct quantile_task *task, int64_t top)
{
    struct quantile_task bounds = *task;
    bounds.order = (struct order_statistic){task->batch - top_wanted(top), 0.0};
    bounds.orders = NULL;
    bounds.quantile = s->bound;
    if (!select_whole_batch(e, &bounds, NULL))
        return;
    for (int c = s->config.channels; c < map_padded(s->config.channels); c++)
        s->bound[c] = (real)INFINITY;
    s->bounded = true;
    s->bounded_rank = top;
}

/* --- quantiles of several batches --------------------------------------------------------------- */

/* Copies all values of channels [first, last) of the batch. */
static size_t gather_values(const struct kth_set *set, int first, int last, real *to)
{
    size_t n = 0;
    for (int image = 0; image < set->images; image++)
        for (int c = first; c < last; c++)
            for (int y = 0; y < set->height; y++) {
                const real *row =
                    set->at + image * set->image + c / MAP_LANES * set->block + y * set->row + c % MAP_LANES;
                for (int x = 0; x < set->width; x++)
                    to[n++] = row[(ptrdiff_t)x * MAP_LANES];
            }
    return n;
}

static size_t gather_group(const struct quantile_task *t, int group, real *values)
{
    bool single = t->sparse->config.mode == SPARSE_SINGLE;
    return gather_values(&t->set, single ? 0 : group, single ? t->set.channels : group + 1, values);
}

/* For one group, joins the values of this batch with the stored values of earlier batches. values: n values of this
 * batch (all values or the largest ones), and room for the stored ones, which the function appends. If the thresholds
 * move, it selects the quantile of all collected values; otherwise it stores the largest values again. Values that were
 * dropped earlier are smaller than all stored ones, so the quantile keeps its order, counted from the largest value. */
static void sparse_quantile_collect(const struct quantile_task *t, int group, real *values, size_t n)
{
    const struct sparse *s = t->sparse;
    memcpy(values + n, s->top + group * s->keep, (size_t)s->kept * sizeof(real));
    n += (size_t)s->kept;
    if (t->update) {
        /* number of dropped values; all are smaller than the stored ones */
        int64_t gone = s->collected + t->batch - (int64_t)n;
        int64_t k = t->order.k - gone < 1 ? 1 : t->order.k - gone;
        real low = select_kth(values, n, (size_t)k);
        real high = t->order.share > 0.0 && (size_t)k < n ? select_kth(values, n, (size_t)k + 1) : low;
        t->quantile[group] = between(low, high, t->order.share);
        return;
    }
    int64_t keep = (int64_t)n < s->keep ? (int64_t)n : s->keep;
    if (keep < (int64_t)n) /* select_kth() moves the largest values to the end */
        select_kth(values, n, n - (size_t)keep + 1);
    memcpy(s->top + group * s->keep, values + n - (size_t)keep, (size_t)keep * sizeof(real));
}

static void collect_task(void *context, int group, int worker)
{
    const struct quantile_task *t = context;
    real *values = t->values + (size_t)worker * t->capacity;
    sparse_quantile_collect(t, group, values, gather_group(t, group, values));
}

/* Calls sparse_quantile_collect() for each group of a batch that ranks share. Each rank takes the `keep` largest values
 * of its samples, because more are never needed, and the ranks exchange them. The groups use the memory t->values one
 * after another. */
static bool collect_ranks(struct exec *e, struct sparse *s, const struct quantile_task *t)
{
    size_t keep = (size_t)s->keep;
    real *largest = arena_alloc(e->arena, (size_t)s->groups * keep * sizeof *largest);
    int *count = arena_alloc(e->arena, (size_t)s->groups * sizeof *count);
    int64_t *all = arena_zalloc(e->arena, (size_t)s->groups, sizeof *all);
    if (largest == NULL || count == NULL || all == NULL)
        return sparse_no_memory(e);
    for (int g = 0; g < s->groups; g++) {
        size_t n = gather_group(t, g, t->values), most = n < keep ? n : keep;
        if (most < n)
            select_kth(t->values, n, n - most + 1);
        memcpy(largest + (size_t)g * keep, t->values + n - most, most * sizeof *largest);
        count[g] = (int)most;
    }
    if (largest_ranks(e, s->groups, (int)keep, largest, count, all, &e->error))
        return false;
    for (int g = 0; g < s->groups; g++) {
        memcpy(t->values, largest + (size_t)g * keep, (size_t)count[g] * sizeof *largest);
        sparse_quantile_collect(t, g, t->values, (size_t)count[g]);
    }
    return true;
}

bool sparse_select_from_collected(struct exec *e, struct sparse *s, struct quantile_task *task)
{
    task->capacity = (size_t)task->batch + (size_t)(2 * s->keep);
    size_t workers = e->comm == NULL ? (size_t)thread_pool_workers(e->pool, s->groups) : 1;
    task->values = arena_alloc(e->arena, task->capacity * workers * sizeof(real));
    if (task->values == NULL)
        return sparse_no_memory(e);
    if (e->comm == NULL && !thread_pool_run(e->pool, collect_task, task, s->groups))
        return !thread_pool_check(e->pool, &e->error);
    if (e->comm != NULL && !collect_ranks(e, s, task))
        return false;
    s->collected = task->update ? 0 : s->collected + task->batch;
    s->kept = s->collected < s->keep ? s->collected : s->keep;
    return true;
}

/* As reinitialised_quantiles() below, for a batch whose samples are spread over several processes. */
static bool reinitialised_ranks(struct exec *e, struct sparse *s, struct quantile_task *task, double density)
{
    struct order_statistic *orders = arena_alloc(e->arena, (size_t)s->groups * sizeof *orders);
    struct quantile_task own = *task;
    bool any = false;
    own.quantile = arena_zalloc(e->arena, (size_t)map_padded(s->config.channels), sizeof(real));
    for (int c = 0; orders != NULL && c < s->groups; c++) {
        orders[c] = sparse_order_of(s, task->batch, channel_density(s, c, density));
        any = any || s->times[c] > 1.0;
    }
    if (any && (orders == NULL || own.quantile == NULL || !select_whole_batch(e, &own, orders)))
        return false;
    for (int c = 0; any && c < s->groups; c++) {
        task->quantile[c] = s->times[c] > 1.0 ? own.quantile[c] : task->quantile[c];
        s->times[c] = fmax(1.0, s->times[c] * s->fade);
    }
    return true;
}

/* Replaces the quantiles of reinitialised channels. The density of channel c is s->times[c] times as high as that of
 * other channels, so its quantile is another order statistic. Each call moves s->times[c] closer to 1. */
static bool reinitialised_quantiles(struct exec *e, struct sparse *s, struct quantile_task *task, double density)
{
    for (int c = 0; c < s->config.channels; c++) {
        real low[MAP_LANES] = {0}, high[MAP_LANES] = {0};
        if (s->times[c] <= 1.0)
            continue;
        if (task->scratch == NULL && !kernel_scratch(e, task, 1))
            return false;
        struct order_statistic order = sparse_order_of(s, task->batch, channel_density(s, c, density));
        task->kernels->kth_block(&task->set, c / MAP_LANES, order.k, low, task->scratch);
        if (order.share > 0.0)
            task->kernels->kth_block(&task->set, c / MAP_LANES, order.k + 1, high, task->scratch);
        task->quantile[c] = between(low[c % MAP_LANES], high[c % MAP_LANES], order.share);
        s->times[c] = fmax(1.0, s->times[c] * s->fade);
    }
    return true;
}

/* Finds the quantiles of this batch alone: from few large values if the stored bounds serve these order statistics,
 * else from the whole batch. */
bool sparse_select_from_batch(struct exec *e, struct sparse *s, const struct tensor *z, struct quantile_task *task)
{
    int64_t top = largest_top(task);
    bool few = s->config.mode == SPARSE_PER_CHANNEL && top <= TOP_MOST && 4 * top_wanted(top) < task->batch;
    if (few && s->bounded && s->bounded_rank == top && select_from_top(e, s, z, task, top))
        return true;
    if (e->error.code || !select_whole_batch(e, task, task->orders))
        return false;
    if (few && task->batch > 0)
        set_bounds(e, s, task, top);
    return true;
}

/* Replaces the quantiles of reinitialised channels, whose density is higher. */
bool sparse_select_reinitialised(struct exec *e, struct sparse *s, struct quantile_task *task, double density)
{
    if (e->comm != NULL)
        return reinitialised_ranks(e, s, task, density);
    return reinitialised_quantiles(e, s, task, density);
}
