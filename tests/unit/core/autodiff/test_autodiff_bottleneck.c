/* Tests the operations that replace the sparse layer in the baselines (noise and KL sparsity), and the presence
 * objective, which reads the input of the sparse layer. */
#include "tests/unit/core/gradient.h"

#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "tests/support/assert_ok.h"

#define TOLERANCE 1e-6

struct noisy {
    struct map_shape shape;
    struct batch_norm norm;
    double deviation;
};

static struct tensor *build_noise(struct probe *p, const void *context)
{
    struct noisy *c = (struct noisy *)context;
    return op_noise(&p->exec, probe_input(p, 0), &c->norm, c->deviation);
}

static void open_noise(struct probe *p, struct noisy *c, int threads)
{
    probe_open(p, threads, "ref");
    probe_map(p, &c->shape, 1.0);
    c->norm.mean = probe_vector(p, 1, 0.3);
    c->norm.variance = probe_vector(p, 1, 0.5);
    c->norm.variance->value[0] += R(1.0);
    c->norm.momentum = 0.1;
    c->norm.epsilon = 1e-5;
    p->checked_count -= 2; /* running statistics have no gradient */
}

static void noise_gradients_match_differences(void **state)
{
    const struct map_shape shapes[] = {{2, 18, 5, 3, 1, 1}, {1, 3, 1, 601, 0, 1}, {3, 1, 2, 2, 1, 1}};
    for (int i = 0; i < 6; i++) {
        struct probe p;
        struct noisy c = {.shape = shapes[i % 3], .norm.hold = i > 2, .deviation = 0.7};
        open_noise(&p, &c, 2);
        probe_check(&p, build_noise, &c, TOLERANCE);
        probe_close(&p);
    }
}

/* The noise layer scales all elements together to mean 0 and variance 1, then adds noise of the requested deviation.
 * Differences between channels remain. */
static void noise_normalises_all_elements_and_has_its_deviation(void **state)
{
    enum { COUNT = 4 * 7 * 30 * 31 };
    struct noisy c = {.shape = {4, 7, 30, 31, 1, 1}};
    struct probe p;
    static real clean[COUNT], noisy[COUNT], again[COUNT];
    open_noise(&p, &c, 2);
    for (int i = 0; i < COUNT; i++) /* the channels get different means */
        p.inputs[0].value[i] += (real)(i / (30 * 31) % 7);
    exec_begin(&p.exec, true, 3);
    tensor_to_planes(build_noise(&p, &c), clean);
    c.deviation = 1.5;
    exec_begin(&p.exec, true, 3);
    tensor_to_planes(build_noise(&p, &c), noisy);
    exec_begin(&p.exec, true, 3);
    tensor_to_planes(build_noise(&p, &c), again);
    assert_memory_equal(noisy, again, sizeof noisy);
    double sum = 0, square = 0, noise = 0, noise_square = 0, channel = 0;
    for (int i = 0; i < COUNT; i++) {
        double difference = (double)noisy[i] - (double)clean[i];
        sum += (double)clean[i] / COUNT;
        square += (double)(clean[i] * clean[i]) / COUNT;
        noise += difference / COUNT;
        noise_square += difference * difference / COUNT;
        channel += i / (30 * 31) % 7 == 6 ? (double)clean[i] * 7 / COUNT : 0;
    }
    assert_true(fabs(sum) < 1e-9 && fabs(square - 1) < 1e-4);
    assert_true(fabs(noise) < 0.03 && fabs(noise_square - 2.25) < 0.06);
    assert_true(channel > 1);
    /* step 4 draws other noise than step 3, and training has moved the running mean away from 0 */
    exec_begin(&p.exec, true, 4);
    tensor_to_planes(build_noise(&p, &c), again);
    assert_memory_not_equal(noisy, again, sizeof noisy);
    assert_true(c.norm.mean->value[0] > R(0.7));
    probe_close(&p);
}

struct dropped {
    struct map_shape shape;
    double share;
};

static struct tensor *build_dropped(struct probe *p, const void *context)
{
    const struct dropped *c = context;
    return op_drop_channels(&p->exec, probe_input(p, 0), c->share);
}

