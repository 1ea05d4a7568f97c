/* Tests the sparse layer: quantiles compared with sorting, momentum, collection of batches, and the behaviour of the
 * authors' package on Gaussian data. */
#include <math.h>
#include <pthread.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/nn/select_kth.h"
#include "core/nn/sparse.h"
#include "tests/support/comm_threads.h"

struct layer {
    struct arena arena;
    struct thread_pool *pool;
    struct exec exec;
    struct params *params;
    struct sparse *sparse;
    struct map_shape shape;
    real *planes;
    size_t count, plane;
    uint32_t drawn;
};

static void layer_open(struct layer *l, const struct sparse_config *config, struct map_shape shape)
{
    *l = (struct layer){.shape = shape};
    l->plane = (size_t)shape.height * (size_t)shape.width;
    l->count = l->plane * (size_t)shape.channels * (size_t)shape.images;
    l->planes = calloc(l->count, sizeof(real));
    arena_init(&l->arena, 1 << 20, 0);
    assert_int_equal(thread_pool_create(2, &l->pool, NULL), STATUS_OK);
    exec_init(&l->exec, kernels_best(), l->pool, &l->arena, 1);
    assert_int_equal(params_create(&l->params, NULL), STATUS_OK);
    assert_int_equal(sparse_create(&l->sparse, l->params, "sparse", config, NULL), STATUS_OK);
    assert_int_equal(params_seal(l->params, true, NULL), STATUS_OK);
    params_init(l->params, 1, NULL);
}

static void layer_close(struct layer *l)
{
    sparse_destroy(l->sparse);
    params_destroy(l->params);
    thread_pool_destroy(l->pool);
    arena_close(&l->arena);
    free(l->planes);
}

/* Draws normal values. Channel c has the mean `spread` * c. */
static void draw(struct layer *l, double spread)
{
    struct philox from = philox_stream(3, l->drawn++, 0);
    for (size_t i = 0; i < l->count; i++) {
        size_t channel = i / l->plane % (size_t)l->shape.channels;
        l->planes[i] = (real)(philox_normal(&from, i) + spread * (double)channel);
    }
}

