/* Tests the generator of planted data: its rates, trees, exclusions, correlations, values and directions. Samples are
 * drawn once for all tests about PLANTED_TREES. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/planted/planted.h"
#include "tests/support/assert_ok.h"

enum { FEATURES = 1024, INPUTS = 48, ROOTS = 8, SAMPLES = 40000, ROOM = 2000 };

#define assert_near(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (tolerance))

static struct thread_pool *pool;
static struct planted tree;
static int64_t fired[FEATURES];
static double values[FEATURES];

static struct planted make(struct planted_shape shape)
{
    struct planted out;
    assert_ok(planted_create(&shape, kernels_best(), pool, &out, err));
    return out;
}

static struct planted_codes room_for(const struct planted *p, int room)
{
    struct planted_codes codes = {0};
    assert_ok(planted_codes_create(&p->shape, room, thread_pool_threads(pool), &codes, err));
    return codes;
}

static float value_of(const struct planted_codes *codes, int row, int feature)
{
    for (int k = 0; k < codes->count[row]; k++)
        if (codes->index[codes->start[row] + k] == feature)
            return codes->value[codes->start[row] + k];
    return 0;
}

static int setup(void **state)
{
    (void)state;
    assert_ok(thread_pool_create(2, &pool, err));
    tree = make((struct planted_shape){PLANTED_TREES, FEATURES, INPUTS, 42, ROOTS, 0.5, PLANTED_ROUNDS, 0, 0, NULL});
    struct planted_codes codes = room_for(&tree, ROOM);
    float *x = malloc(sizeof *x * ROOM * INPUTS);
    for (int64_t at = 0; at < SAMPLES; at += ROOM) {
        struct planted_samples samples = {0, at, 0, ROOM};
        assert_true(planted_draw(&tree, pool, &samples, x, &codes));
        for (int r = 0; r < ROOM; r++)
            for (int k = 0; k < codes.count[r]; k++) {
                fired[codes.index[codes.start[r] + k]]++;
                values[codes.index[codes.start[r] + k]] += (double)codes.value[codes.start[r] + k];
            }
    }
    free(x);
    planted_codes_close(&codes);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    planted_close(&tree);
    thread_pool_destroy(pool);
    return 0;
}

/* ---- trees --------------------------------------------------------------------------------------------------- */

static void rates_follow_the_power_law_between_the_two_ends(void **state)
{
    (void)state;
    assert_near(tree.rate[0], 0.4, 1e-12);
    assert_near(tree.rate[FEATURES - 1], 5e-4, 1e-12);
    double first = 1, last = 1 / sqrt(FEATURES), middle = 1 / sqrt(100);
    assert_near(tree.rate[99], 5e-4 + 0.3995 * (middle - last) / (first - last), 1e-12);
}

static void the_rates_of_the_published_size_add_up_to_59(void **state)
{
    (void)state;
    struct planted full = make((struct planted_shape){PLANTED_TREES, 16384, 8, 42, 128, 0.5, 0, 0, 0, NULL});
    double sum = 0;
    for (int i = 0; i < full.shape.features; i++)
        sum += full.rate[i];
    assert_near(sum, 59.1, 0.05);
    assert_int_equal(planted_tree_features(&full.shape), 10880);
    assert_int_equal(full.parent[127], -1);
    assert_int_equal(full.parent[128], 0);
    assert_int_equal(full.parent[639], 127);
    assert_int_equal(full.parent[640], 128);
    assert_int_equal(full.parent[10879], 2687);
    assert_int_equal(full.parent[10880], -1);
    planted_close(&full);
}

/* The benchmark SynthSAEBench reports that a sample has about 34 active features on average, about 25 of them among the
 * first 4096 features. */