static void channel_dropout_gradients_match_differences(void **state)
{
    const struct dropped cases[] = {{{2, 18, 5, 3, 1, 1}, 0.4}, {{3, 5, 1, 40, 0, 1}, 0.6}};
    for (int i = 0; i < 2; i++) {
        struct probe p;
        probe_open(&p, 2, "ref");
        probe_map(&p, &cases[i].shape, 1.0);
        probe_check(&p, build_dropped, &cases[i], TOLERANCE);
        probe_close(&p);
    }
}

/* Every channel of every image is either 0 everywhere or its values times 1 / (1 - share). Another step drops others,
 * and an evaluation none. */
static void channel_dropout_drops_whole_channels_only_in_training(void **state)
{
    enum { IMAGES = 40, CHANNELS = 20, PIXELS = 6, COUNT = IMAGES * CHANNELS * PIXELS };
    const struct dropped c = {{IMAGES, CHANNELS, 2, 3, 1, 1}, 0.25};
    struct probe p;
    static real out[COUNT], other[COUNT];
    int zero = 0;
    probe_open(&p, 3, "ref");
    probe_map(&p, &c.shape, 1.0);
    exec_begin(&p.exec, true, 3);
    tensor_to_planes(build_dropped(&p, &c), out);
    for (int plane = 0; plane < IMAGES * CHANNELS; plane++) {
        bool dropped = out[plane * PIXELS] == 0;
        zero += dropped;
        for (int i = plane * PIXELS; i < (plane + 1) * PIXELS; i++)
            assert_true(dropped ? out[i] == 0 : fabs((double)out[i] - (double)p.inputs[0].value[i] / 0.75) < 1e-6);
    }
    assert_in_range(zero, 150, 250); /* 200 are expected, with a deviation of 12 */
    exec_begin(&p.exec, true, 4);
    tensor_to_planes(build_dropped(&p, &c), other);
    assert_memory_not_equal(out, other, sizeof out);
    exec_begin(&p.exec, false, 4);
    tensor_to_planes(build_dropped(&p, &c), other);
    assert_memory_equal(p.inputs[0].value, other, sizeof other);
    probe_close(&p);
}

struct activation {
    struct map_shape shape;
    double rate;
};

/* Builds a sigmoid, and then both results of KL sparsity: the divergence of the sigmoid's mean, and the sigmoid's
 * values above one half. */
static struct tensor *build_kl(struct probe *p, const void *context)
{
    const struct activation *c = context;
    static const real half[32] = {R(0.5), R(0.5), R(0.5)};
    struct tensor *x = op_sigmoid(&p->exec, probe_input(p, 0));
    struct tensor *map = op_threshold(&p->exec, x, half, true);
    struct tensor *penalty = op_scale(&p->exec, op_rate_divergence(&p->exec, op_mean(&p->exec, x), c->rate), 3.0);
    return op_add(&p->exec, op_scale(&p->exec, op_mean(&p->exec, map), 30.0), penalty);
}

static void kl_sparsity_gradients_match_differences(void **state)
{
    const double rates[] = {0.5, 0.02, 5.02262129e-5};
    for (int i = 0; i < 6; i++) {
        struct probe p;
        struct activation c = {{2, 3, 5, 4, 1, 1}, rates[i % 3]};
        probe_open(&p, 2, "ref");
        probe_map(&p, &c.shape, 1.0);
        p.exec.sparse = i > 2 ? EXEC_SPARSE : EXEC_DENSE;
        probe_check(&p, build_kl, &c, TOLERANCE);
        probe_close(&p);
    }
}

static void rate_divergence_equals_its_formula(void **state)
{
    struct probe p;
    probe_open(&p, 1, "ref");
    real mean = R(0.2);
    const struct {
        double mean, rate, wanted;
    } known[] = {{0.2, 0.2, 0}, {0.5, 0.25, 0.130812035941137}, {0.1, 0.9, 1.7577796618689758}};
    for (int i = 0; i < 3; i++) {
        exec_begin(&p.exec, true, 0);
        mean = (real)known[i].mean;
        struct tensor *x = tensor_wrap_rows(&p.exec, &mean, 1, 1, true);
        assert_true(fabs((double)op_rate_divergence(&p.exec, x, known[i].rate)->data[0] - known[i].wanted) < 1e-12);
    }
    probe_close(&p);
}

/* ---- presence --------------------------------------------------------------------------------------------- */

enum { NAMES = 3 };

struct presence_case {
    struct map_shape shape;
    double sharpness;
    struct presence presence;
};

/* Builds the pooling and a second operation that reads the same map, so the pooling must add its gradient to one that
 * exists already. */