static struct tensor *pass(struct layer *l, bool training, double density, bool raw)
{
    exec_begin(&l->exec, training, 0);
    struct tensor *z = tensor_from_planes(&l->exec, l->planes, &l->shape, true);
    struct tensor *m = sparse_forward(&l->exec, l->sparse, z, density, raw);
    struct error err = {0};
    if (exec_status(&l->exec, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return m;
}

static int ascending(const void *a, const void *b)
{
    real x = *(const real *)a, y = *(const real *)b;
    return (x > y) - (x < y);
}

/* Writes the sorted values of one channel (-1: of all channels) of `number` consecutive batches. Returns the number of
 * values. */
static size_t sorted(const struct layer *l, const real *batches, size_t number, int channel, real *out)
{
    size_t n = 0;
    for (size_t i = 0; i < number * l->count; i++)
        if (channel < 0 || (int)(i % l->count / l->plane % (size_t)l->shape.channels) == channel)
            out[n++] = batches[i];
    qsort(out, n, sizeof(real), ascending);
    return n;
}

/* At low densities the layer looks for the quantile among the values above a bound from an earlier batch, if they are
 * enough. The threshold must be the exact quantile of the next batch, whatever values that batch has. */
static void quantile_from_few_large_values_is_exact(void **state)
{
    static const double densities[] = {1e-9, 5e-4, 5e-4, 4e-3};
    struct sparse_config config = {.mode = SPARSE_PER_CHANNEL, .channels = 18, .momentum = 0.0};
    for (int kind = 0; kind < 4; kind++) {
        struct layer l;
        config.interpolate = kind == 2;
        layer_open(&l, &config, (struct map_shape){3, 18, 60, 70, 1, 1});
        real *values = calloc(l.count, sizeof *values);
        for (int step = 0; step < 14; step++) {
            draw(&l, step > 3 ? 0.5 : 0.0);
            for (size_t i = 0; i < l.count; i++)
                /* step 5: too few values are above the bound from earlier batches; step 6: all values are above this
                 * bound */
                if (step == 5 || step == 6)
                    l.planes[i] = step == 5 ? l.planes[i] * R(0.01) - R(3.0) : l.planes[i] * R(5.0) + R(9.0);
                else if (step == 8)
                    l.planes[i] = R(2.0); /* all values are equal */
                else if (step == 10 && i < l.plane * 18)
                    l.planes[i] += R(4.0); /* all large values are in one image */
            double density = step < 12 ? densities[kind] : densities[kind] * 0.5;
            pass(&l, true, density, false);
            for (int c = 0; c < 18; c++) {
                size_t n = sorted(&l, l.planes, 1, c, values);
                double place = (1.0 - density) * (double)(n - 1), share = place - floor(place);
                int64_t k = (int64_t)((double)n * (1.0 - density));
                real wanted = values[(k < 1 ? 1 : k) - 1];
                if (kind == 2) {
                    size_t at = (size_t)place;
                    wanted = (real)((double)values[at] +
                                    share * ((double)values[at + 1 < n ? at + 1 : at] - (double)values[at]));
                }
                if (sparse_thresholds(l.sparse)[c] != wanted)
                    fail_msg("kind %d, step %d, channel %d: %.9g, not %.9g", kind, step, c,
                             (double)sparse_thresholds(l.sparse)[c], (double)wanted);
            }
        }
        free(values);
        layer_close(&l);
    }
}

/* Each channel has its own share of the density. Its threshold must be the exact quantile for this share, whether the
 * layer finds the quantile among few large values or in the whole batch. */
static void channels_with_shares_have_quantiles_of_their_own(void **state)
{
    static const double densities[] = {0.05, 2e-3, 2e-3, 2e-3, 1e-4, 1e-4};
    double shares[18];
    for (int kind = 0; kind < 2; kind++) {
        struct layer l;
        struct sparse_config config = {
            .mode = SPARSE_PER_CHANNEL, .channels = 18, .momentum = 0.0, .interpolate = kind == 1};
        layer_open(&l, &config, (struct map_shape){3, 18, 60, 70, 1, 1});
        for (int c = 0; c < 18; c++)
            shares[c] = c % 4 == 0 ? 1.0 : 0.02 * (double)(1 + c * c);
        sparse_set_shares(l.sparse, shares);
        real *values = calloc(l.count, sizeof *values);
        for (int step = 0; step < 6; step++) {
            draw(&l, 0.3);
            pass(&l, true, densities[step], false);
            for (int c = 0; c < 18; c++) {
                size_t n = sorted(&l, l.planes, 1, c, values);
                double density = fmin(1.0, densities[step] * shares[c]), place = (1.0 - density) * (double)(n - 1);
                size_t at = (size_t)place, k = (size_t)((double)n * (1.0 - density));
                real wanted = values[(k < 1 ? 1 : k) - 1];
                if (kind == 1)
                    wanted =
                        (real)((double)values[at] +
                               (place - (double)at) * ((double)values[at + 1 < n ? at + 1 : at] - (double)values[at]));
                if (sparse_thresholds(l.sparse)[c] != wanted)
                    fail_msg("kind %d, step %d, channel %d: %.9g, not %.9g", kind, step, c,
                             (double)sparse_thresholds(l.sparse)[c], (double)wanted);
            }
        }
        free(values);
        layer_close(&l);
    }
}

/* ---- ranks ---------------------------------------------------------------------------------------- */

enum { HALF = 16, STEPS = 4, STARVED = 2, SPARE = 3 << 19 };

struct half { /* a rank that has half of the images of each batch */
    struct layer layer;
    const real *steps; /* inputs of all steps, [STEPS][2 * HALF images] */
    struct comm *comm;
    double density;
    bool starved; /* at step STARVED, the rank has no memory to collect the largest values */
    size_t peak[STEPS];
    real thresholds[STEPS][18];
    struct error error;
    pthread_t thread;
};

static void *half_steps(void *context)
{
    struct half *h = context;
    struct layer *l = &h->layer;
    for (int step = 0; step < STEPS; step++) {
        size_t offset = (2 * (size_t)step + (size_t)comm_rank(h->comm)) * l->count;
        memcpy(l->planes, h->steps + offset, l->count * sizeof(real));
        arena_close(&l->arena);
        arena_init(&l->arena, 4096, h->starved && step == STARVED ? h->peak[0] + SPARE : 0);
        exec_begin(&l->exec, true, (uint64_t)step);
        exec_set_share(&l->exec, comm_rank(h->comm) * HALF, HALF, 2 * HALF);
        l->exec.comm = h->comm;
        struct tensor *z = tensor_from_planes(&l->exec, l->planes, &l->shape, true);
        sparse_forward(&l->exec, l->sparse, z, h->density, false);
        if (exec_status(&l->exec, &h->error) != STATUS_OK) {
            comm_threads_leave(h->comm);
            break;
        }
        memcpy(h->thresholds[step], sparse_thresholds(l->sparse), sizeof h->thresholds[step]);
        h->peak[step] = l->arena.peak_bytes;
    }
    return NULL;
}

/* sparse_quantile.c has two ways: way 1 selects from the whole batch, and way 2 exchanges only the largest values. If
 * one rank has no memory for way 2, all ranks take way 1. So no rank waits for ever, and thresholds are exact. */
static void rank_without_memory_makes_all_ranks_take_the_slower_way(void **state)
{
    struct sparse_config config = {.mode = SPARSE_PER_CHANNEL, .channels = 18, .momentum = 0.0};
    struct map_shape shape = {HALF, 18, 30, 40, 1, 1};
    struct half ranks[2] = {0};
    struct comm *comms[2];
    assert_int_equal(comm_threads_create(2, comms, NULL), STATUS_OK);
    size_t both = 2 * (size_t)HALF * 18 * 30 * 40;
    real *steps = calloc(STEPS * both, sizeof *steps);
    struct philox from = philox_stream(5, 0, 0);
    for (size_t i = 0; i < STEPS * both; i++)
        steps[i] = (real)philox_normal(&from, i);
    for (int r = 0; r < 2; r++) {
        layer_open(&ranks[r].layer, &config, shape);
        ranks[r].steps = steps;
        ranks[r].comm = comms[r];
        ranks[r].density = 500.0 / (2 * HALF * 30 * 40);
        ranks[r].starved = r == 1;
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, half_steps, &ranks[r]), 0);
    }
    for (int r = 0; r < 2; r++)
        pthread_join(ranks[r].thread, NULL);
    assert_true(ranks[1].peak[1] >
                ranks[1].peak[0] + SPARE); /* way 2 needs more memory than the rank gets at step STARVED */
    for (int r = 1; r >= 0; r--)
        if (ranks[r].error.code != STATUS_OK)
            fail_msg("rank %d: %s (%zu bytes in step 0, %zu in step 1)", r, ranks[r].error.message, ranks[r].peak[0],
                     ranks[r].peak[1]);
    struct layer whole;
    shape.images = 2 * HALF;
    layer_open(&whole, &config, shape);
    for (int step = 0; step < STEPS; step++) {
        memcpy(whole.planes, steps + (size_t)step * both, both * sizeof *steps);
        pass(&whole, true, ranks[0].density, false);
        for (int r = 0; r < 2; r++)
            assert_memory_equal(ranks[r].thresholds[step], sparse_thresholds(whole.sparse), 18 * sizeof(real));
    }
    layer_close(&whole);
    for (int r = 0; r < 2; r++)
        layer_close(&ranks[r].layer);
    comm_threads_destroy(comms);
    free(steps);
}