static void the_published_size_has_34_active_features_a_sample(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    struct planted full = make((struct planted_shape){PLANTED_TREES, 16384, 8, 42, 128, 0.5, 0, 0, 0, NULL});
    struct planted_codes codes = room_for(&full, COUNT);
    struct planted_samples samples = {0, 0, 0, COUNT};
    float *x = malloc(sizeof *x * COUNT * 8);
    double all = 0, early = 0;
    assert_true(planted_draw(&full, pool, &samples, x, &codes));
    for (int r = 0; r < COUNT; r++)
        for (int k = 0; k < codes.count[r]; k++) {
            all++;
            early += codes.index[codes.start[r] + k] < 4096;
        }
    print_message("mean L0 %.2f, of the first 4096 features %.2f\n", all / COUNT, early / COUNT);
    assert_near(all / COUNT, 34.6, 0.5);
    assert_near(early / COUNT, 25.4, 0.5);
    free(x);
    planted_codes_close(&codes);
    planted_close(&full);
}

/* A root, or a feature outside the trees, fires with its rate. If the random value of a feature that fires is negative,
 * it is cut to 0. The test uses only features whose mean is at least four standard deviations, for which this almost
 * never happens. */
static void a_feature_without_parent_fires_with_its_rate(void **state)
{
    (void)state;
    int checked = 0;
    for (int i = 0; i < FEATURES; i++) {
        if (tree.parent[i] >= 0 || tree.mean[i] < 4 * tree.deviation[i])
            continue;
        double p = tree.rate[i], error = sqrt(p * (1 - p) / SAMPLES);
        assert_true(fabs((double)fired[i] / SAMPLES - p) < 5 * error);
        checked++;
    }
    assert_true(checked > 300);
}

/* In the upper levels, the compensated rates of a feature's four children add up to more than 1, but exclusion allows
 * only one active child. So at the published size, a level has fewer active features than the sum of its rates: about
 * one for each active feature of the level above. (A simulation in NumPy gave 7.39, 7.39 and 7.21 active features in
 * the three levels.) */
static void a_level_has_about_one_child_for_each_active_parent(void **state)
{
    (void)state;
    double level[PLANTED_DEPTH + 1] = {0};
    int end = ROOTS, first = 0;
    for (int depth = 0; depth <= PLANTED_DEPTH; depth++) {
        for (int i = first; i < end && i < FEATURES; i++)
            level[depth] += (double)fired[i] / SAMPLES;
        int next = end + (end - first) * PLANTED_CHILDREN;
        first = end;
        end = next;
        if (depth > 0)
            assert_true(level[depth] > 0.6 * level[depth - 1] && level[depth] <= level[depth - 1]);
    }
}

static void values_have_the_mean_that_falls_from_five_to_four(void **state)
{
    (void)state;
    for (int i = planted_tree_features(&tree.shape); i < FEATURES; i++) {
        double spread = (double)tree.deviation[i], mean = (double)tree.mean[i];
        assert_near(mean, 5 - (double)i / (FEATURES - 1), 1e-4);
        if (fired[i] > 20 && mean > 4 * spread)
            assert_true(fabs(values[i] / (double)fired[i] - mean) < 5 * spread / sqrt((double)fired[i]) + 1e-3);
    }
}

static void a_child_is_active_only_with_its_parent_and_without_siblings(void **state)
{
    (void)state;
    struct planted_codes codes = room_for(&tree, ROOM);
    struct planted_samples samples = {1, 0, 0, ROOM};
    float *x = malloc(sizeof *x * ROOM * INPUTS);
    int children = 0;
    assert_true(planted_draw(&tree, pool, &samples, x, &codes));
    for (int r = 0; r < ROOM; r++) {
        int active[FEATURES] = {0};
        for (int k = 0; k < codes.count[r]; k++) {
            int i = codes.index[codes.start[r] + k], parent = tree.parent[i];
            assert_true(codes.value[codes.start[r] + k] > 0);
            if (parent < 0)
                continue;
            assert_true(value_of(&codes, r, parent) > 0);
            assert_int_equal(active[parent]++, 0);
            children++;
        }
    }
    assert_true(children > ROOM / 2);
    free(x);
    planted_codes_close(&codes);
}

/* Two features fire together as often as their loadings state: the normal numbers of features i and j have the
 * covariance A_i . A_j, where A_i is the vector of the 25 loadings of feature i (standard deviation 0.1). The test
 * takes the features that fire most often, because they show this best. */