static struct tensor *build_presence(struct probe *p, const void *context)
{
    const struct presence_case *c = context;
    struct exec *e = &p->exec;
    struct tensor *x = probe_input(p, 0), *scores = op_log_mean_exp(e, x, c->sharpness);
    struct tensor *loss = op_presence(e, scores, &c->presence);
    return op_add(e, op_scale(e, loss, 0.7),
                  op_add(e, op_mean(e, scores), op_scale(e, op_mean(e, op_relu(e, x)), 10.0)));
}

static struct tensor *build_pooled(struct probe *p, const void *context)
{
    return op_log_mean_exp(&p->exec, probe_input(p, 0), ((const struct presence_case *)context)->sharpness);
}

static void presence_gradients_match_differences(void **state)
{
    static const bool occurs[4 * NAMES] = {true, false, false, false, true, true, false, false, true, true, true, true};
    static const real weight[NAMES] = {R(1.0), R(3.5), R(20.0)}, scale[NAMES] = {R(0.3), R(2.5), R(0.2)};
    const struct map_shape shapes[] = {{4, 18, 5, 3, 1, 1}, {2, 3, 1, 37, 0, 1}, {3, NAMES, 4, 6, 1, 1}};
    for (int i = 0; i < 6; i++) {
        struct probe p;
        struct presence_case c = {shapes[i % 3],
                                  i > 2 ? 2.5 : 1,
                                  {NAMES, NULL, NULL, occurs, i > 2 ? weight : NULL, i % 2 ? scale : NULL, NULL}};
        probe_open(&p, 2, "ref");
        probe_map(&p, &c.shape, 2.0);
        c.presence.gain = probe_vector(&p, NAMES, 1.0);
        c.presence.bias = probe_vector(&p, NAMES, 1.0);
        probe_check(&p, build_presence, &c, TOLERANCE);
        probe_close(&p);
    }
    /* no other operation reads the map, so the pooling writes the gradient of the map and adds nothing to it */
    for (int i = 0; i < 3; i++) {
        struct probe p;
        struct presence_case c = {.shape = shapes[i], .sharpness = 1.5};
        probe_open(&p, 1, "ref");
        probe_map(&p, &c.shape, 2.0);
        probe_check(&p, build_pooled, &c, TOLERANCE);
        probe_close(&p);
    }
}

/* Names with one, two and three channels; the effects of the last name have both signs. */
static void presence_gradients_of_several_channels_match_differences(void **state)
{
    enum { MOST = 3 };
    static const bool occurs[4 * NAMES] = {true, false, false, false, true, true, false, false, true, true, true, true};
    real used[NAMES] = {R(1.0), R(2.0), R(3.0)};
    struct weight numbers = {.value = used, .count = NAMES};
    struct presence_parts parts = {.most = MOST, .used = &numbers};
    struct probe p;
    struct presence_case c = {{4, 12, 4, 3, 1, 1}, 1.5, {NAMES, NULL, NULL, occurs, NULL, NULL, &parts}};
    probe_open(&p, 2, "ref");
    probe_map(&p, &c.shape, 2.0);
    c.presence.gain = probe_vector(&p, NAMES * MOST, 1.0);
    c.presence.bias = probe_vector(&p, NAMES * MOST, 1.0);
    parts.effect = probe_vector(&p, NAMES * MOST, 2.0);
    parts.base = probe_vector(&p, NAMES, 1.0);
    probe_check(&p, build_presence, &c, TOLERANCE);
    real scores[12] = {R(0.3), R(-0.2), R(0.9), R(1.5), R(0.7), R(-1.0), R(0.1), R(0.2), R(-0.4)};
    for (int k = 0; k < NAMES; k++) {
        double logit = k == 0 ? (double)c.presence.bias->value[0] + (double)c.presence.gain->value[0] * 0.3
                              : (double)parts.base->value[k];
        for (int i = 0; k > 0 && i <= k; i++) {
            int at = i * NAMES + k;
            double x = (double)c.presence.gain->value[at] * (double)scores[at] + (double)c.presence.bias->value[at];
            logit += (double)parts.effect->value[at] / (1 + exp(-x));
        }
        assert_true(fabs(presence_logit(&c.presence, scores, k) - logit) < 1e-6);
    }
    probe_close(&p);
}