static void select_kth_equals_sorted_value(void **state)
{
    real values[200], sorted_values[200];
    struct philox from = philox_stream(1, 0, 0);
    for (int round = 0; round < 50; round++) {
        size_t n = 1 + philox_u32(&from, (uint64_t)round) % 200;
        for (size_t i = 0; i < n; i++) /* every other round has many ties */
            values[i] = (real)(philox_u32(&from, 1000 + (uint64_t)round * 200 + i) % (round % 2 == 0 ? 5 : 100000));
        memcpy(sorted_values, values, n * sizeof(real));
        qsort(sorted_values, n, sizeof(real), ascending);
        for (size_t k = 1; k <= n; k++)
            assert_true(select_kth(values, n, k) == sorted_values[k - 1]);
    }
}

/* The quantile is the k-th smallest of N values, with k = max(1, trunc(N (1 - density))). A training pass first moves
 * the threshold a tenth of the way towards the quantile. Values above the moved threshold are active. */
static void check_rule(enum sparse_mode mode, double density)
{
    struct layer l;
    struct sparse_config config = {.mode = mode, .channels = 19, .momentum = 0.9};
    layer_open(&l, &config, (struct map_shape){2, 19, 7, 9, 1, 1});
    draw(&l, 0.1);
    real *values = malloc(l.count * sizeof(real));
    struct tensor *m = pass(&l, true, density, false);
    real *out = malloc(l.count * sizeof(real));
    tensor_to_planes(m, out);
    for (int c = 0; c < 19; c++) {
        size_t n = sorted(&l, l.planes, 1, mode == SPARSE_SINGLE ? -1 : c, values);
        size_t k = (size_t)((double)n * (1.0 - density));
        real t = sparse_thresholds(l.sparse)[c];
        assert_true(fabs((double)t - 0.1 * (double)values[(k < 1 ? 1 : k) - 1]) < 1e-7);
        for (int image = 0; image < 2; image++)
            for (size_t i = 0; i < l.plane; i++) {
                size_t at = ((size_t)image * 19 + (size_t)c) * l.plane + i;
                real wanted = l.planes[at] > t ? l.planes[at] - t : R(0.0);
                assert_true(out[at] == wanted);
            }
    }
    free(values);
    free(out);
    layer_close(&l);
}