static void frequent_features_fire_together_as_their_loadings_say(void **state)
{
    (void)state;
    enum { PAIRS = 28, COUNT = 20000 };
    struct planted_codes codes = room_for(&tree, COUNT);
    struct planted_samples samples = {2, 0, 0, COUNT};
    float *x = malloc(sizeof *x * COUNT * INPUTS);
    double expected[PAIRS], found[PAIRS], product = 0, squares = 0;
    assert_true(planted_draw(&tree, pool, &samples, x, &codes));
    for (int i = 0, pair = 0; i < ROOTS; i++)
        for (int j = i + 1; j < ROOTS; j++, pair++) {
            int both = 0, one = 0, other = 0;
            for (int r = 0; r < COUNT; r++) {
                int a = value_of(&codes, r, i) > 0, b = value_of(&codes, r, j) > 0;
                both += a && b;
                one += a;
                other += b;
            }
            double inner = 0, norm_i = 1, norm_j = 1;
            for (int k = 0; k < PLANTED_RANK; k++) {
                double u = (double)tree.loading[i * PLANTED_RANK + k], v = (double)tree.loading[j * PLANTED_RANK + k];
                inner += u * v;
                norm_i += u * u;
                norm_j += v * v;
            }
            /* the stored loadings are A / sqrt(D), with D = 1 - |A|^2 */
            expected[pair] = inner / sqrt(norm_i * norm_j);
            double p = (double)one / COUNT, q = (double)other / COUNT;
            found[pair] = ((double)both / COUNT - p * q) / sqrt(p * (1 - p) * q * (1 - q));
            product += expected[pair] * found[pair];
            squares += expected[pair] * expected[pair];
        }
    /* Two features fire when two correlated normal numbers exceed thresholds. The correlation of firing is smaller
     * than that of the numbers, and about proportional to it. */
    print_message("correlation of firing over correlation of the normal numbers: %.2f\n", product / squares);
    assert_true(product / squares > 0.4 && product / squares < 0.65);
    free(x);
    planted_codes_close(&codes);
}

static void a_sample_is_the_bias_plus_its_active_directions(void **state)
{
    (void)state;
    struct planted_codes codes = room_for(&tree, 100);
    struct planted_samples samples = {0, 7, 0, 100};
    float x[100 * INPUTS];
    double norm = 0;
    assert_true(planted_draw(&tree, pool, &samples, x, &codes));
    for (int k = 0; k < INPUTS; k++)
        norm += (double)tree.bias[k] * (double)tree.bias[k];
    assert_near(sqrt(norm), 0.5, 1e-6);
    for (int r = 0; r < 100; r++)
        for (int k = 0; k < INPUTS; k++) {
            double sum = (double)tree.bias[k];
            for (int i = 0; i < codes.count[r]; i++)
                sum += (double)codes.value[codes.start[r] + i] *
                       (double)tree.directions[codes.index[codes.start[r] + i] * INPUTS + k];
            assert_near(sum, (double)x[r * INPUTS + k], 1e-4);
        }
    planted_codes_close(&codes);
}

static double mean_largest_cosine(const struct planted *p)
{
    double sum = 0;
    for (int i = 0; i < p->shape.features; i++) {
        double most = 0;
        for (int j = 0; j < p->shape.features; j++) {
            double inner = 0;
            for (int k = 0; k < p->shape.inputs; k++)
                inner +=
                    (double)p->directions[i * p->shape.inputs + k] * (double)p->directions[j * p->shape.inputs + k];
            if (i == j)
                assert_near(inner, 1, 1e-5);
            else
                most = fmax(most, fabs(inner));
        }
        sum += most;
    }
    return sum / p->shape.features;
}

static void adam_makes_directions_more_orthogonal(void **state)
{
    (void)state;
    struct planted_shape shape = tree.shape;
    shape.rounds = 0;
    struct planted random = make(shape);
    double before = mean_largest_cosine(&random), after = mean_largest_cosine(&tree);
    print_message("mean of the largest cosines: %.3f random, %.3f after Adam\n", before, after);
    assert_true(after < before - 0.004);
    planted_close(&random);
}