/* The offsets 2000 and -2000 test values whose exponentials overflow a float, and values that are far below zero. */
static void pooled_scores_and_presence_loss_equal_their_formulas(void **state)
{
    enum { CHANNELS = 18, ROWS = 6, COLS = 7, IMAGES = 3 };
    static const bool occurs[IMAGES * NAMES] = {true, false, true, false, false, true, true, true, false};
    static const real weight[NAMES] = {R(1.0), R(4.0), R(0.5)}, scale[NAMES] = {R(0.25), R(1.0), R(1.75)};
    const double offsets[] = {0, 2000, -2000};
    for (int i = 0; i < 3; i++) {
        struct probe p;
        struct presence_case c = {
            {IMAGES, CHANNELS, ROWS, COLS, 1, 1}, 1.5, {NAMES, NULL, NULL, occurs, weight, scale, NULL}};
        probe_open(&p, 2, "ref");
        probe_map(&p, &c.shape, 3.0);
        c.presence.gain = probe_vector(&p, NAMES, 1.0);
        c.presence.bias = probe_vector(&p, NAMES, 1.0);
        real *x = p.inputs[0].value;
        for (size_t j = 0; j < p.inputs[0].count; j++)
            x[j] += (real)offsets[i];
        exec_begin(&p.exec, true, 0);
        struct tensor *scores = op_log_mean_exp(&p.exec, probe_input(&p, 0), 1.5);
        double loss = 0;
        for (int k = 0; k < IMAGES * CHANNELS; k++) {
            double sum = 0;
            for (int j = 0; j < ROWS * COLS; j++)
                sum += exp(1.5 * ((double)x[k * ROWS * COLS + j] - offsets[i]));
            double score = offsets[i] + log(sum / (ROWS * COLS)) / 1.5;
            assert_true(fabs((double)scores->data[k] - score) < 1e-9 * (1 + fabs(score)));
            int name = k % CHANNELS, image = k / CHANNELS;
            if (name >= NAMES)
                continue;
            double logit = (double)c.presence.bias->value[name] + (double)c.presence.gain->value[name] * score;
            double right = occurs[image * NAMES + name] ? logit : -logit; /* loss: -log sigmoid(right) */
            double one = right > -30 ? log1p(exp(-right)) : -right;
            loss += (double)scale[name] * one * (occurs[image * NAMES + name] ? (double)weight[name] : 1) / IMAGES;
        }
        double value = (double)op_presence(&p.exec, scores, &c.presence)->data[0];
        assert_true(fabs(value - loss) < 1e-9 * (1 + loss));
        probe_close(&p);
    }
}

static void presence_refuses_names_without_a_score(void **state)
{
    struct probe p;
    struct presence_case c = {{2, 2, 3, 3, 1, 1}, 1, {NAMES, NULL, NULL, NULL, NULL, NULL, NULL}};
    probe_open(&p, 1, "ref");
    probe_map(&p, &c.shape, 1.0);
    c.presence.gain = probe_vector(&p, NAMES, 1.0);
    c.presence.bias = probe_vector(&p, NAMES, 1.0);
    exec_begin(&p.exec, true, 0);
    assert_null(op_presence(&p.exec, op_log_mean_exp(&p.exec, probe_input(&p, 0), 1), &c.presence));
    assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
    exec_begin(&p.exec, true, 0);
    assert_null(op_log_mean_exp(&p.exec, probe_input(&p, 0), 0));
    probe_close(&p);
}

/* Builds a graph in which two operations read the map, so their gradients must be added. */
static struct tensor *build_strands(struct probe *p, const void *context)
{
    struct exec *e = &p->exec;
    struct tensor *x = probe_input(p, 0), *most = op_strand_max(e, x, NULL);
    return *(const bool *)context ? op_add(e, op_mean(e, most), op_mean(e, op_relu(e, x))) : most;
}

static void strand_gradients_match_differences(void **state)
{
    const struct map_shape shapes[] = {{4, 18, 1, 37, 0, 1}, {2, 3, 1, 8, 0, 1}, {6, 5, 3, 7, 1, 1}};
    for (int i = 0; i < 6; i++) {
        struct probe p;
        bool twice = i > 2;
        probe_open(&p, 2, "ref");
        probe_map(&p, &shapes[i % 3], 2.0);
        probe_check(&p, build_strands, &twice, TOLERANCE);
        probe_close(&p);
    }
}