static void threshold_follows_the_kth_value_with_momentum(void **state)
{
    check_rule(SPARSE_PER_CHANNEL, 0.5);
    check_rule(SPARSE_PER_CHANNEL, 0.004);
    check_rule(SPARSE_PER_CHANNEL, 1.0);
    check_rule(SPARSE_SINGLE, 0.3);
    check_rule(SPARSE_SINGLE, 1e-4);
}

static void interpolated_quantile_lies_between_order_statistics(void **state)
{
    struct layer l;
    struct sparse_config config = {.mode = SPARSE_PER_CHANNEL, .channels = 1, .momentum = 0.0, .interpolate = true};
    layer_open(&l, &config, (struct map_shape){1, 1, 1, 5, 0, 1});
    const real values[5] = {R(4.0), R(0.0), R(3.0), R(1.0), R(10.0)};
    memcpy(l.planes, values, sizeof(values));
    pass(&l, true, 0.1, false); /* rank 0.9 * 4 = 3.6, between 4 (rank 3) and 10 (rank 4): 4 + 0.6 * (10 - 4) */
    assert_true(fabs((double)sparse_thresholds(l.sparse)[0] - 7.6) < 1e-5);
    pass(&l, true, 0.5, false);
    assert_true(fabs((double)sparse_thresholds(l.sparse)[0] - 3.0) < 1e-5);
    layer_close(&l);
}