static void samples_do_not_depend_on_threads_or_batches(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    struct planted_codes codes = room_for(&tree, COUNT);
    static float all[COUNT * INPUTS], part[COUNT * INPUTS];
    struct thread_pool *two = pool;
    struct planted_samples samples = {0, 0, 0, COUNT};
    assert_true(planted_draw(&tree, pool, &samples, all, &codes));
    assert_ok(thread_pool_create(1, &pool, err));
    for (int at = 0; at < COUNT; at += 50) {
        struct planted_samples some = {0, at, 0, 50};
        assert_true(planted_draw(&tree, pool, &some, part + (ptrdiff_t)at * INPUTS, &codes));
    }
    thread_pool_destroy(pool);
    pool = two;
    assert_memory_equal(all, part, sizeof all);
    planted_codes_close(&codes);
}

/* ---- exactly ------------------------------------------------------------------------------------------------- */

static void exactly_k_features_are_active_and_all_equally_often(void **state)
{
    (void)state;
    enum { N = 20, K = 3, COUNT = 20000 };
    struct planted p = make((struct planted_shape){PLANTED_EXACTLY, N, 8, 5, 0, 0, 0, K, 0, NULL});
    struct planted_codes codes = room_for(&p, COUNT);
    struct planted_samples samples = {0, 0, 0, COUNT};
    float *x = malloc(sizeof *x * COUNT * 8);
    int counts[N] = {0};
    double sum = 0;
    assert_true(planted_draw(&p, pool, &samples, x, &codes));
    for (int r = 0; r < COUNT; r++) {
        assert_int_equal(codes.count[r], K);
        for (int k = 0; k < K; k++) {
            int i = codes.index[codes.start[r] + k];
            assert_true(k == 0 || i > codes.index[codes.start[r] + k - 1]);
            counts[i]++;
            sum += (double)codes.value[codes.start[r] + k];
        }
    }
    double share = (double)K / N, error = sqrt(share * (1 - share) / COUNT);
    for (int i = 0; i < N; i++)
        assert_true(fabs((double)counts[i] / COUNT - share) < 5 * error);
    assert_near(sum / (K * COUNT), sqrt(2 / 3.14159265358979), 0.01); /* the mean of |normal| */
    free(x);
    planted_codes_close(&codes);
    planted_close(&p);
}

static void distinct_samples_repeat(void **state)
{
    (void)state;
    struct planted p = make((struct planted_shape){PLANTED_EXACTLY, 20, 8, 5, 0, 0, 0, 3, 0, NULL});
    struct planted_codes codes = room_for(&p, 30);
    struct planted_samples samples = {0, 0, 10, 30};
    float x[30 * 8];
    assert_true(planted_draw(&p, pool, &samples, x, &codes));
    assert_memory_equal(x, x + 80, sizeof(float) * 80);
    assert_memory_equal(x, x + 160, sizeof(float) * 80);
    assert_memory_not_equal(x, x + 8, sizeof(float) * 8);
    planted_codes_close(&codes);
    planted_close(&p);
}

static void a_shape_out_of_range_is_refused(void **state)
{
    (void)state;
    struct planted p;
    struct error err = {0};
    struct planted_shape shape = {PLANTED_EXACTLY, 20, 8, 5, 0, 0, 0, 21, 0, NULL};
    assert_int_equal(planted_create(&shape, kernels_best(), pool, &p, &err), STATUS_INVALID);
    planted_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_follow_the_power_law_between_the_two_ends),
        cmocka_unit_test(the_rates_of_the_published_size_add_up_to_59),
        cmocka_unit_test(the_published_size_has_34_active_features_a_sample),
        cmocka_unit_test(a_feature_without_parent_fires_with_its_rate),
        cmocka_unit_test(a_level_has_about_one_child_for_each_active_parent),
        cmocka_unit_test(values_have_the_mean_that_falls_from_five_to_four),
        cmocka_unit_test(a_child_is_active_only_with_its_parent_and_without_siblings),
        cmocka_unit_test(frequent_features_fire_together_as_their_loadings_say),
        cmocka_unit_test(a_sample_is_the_bias_plus_its_active_directions),
        cmocka_unit_test(adam_makes_directions_more_orthogonal),
        cmocka_unit_test(samples_do_not_depend_on_threads_or_batches),
        cmocka_unit_test(exactly_k_features_are_active_and_all_equally_often),
        cmocka_unit_test(distinct_samples_repeat),
        cmocka_unit_test(a_shape_out_of_range_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