static void strand_maximum_says_which_strand_it_is(void **state)
{
    enum { IMAGES = 2, CHANNELS = 3, COLS = 9, ONE = CHANNELS * COLS };
    struct map_shape shape = {2 * IMAGES, CHANNELS, 1, COLS, 0, 1};
    struct probe p;
    real out[IMAGES * ONE], side[IMAGES * ONE];
    probe_open(&p, 2, "ref");
    probe_map(&p, &shape, 2.0);
    exec_begin(&p.exec, true, 0);
    struct tensor *reverse = NULL, *most = op_strand_max(&p.exec, probe_input(&p, 0), &reverse);
    const real *x = p.inputs[0].value;
    tensor_to_planes(most, out);
    tensor_to_planes(reverse, side);
    for (int i = 0; i < IMAGES * ONE; i++) {
        real plus = x[i], minus = x[IMAGES * ONE + i / COLS * COLS + COLS - 1 - i % COLS];
        assert_true(out[i] == (minus > plus ? minus : plus) && side[i] == (minus > plus ? R(1.0) : R(0.0)));
    }
    shape.images = 3;
    assert_null(op_strand_max(&p.exec, tensor_from_planes(&p.exec, x, &shape, false), NULL));
    assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
    probe_close(&p);
}

/* All thresholds are at least 2. All values are below 1, except three values in images 1 and 2. Of these three, only
 * one value in image 1 is above its threshold. */
static void lift_raises_the_strongest_value_of_images_without_one_above_its_threshold(void **state)
{
    enum { IMAGES = 3, CHANNELS = 18, PIXELS = 5 * 7, ONE = CHANNELS * PIXELS };
    struct map_shape shape = {IMAGES, CHANNELS, 5, 7, 1, 1};
    real threshold[CHANNELS];
    static real x[IMAGES * ONE], y[IMAGES * ONE];
    for (int c = 0; c < CHANNELS; c++)
        threshold[c] = R(2.0) + R(0.1) * (real)c;
    for (int i = 0; i < IMAGES * ONE; i++)
        x[i] = (real)((i * 37) % 101) / R(101.0);
    x[1 * ONE + 17 * PIXELS + 3] = R(3.8);  /* above its threshold, 3.7 */
    x[2 * ONE + 17 * PIXELS + 34] = R(3.0); /* larger than 2.3 (next line), but farther below its threshold */
    x[2 * ONE + 4 * PIXELS + 5] = R(2.3);
    for (int threads = 1; threads <= 2; threads++) {
        struct probe p;
        probe_open(&p, threads, "ref");
        exec_begin(&p.exec, false, 0);
        tensor_to_planes(op_lift(&p.exec, tensor_from_planes(&p.exec, x, &shape, false), threshold, 0.5), y);
        assert_ok(exec_status(&p.exec, err));
        int best = 0, changed = 0;
        for (int i = 1; i < ONE; i++)
            best = x[i] - threshold[i / PIXELS] > x[best] - threshold[best / PIXELS] ? i : best;
        for (int i = 0; i < IMAGES * ONE; i++)
            changed += x[i] != y[i];
        assert_int_equal(changed, 2);
        assert_true(fabs((double)(y[best] - threshold[best / PIXELS]) - 0.5) < 1e-6);
        assert_true(fabs((double)y[2 * ONE + 4 * PIXELS + 5] - 2.9) < 1e-6);
        exec_begin(&p.exec, true, 0);
        assert_null(op_lift(&p.exec, tensor_from_planes(&p.exec, x, &shape, false), threshold, 0.5));
        assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
        probe_close(&p);
    }
}

enum { LIMITED = 4, LIMITED_CHANNELS = 18, LIMITED_ROWS = 5, LIMITED_COLS = 19 };

/* Returns how many peaks of an image exceed their thresholds. It compares each value with all others of its channel. */
static int peaks_of(const real *image, const real *threshold, int near)
{
    int peaks = 0;
    for (int c = 0; c < LIMITED_CHANNELS; c++)
        for (int i = 0; i < LIMITED_ROWS * LIMITED_COLS; i++) {
            const real *map = image + c * LIMITED_ROWS * LIMITED_COLS;
            bool largest = map[i] > threshold[c];
            for (int j = 0; j < LIMITED_ROWS * LIMITED_COLS; j++)
                largest &= map[j] <= map[i] || abs(i / LIMITED_COLS - j / LIMITED_COLS) > near ||
                           abs(i % LIMITED_COLS - j % LIMITED_COLS) > near;
            peaks += largest;
        }
    return peaks;
}