static void evaluation_leaves_thresholds_unchanged(void **state)
{
    struct layer l;
    struct sparse_config config = {.mode = SPARSE_PER_CHANNEL, .channels = 2, .momentum = 0.9};
    layer_open(&l, &config, (struct map_shape){1, 2, 10, 10, 1, 1});
    draw(&l, 1.0);
    pass(&l, true, 0.2, false);
    real t[2] = {sparse_thresholds(l.sparse)[0], sparse_thresholds(l.sparse)[1]};
    struct tensor *one = pass(&l, false, 0.2, false);
    real before = one->data[map_offset(&l.shape, 0, 0, 4, 4)];
    struct tensor *other = pass(&l, false, 0.9, false);
    assert_true(other->data[map_offset(&l.shape, 0, 0, 4, 4)] == before);
    assert_memory_equal(t, sparse_thresholds(l.sparse), sizeof(t));
    struct tensor *raw = pass(&l, false, 0.2, true);
    assert_true(raw->data[map_offset(&l.shape, 0, 0, 4, 4)] == l.planes[44] - t[0]);
    layer_close(&l);
}

/* Asserts that an update from several batches equals an update from all values of these batches, and that no threshold
 * moves between updates. */
static void check_collected(enum sparse_mode mode, bool interpolate)
{
    enum { BATCHES = 4, CHANNELS = 3 };
    struct layer l;
    struct sparse_config config = {
        .mode = mode, .channels = CHANNELS, .momentum = 0.9, .accumulate = 10.0, .interpolate = interpolate};
    layer_open(&l, &config, (struct map_shape){1, CHANNELS, 20, 25, 1, 1});
    size_t n = mode == SPARSE_SINGLE ? 1500 : 500;
    /* the number of collected values times the density first exceeds `accumulate` (10) in the fourth batch */
    double density = 10.0 / (3.5 * (double)n);
    real *batches = malloc(BATCHES * l.count * sizeof(real)), *values = malloc(BATCHES * l.count * sizeof(real));
    for (int b = 0; b < BATCHES; b++) {
        assert_true(sparse_thresholds(l.sparse)[0] == R(0.0));
        draw(&l, 0.5);
        memcpy(batches + (size_t)b * l.count, l.planes, l.count * sizeof(real));
        pass(&l, true, density, false);
    }
    for (int c = 0; c < CHANNELS; c++) {
        size_t total = sorted(&l, batches, BATCHES, mode == SPARSE_SINGLE ? -1 : c, values);
        double place = (1.0 - density) * (double)(total - 1);
        size_t k = interpolate ? (size_t)place + 1 : (size_t)((double)total * (1.0 - density));
        double q = (double)values[k - 1];
        if (interpolate)
            q += (place - (double)(k - 1)) * ((double)values[k] - q);
        assert_true(fabs((double)sparse_thresholds(l.sparse)[c] - 0.1 * q) < 1e-6);
    }
    free(batches);
    free(values);
    layer_close(&l);
}

static void collected_batches_update_like_one_large_batch(void **state)
{
    check_collected(SPARSE_PER_CHANNEL, false);
    check_collected(SPARSE_PER_CHANNEL, true);
    check_collected(SPARSE_SINGLE, false);
}

/* If the density rises, the values collected at a lower density are dropped. */
static void rising_density_drops_collected_values(void **state)
{
    struct layer l;
    struct sparse_config config = {.mode = SPARSE_PER_CHANNEL, .channels = 2, .momentum = 0.9, .accumulate = 10.0};
    layer_open(&l, &config, (struct map_shape){1, 2, 10, 10, 1, 1});
    draw(&l, 0.0);
    pass(&l, true, 0.01, false);
    assert_true(sparse_thresholds(l.sparse)[0] == R(0.0));
    /* the layer has dropped the first 100 values; for the other 100, 100 * 0.06 < 10, so no threshold moves */
    pass(&l, true, 0.06, false);
    assert_true(sparse_thresholds(l.sparse)[0] == R(0.0));
    pass(&l, true, 0.06, false);
    assert_true(sparse_thresholds(l.sparse)[0] != R(0.0));
    layer_close(&l);
}

/* With `elements`, thresholds move after a fixed number of values, whatever the density. After 500 of 2000 values the
 * threshold is unchanged. After the last batch it has moved towards the quantile of all values. */
static void thresholds_move_after_the_given_number_of_values(void **state)
{
    enum { BATCHES = 4 };
    for (int mode = SPARSE_PER_CHANNEL; mode <= SPARSE_SINGLE; mode++) {
        struct layer l;
        struct sparse_config config = {.mode = (enum sparse_mode)mode,
                                       .channels = 2,
                                       .momentum = 0.9,
                                       .elements = mode == SPARSE_SINGLE ? 4000 : 2000};
        const double densities[BATCHES] = {0.5, 0.1, 0.4, 0.3}; /* the density may rise from batch to batch */
        layer_open(&l, &config, (struct map_shape){1, 2, 20, 25, 1, 1});
        real *batches = malloc(BATCHES * l.count * sizeof(real)), *values = malloc(BATCHES * l.count * sizeof(real));
        for (int b = 0; b < BATCHES; b++) {
            assert_true(sparse_thresholds(l.sparse)[0] == R(0.0) && sparse_thresholds(l.sparse)[1] == R(0.0));
            draw(&l, 0.5);
            memcpy(batches + (size_t)b * l.count, l.planes, l.count * sizeof(real));
            pass(&l, true, densities[b], false);
        }
        for (int c = 0; c < 2; c++) {
            size_t total = sorted(&l, batches, BATCHES, mode == SPARSE_SINGLE ? -1 : c, values);
            real q = values[(size_t)((double)total * (1.0 - 0.3)) - 1];
            assert_true(fabs((double)sparse_thresholds(l.sparse)[c] - 0.1 * (double)q) < 1e-6);
        }
        free(batches);
        free(values);
        layer_close(&l);
    }
}

struct bytes {
    char at[4096];
    size_t size;
};

static enum status write_bytes(void *context, const void *bytes, size_t count, struct error *err)
{
    struct bytes *b = context;
    assert_true(count <= sizeof(b->at) - b->size);
    memcpy(b->at + b->size, bytes, count);
    b->size += count;
    return STATUS_OK;
}

static enum status read_bytes(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    memcpy(bytes, ((const struct bytes *)context)->at + offset, count);
    return STATUS_OK;
}

static struct snapshot *declare(struct layer *l)
{
    struct snapshot *snapshot;
    assert_int_equal(snapshot_create(&snapshot, NULL), STATUS_OK);
    assert_int_equal(sparse_snapshot(l->sparse, snapshot, NULL), STATUS_OK);
    return snapshot;
}

/* Collected values survive saving. Counts from a hostile stream cannot make the layer read outside its memory. */
static void collected_values_survive_saving(void **state)
{
    struct layer l, other;
    struct bytes bytes = {.size = 0};
    struct snapshot_writer to = {&bytes, write_bytes};
    struct sparse_config config = {.mode = SPARSE_PER_CHANNEL, .channels = 2, .momentum = 0.9, .accumulate = 10.0};
    layer_open(&l, &config, (struct map_shape){1, 2, 10, 10, 1, 1});
    layer_open(&other, &config, l.shape);
    draw(&l, 0.0);
    pass(&l, true, 0.06, false);
    struct snapshot *out = declare(&l), *in = declare(&other);
    assert_int_equal(snapshot_write(out, &to, NULL), STATUS_OK);
    struct snapshot_reader from = {&bytes, bytes.size, read_bytes};
    assert_int_equal(snapshot_read(in, &from, 1u << SNAPSHOT_STATE, NULL), STATUS_OK);
    draw(&l, 0.0);
    memcpy(other.planes, l.planes, l.count * sizeof(real));
    pass(&l, true, 0.06, false);
    pass(&other, true, 0.06, false);
    assert_true(sparse_thresholds(l.sparse)[0] != R(0.0));
    assert_memory_equal(sparse_thresholds(l.sparse), sparse_thresholds(other.sparse), 2 * sizeof(real));

    struct snapshot_entry *entries;
    size_t count, changed = 0;
    assert_int_equal(snapshot_contents(&from, &entries, &count, NULL), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        int64_t many = INT64_C(1) << 40;
        if (entries[i].type == SNAPSHOT_I64) {
            memcpy(bytes.at + entries[i].offset, &many, sizeof(many));
            changed++;
        }
    }
    assert_int_equal(changed, 2);
    free(entries);
    assert_int_equal(snapshot_read(in, &from, 1u << SNAPSHOT_STATE, NULL), STATUS_OK);
    pass(&other, true, 0.06, false);
    pass(&other, true, 0.06, false);
    assert_true(fabs((double)sparse_thresholds(other.sparse)[0]) < 10.0);
    snapshot_destroy(out);
    snapshot_destroy(in);
    layer_close(&l);
    layer_close(&other);
}