/* The values of a map are random, and no two are equal. A third of them exceed their thresholds. */
static void limit_leaves_the_highest_peaks_of_each_image_and_peaks_all_of_them(void **state)
{
    enum { ONE = LIMITED_CHANNELS * LIMITED_ROWS * LIMITED_COLS, PIXELS = LIMITED_ROWS * LIMITED_COLS };
    struct map_shape shape = {LIMITED, LIMITED_CHANNELS, LIMITED_ROWS, LIMITED_COLS, 1, 1};
    static real x[LIMITED * ONE], y[LIMITED * ONE];
    real threshold[LIMITED_CHANNELS], marked[LIMITED_CHANNELS]; /* marked: every other channel, for op_peaks() */
    struct philox from = philox_stream(7, 1, 0);
    for (int c = 0; c < LIMITED_CHANNELS; c++) {
        threshold[c] = R(0.6) + R(0.01) * (real)c;
        marked[c] = (real)(c % 2);
    }
    for (int i = 0; i < LIMITED * ONE; i++)
        x[i] = i / ONE == 3 ? R(0.1) : (real)philox_uniform(&from, (uint64_t)i);
    for (int trial = 0; trial < 6; trial++) {
        int most = trial % 3 == 0 ? 1 : trial % 3 == 1 ? 5 : OP_LIMIT_MOST, near = trial < 3 ? 2 : LIMITED_COLS;
        struct probe p;
        probe_open(&p, 1 + trial % 2, "ref");
        exec_begin(&p.exec, false, 0);
        tensor_to_planes(op_limit(&p.exec, tensor_from_planes(&p.exec, x, &shape, false), threshold, most, near), y);
        assert_ok(exec_status(&p.exec, err));
        for (int image = 0; image < LIMITED; image++) {
            const real *before = x + image * ONE, *after = y + image * ONE;
            int peaks = peaks_of(before, threshold, near);
            real lowest = R(1.0), highest = R(0.0); /* lowest peak that stays, highest peak that is removed */
            assert_int_equal(peaks_of(after, threshold, near), peaks < most ? peaks : most);
            for (int i = 0; i < ONE; i++) {
                real height = before[i] - threshold[i / PIXELS];
                if (after[i] != before[i]) {
                    assert_true(height > 0 && after[i] == threshold[i / PIXELS]);
                    highest = height > highest ? height : highest;
                } else if (height > 0) {
                    lowest = height < lowest ? height : lowest;
                }
            }
            assert_true(lowest > highest && (highest > 0) == (peaks > most));
        }
        exec_begin(&p.exec, false, 0);
        tensor_to_planes(op_peaks(&p.exec, tensor_from_planes(&p.exec, x, &shape, false), threshold, marked, near), y);
        assert_ok(exec_status(&p.exec, err));
        for (int image = 0; image < LIMITED; image++)
            for (int c = 0; c < LIMITED_CHANNELS; c++) {
                const real *before = x + image * ONE + c * PIXELS, *after = y + image * ONE + c * PIXELS;
                int stay = 0;
                for (int i = 0; i < PIXELS; i++) {
                    assert_true(after[i] == before[i] || (marked[c] > 0 && after[i] == threshold[c]));
                    stay += after[i] > threshold[c];
                }
                real none[LIMITED_CHANNELS];
                for (int k = 0; k < LIMITED_CHANNELS; k++)
                    none[k] = k == c ? threshold[c] : R(2.0);
                assert_true(marked[c] == 0 || stay == peaks_of(x + image * ONE, none, near));
            }
        exec_begin(&p.exec, true, 0);
        assert_null(op_peaks(&p.exec, tensor_from_planes(&p.exec, x, &shape, false), threshold, marked, near));
        assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
        exec_begin(&p.exec, true, 0);
        assert_null(op_limit(&p.exec, tensor_from_planes(&p.exec, x, &shape, false), threshold, most, near));
        assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
        exec_begin(&p.exec, false, 0);
        assert_null(op_limit(&p.exec, tensor_from_planes(&p.exec, x, &shape, false), threshold, 0, near));
        assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
        probe_close(&p);
    }
}