/* Returns the exact quantile of channel 1 for a density. */
static real quantile_of(const struct layer *l, double density)
{
    real *values = calloc(l->count, sizeof *values);
    size_t n = sorted(l, l->planes, 1, 1, values);
    real q = values[(size_t)((double)n * (1.0 - density)) - 1];
    free(values);
    return q;
}

/* A reinitialised channel is inactive until the next update sets its threshold to a quantile. At first this makes the
 * channel four times as dense as the others; later updates make it twice as dense and then equally dense. The other
 * channels do not change. All of this survives saving. */
static void reinitialised_channel_is_denser_for_a_while(void **state)
{
    struct layer l, plain, other;
    struct bytes bytes = {.size = 0};
    struct snapshot_writer to = {&bytes, write_bytes};
    struct sparse_config config = {.mode = SPARSE_PER_CHANNEL, .channels = 3, .momentum = 0.9};
    const struct map_shape shape = {2, 3, 40, 40, 1, 1};
    const double density = 0.01;
    layer_open(&l, &config, shape);
    layer_open(&plain, &config, shape);
    layer_open(&other, &config, shape);
    draw(&l, 0.5);
    memcpy(plain.planes, l.planes, l.count * sizeof(real));
    pass(&l, true, density, false);
    pass(&plain, true, density, false);
    sparse_reinitialise(l.sparse, 1, 4.0, 2);
    const struct tensor *map = pass(&l, false, density, false);
    for (int row = 0; row < 40; row++)
        for (int col = 0; col < 40; col++)
            assert_true(map->data[map_offset(&map->map, 0, 0, row, col) + 1] == R(0.0));

    struct snapshot *out = declare(&l), *in = declare(&other);
    assert_int_equal(snapshot_write(out, &to, NULL), STATUS_OK);
    struct snapshot_reader from = {&bytes, bytes.size, read_bytes};
    assert_int_equal(snapshot_read(in, &from, 1u << SNAPSHOT_STATE, NULL), STATUS_OK);
    memcpy(params_find(other.params, "sparse.threshold")->value, sparse_thresholds(l.sparse), 3 * sizeof(real));
    static const double times[] = {4.0, 2.0, 1.0, 1.0};
    double threshold = 0.0;
    for (int i = 0; i < 4; i++) {
        draw(&l, 0.5);
        memcpy(plain.planes, l.planes, l.count * sizeof(real));
        memcpy(other.planes, l.planes, l.count * sizeof(real));
        pass(&l, true, density, false);
        pass(&plain, true, density, false);
        pass(&other, true, density, false);
        double q = (double)quantile_of(&l, density * times[i]);
        threshold = i == 0 ? q : 0.9 * threshold + 0.1 * q;
        const real *t = sparse_thresholds(l.sparse), *wanted = sparse_thresholds(plain.sparse);
        assert_true(fabs((double)t[1] - threshold) < 1e-5);
        assert_true(t[0] == wanted[0] && t[2] == wanted[2] && t[1] != wanted[1]);
        assert_memory_equal(t, sparse_thresholds(other.sparse), 3 * sizeof(real));
    }
    snapshot_destroy(out);
    snapshot_destroy(in);
    layer_close(&l);
    layer_close(&plain);
    layer_close(&other);
}