/* Returns the score of a matrix at a position, as ops.h defines it. */
static double score_at(const struct matrices *m, int channel, const real *planes, int cols, int position, bool reverse)
{
    double sum = 0;
    for (int j = 0; j < m->width; j++)
        for (int b = 0; b < 4; b++) {
            int at = position - m->width / 2 + j;
            int entry = reverse ? (m->width - 1 - j) * 4 + 3 - b : j * 4 + b;
            if (at >= 0 && at < cols)
                sum += (double)m->table[channel * m->width * 4 + entry] * (double)planes[b * cols + at];
        }
    return sum;
}

/* Some rows are shorter than the matrices. Every third channel has no matrix. */
static void matrices_replace_the_values_of_their_channels(void **state)
{
    enum { IMAGES = 3, CHANNELS = 19, MOST = 23, WIDTH = 7 };
    static real x[IMAGES * CHANNELS * MOST], y[IMAGES * CHANNELS * MOST], inputs[IMAGES * 4 * MOST],
        table[CHANNELS * WIDTH * 4];
    real scale[CHANNELS], offset[CHANNELS];
    struct philox from = philox_stream(11, 1, 0);
    for (int i = 0; i < IMAGES * CHANNELS * MOST; i++)
        x[i] = (real)philox_normal(&from, (uint64_t)i);
    for (int i = 0; i < CHANNELS * WIDTH * 4; i++)
        table[i] = i % 5 == 0 ? R(0.0) : (real)philox_normal(&from, 10000 + (uint64_t)i);
    for (int i = 0; i < IMAGES * 4 * MOST; i++)
        inputs[i] = (real)philox_uniform(&from, 20000 + (uint64_t)i);
    for (int c = 0; c < CHANNELS; c++) {
        scale[c] = c % 3 == 2 ? R(0.0) : R(0.5) + R(0.1) * (real)c;
        offset[c] = R(0.3) * (real)(c - 7);
    }
    for (int trial = 0; trial < 8; trial++) {
        int cols = trial < 4 ? MOST : 5;
        struct map_shape shape = {IMAGES, CHANNELS, 1, cols, 1, 1};
        struct matrices m = {WIDTH, trial % 2, table, scale, offset};
        struct probe p;
        probe_open(&p, 1 + trial / 2 % 2, "ref");
        exec_begin(&p.exec, false, 0);
        tensor_to_planes(op_matrices(&p.exec, tensor_from_planes(&p.exec, x, &shape, false), inputs, &m), y);
        assert_ok(exec_status(&p.exec, err));
        for (int i = 0; i < IMAGES * CHANNELS * cols; i++) {
            int image = i / (CHANNELS * cols), c = i / cols % CHANNELS;
            const real *planes = inputs + image * 4 * cols;
            double own = score_at(&m, c, planes, cols, i % cols, false),
                   other = score_at(&m, c, planes, cols, i % cols, true);
            double want = (double)offset[c] + (double)scale[c] * (m.both_strands && other > own ? other : own);
            assert_true(fabs((double)y[i] - (scale[c] > 0 ? want : (double)x[i])) < 1e-4);
        }
        exec_begin(&p.exec, true, 0);
        assert_null(op_matrices(&p.exec, tensor_from_planes(&p.exec, x, &shape, false), inputs, &m));
        assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
        probe_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channel_dropout_gradients_match_differences),
        cmocka_unit_test(channel_dropout_drops_whole_channels_only_in_training),
        cmocka_unit_test(noise_gradients_match_differences),
        cmocka_unit_test(noise_normalises_all_elements_and_has_its_deviation),
        cmocka_unit_test(kl_sparsity_gradients_match_differences),
        cmocka_unit_test(presence_gradients_match_differences),
        cmocka_unit_test(presence_gradients_of_several_channels_match_differences),
        cmocka_unit_test(pooled_scores_and_presence_loss_equal_their_formulas),
        cmocka_unit_test(presence_refuses_names_without_a_score),
        cmocka_unit_test(rate_divergence_equals_its_formula),
        cmocka_unit_test(strand_gradients_match_differences),
        cmocka_unit_test(strand_maximum_says_which_strand_it_is),
        cmocka_unit_test(lift_raises_the_strongest_value_of_images_without_one_above_its_threshold),
        cmocka_unit_test(limit_leaves_the_highest_peaks_of_each_image_and_peaks_all_of_them),
        cmocka_unit_test(matrices_replace_the_values_of_their_channels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