/* After 100 batches of normal values, thresholds and densities match the normal quantile. */
static void check_gaussian(enum sparse_mode mode, double density, double quantile, double spread)
{
    struct layer l;
    struct sparse_config config = {.mode = mode, .channels = 5, .momentum = 0.9};
    layer_open(&l, &config, (struct map_shape){4, 5, 20, 20, 1, 1});
    real *out = malloc(l.count * sizeof(real));
    int64_t active = 0;
    for (int b = 0; b < 100; b++) {
        draw(&l, spread);
        tensor_to_planes(pass(&l, true, density, false), out);
    }
    for (int c = 0; c < 5; c++) {
        int64_t own = 0;
        for (int image = 0; image < 4; image++)
            for (size_t i = 0; i < l.plane; i++)
                own += out[((size_t)image * 5 + (size_t)c) * l.plane + i] > R(0.0);
        active += own;
        assert_true(fabs((double)sparse_thresholds(l.sparse)[c] - quantile - spread * c) < 0.1);
        if (mode == SPARSE_PER_CHANNEL)
            assert_true(fabs((double)own / 1600.0 - density) < 0.03);
    }
    assert_true(fabs((double)active / 8000.0 - density) < 0.03);
    free(out);
    layer_close(&l);
}

static void thresholds_match_normal_quantiles_after_many_batches(void **state)
{
    check_gaussian(SPARSE_PER_CHANNEL, 0.7, -0.5244, 0.0);
    check_gaussian(SPARSE_PER_CHANNEL, 0.5, 0.0, 1.0);
    check_gaussian(SPARSE_PER_CHANNEL, 0.05, 1.6449, -0.5);
    check_gaussian(SPARSE_SINGLE, 0.1, 1.2816, 0.0);
}

static void modes_without_thresholds_apply_relu_or_pass_the_map(void **state)
{
    struct layer l;
    struct sparse_config config = {.mode = SPARSE_L1, .channels = 2};
    layer_open(&l, &config, (struct map_shape){1, 2, 1, 2, 1, 1});
    const real values[4] = {R(1.0), R(-2.0), R(3.0), R(-4.0)};
    memcpy(l.planes, values, sizeof(values));
    real out[4];
    tensor_to_planes(pass(&l, true, 0.5, false), out);
    assert_memory_equal(out, ((real[]){R(1.0), R(0.0), R(3.0), R(0.0)}), sizeof out);
    assert_null(sparse_thresholds(l.sparse));
    layer_close(&l);
    config.mode = SPARSE_NONE;
    layer_open(&l, &config, (struct map_shape){1, 2, 1, 2, 1, 1});
    exec_begin(&l.exec, true, 0);
    struct tensor *z = tensor_from_planes(&l.exec, l.planes, &l.shape, true);
    assert_ptr_equal(sparse_forward(&l.exec, l.sparse, z, 0.5, false), z);
    layer_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(select_kth_equals_sorted_value),
        cmocka_unit_test(channels_with_shares_have_quantiles_of_their_own),
        cmocka_unit_test(quantile_from_few_large_values_is_exact),
        cmocka_unit_test(rank_without_memory_makes_all_ranks_take_the_slower_way),
        cmocka_unit_test(threshold_follows_the_kth_value_with_momentum),
        cmocka_unit_test(interpolated_quantile_lies_between_order_statistics),
        cmocka_unit_test(evaluation_leaves_thresholds_unchanged),
        cmocka_unit_test(collected_batches_update_like_one_large_batch),
        cmocka_unit_test(thresholds_move_after_the_given_number_of_values),
        cmocka_unit_test(rising_density_drops_collected_values),
        cmocka_unit_test(collected_values_survive_saving),
        cmocka_unit_test(reinitialised_channel_is_denser_for_a_while),
        cmocka_unit_test(thresholds_match_normal_quantiles_after_many_batches),
        cmocka_unit_test(modes_without_thresholds_apply_relu_or_pass_the_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
