/* Tests the random changes of training samples, and which data get them. */
#include "core/methods/sparling/domains/dataset_augment.h"

#include <math.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "tests/support/unit.h"
#include "core/methods/sparling/domains/dataset_fit.h"

enum { COLS = 200, ROWS = 24, SIDE = 30 };

static struct augment_sample signal_of(float *planes, int64_t index)
{
    return (struct augment_sample){
        .planes = planes, .channels = 2, .rows = 1, .cols = COLS, .length = COLS - 20, .seed = 5, .index = index};
}

static void fill_signal(float *planes)
{
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < COLS; i++)
            planes[c * COLS + i] = i < COLS - 20 ? (float)(c * 3 + sin(i * 0.1)) : 0;
}

/* Returns whether a change with these strengths is the same for the same index, differs for another one, and leaves the
 * columns beyond the length alone. */
static bool is_reproducible(const struct augmentation *a)
{
    float first[2 * COLS], again[2 * COLS], other[2 * COLS], scratch[2 * COLS];
    float *planes[] = {first, again, other};
    for (int i = 0; i < 3; i++) {
        struct augment_sample s = signal_of(planes[i], i == 2 ? 8 : 7);
        fill_signal(planes[i]);
        dataset_augment(&s, a, scratch);
        for (int c = 0; c < 2; c++)
            for (int k = COLS - 20; k < COLS; k++)
                if (planes[i][c * COLS + k] != 0)
                    return false;
    }
    return memcmp(first, again, sizeof first) == 0 && memcmp(first, other, sizeof first) != 0;
}

static void changes_depend_on_seed_and_index_only(void **state)
{
    const struct augmentation each[] = {{.shift = 0.2}, {.stretch = 0.2}, {.gain = 0.3},  {.offset = 0.5},
                                        {.noise = 0.2}, {.erase = 0.3},   {.drift = 0.5}, {.mask = 0.5}};
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        assert_true(augments(&each[i]));
        assert_true(is_reproducible(&each[i]));
    }
    assert_false(augments(&(struct augmentation){0}));
}

/* Returns the mean variance of white noise of variance 1 after these changes. */
static double noise_after(const struct augmentation *a)
{
    double squares = 0, count = 0;
    for (int64_t index = 0; index < 50; index++) {
        float planes[2 * COLS], scratch[2 * COLS];
        struct augment_sample s = signal_of(planes, index);
        struct philox noise = philox_stream(3, 0, (uint64_t)index);
        for (int i = 0; i < 2 * COLS; i++)
            planes[i] = (float)philox_normal(&noise, (uint64_t)i);
        dataset_augment(&s, a, scratch);
        for (int i = 0; i < COLS - 20; i++, count++)
            squares += (double)planes[i] * (double)planes[i];
    }
    return squares / count;
}

/* Linear interpolation between neighbours would leave two thirds of the variance. */
static void moved_noise_keeps_its_strength(void **state)
{
    double shifted = noise_after(&(struct augmentation){.shift = 0.3}),
           stretched = noise_after(&(struct augmentation){.stretch = 0.2});
    assert_true(fabs(shifted - 1) < 0.06);
    assert_true(stretched > 0.84 && stretched < 1.05);
}

/* Beyond its ends, a sample keeps the value of its edge. */
static void shifted_ramp_stays_at_its_ends(void **state)
{
    for (int64_t index = 0; index < 20; index++) {
        float planes[2 * COLS], scratch[2 * COLS];
        struct augment_sample s = signal_of(planes, index);
        int level = 0;
        for (int i = 0; i < 2 * COLS; i++)
            planes[i] = (float)i;
        dataset_augment(&s, &(struct augmentation){.shift = 0.3}, scratch);
        for (int i = 1; i < COLS - 20; i++) {
            float step = planes[i] - planes[i - 1];
            bool end = planes[i] == 0 || planes[i] == (float)(COLS - 21);
            assert_true(step == 1 || (step == 0 && end));
            level += step == 0;
        }
        assert_in_range(level, 0, 55);
    }
}

/* A shift moves a peak by at most its strength, in both directions, and by the same distance in all channels. */
static void a_shift_moves_all_channels_by_up_to_its_strength(void **state)
{
    const struct augmentation a = {.shift = 0.1};
    int least = 0, most = 0;
    for (int64_t index = 0; index < 200; index++) {
        float planes[2 * COLS] = {0}, scratch[2 * COLS];
        struct augment_sample s = signal_of(planes, index);
        int at[2] = {0, 0};
        for (int c = 0; c < 2; c++)
            for (int i = 0; i < COLS - 20; i++)
                planes[c * COLS + i] = (float)exp(-0.01 * (i - 90) * (i - 90));
        dataset_augment(&s, &a, scratch);
        for (int c = 0; c < 2; c++)
            for (int i = 0; i < COLS - 20; i++)
                at[c] = planes[c * COLS + i] > planes[c * COLS + at[c]] ? i : at[c];
        assert_int_equal(at[0], at[1]);
        least = at[0] - 90 < least ? at[0] - 90 : least;
        most = at[0] - 90 > most ? at[0] - 90 : most;
    }
    assert_in_range(most, 14, 19);
    assert_in_range(-least, 14, 19);
}

/* Gain and offset change values linearly; noise has the stated deviation. */
static void values_change_by_gain_offset_and_noise(void **state)
{
    float planes[2 * COLS], before[2 * COLS], scratch[2 * COLS];
    struct augment_sample s = signal_of(planes, 3);
    fill_signal(before);
    memcpy(planes, before, sizeof before);
    dataset_augment(&s, &(struct augmentation){.gain = 0.3, .offset = 0.5}, scratch);
    double gain = ((double)planes[40] - (double)planes[20]) / ((double)before[40] - (double)before[20]);
    double offset = (double)planes[20] - gain * (double)before[20];
    assert_true(gain > exp(-0.3) && gain < exp(0.3) && fabs(gain - 1) > 1e-3);
    for (int i = 0; i < COLS - 20; i++)
        assert_true(fabs((double)planes[i] - gain * (double)before[i] - offset) < 1e-4);
    double squares = 0, spread = 0;
    memcpy(planes, before, sizeof before);
    dataset_augment(&s, &(struct augmentation){.noise = 0.2}, scratch);
    for (int i = 0; i < COLS - 20; i++) {
        double d = (double)planes[i] - (double)before[i];
        squares += d * d / (COLS - 20);
        spread += (double)before[i] * (double)before[i] / (COLS - 20);
    }
    assert_true(fabs(sqrt(squares / spread) - 0.2) < 0.04);
}

/* A patch of the stated size gets the mean; the rest stays. */
static void an_erased_patch_has_the_stated_size(void **state)
{
    float planes[ROWS * SIDE], before[ROWS * SIDE], scratch[ROWS * SIDE];
    struct augment_sample s = {.planes = planes, .channels = 1, .rows = ROWS, .cols = SIDE, .length = SIDE, .seed = 1};
    int changed = 0;
    for (int i = 0; i < ROWS * SIDE; i++)
        before[i] = planes[i] = (float)(i % 7) - 2.5F;
    dataset_augment(&s, &(struct augmentation){.erase = 0.5}, scratch);
    for (int i = 0; i < ROWS * SIDE; i++)
        changed += planes[i] != before[i];
    assert_int_equal(changed, ROWS / 2 * (SIDE / 2));
}

/* A drift is smooth: it has no more than one period, so it changes its direction at most twice. */
static void a_drift_is_slow(void **state)
{
    double largest = 0;
    for (int64_t index = 0; index < 50; index++) {
        float planes[2 * COLS], before[2 * COLS], scratch[2 * COLS];
        struct augment_sample s = signal_of(planes, index);
        int turns = 0;
        fill_signal(before);
        memcpy(planes, before, sizeof before);
        dataset_augment(&s, &(struct augmentation){.drift = 0.5}, scratch);
        for (int i = 2; i < COLS - 20; i++) {
            double a = (double)planes[i - 2] - (double)before[i - 2], b = (double)planes[i - 1] - (double)before[i - 1],
                   c = (double)planes[i] - (double)before[i];
            turns += (b - a) * (c - b) < -1e-9;
            largest = fmax(largest, fabs(c));
        }
        assert_in_range(turns, 0, 3);
    }
    assert_true(largest > 0.3 && largest < 0.36); /* the standard deviation of the sample is about .7 */
}

/* A mask hides an interval in all channels; of a recording, it also hides an interval of the frequencies. */
static void a_mask_hides_an_interval_of_time_and_of_frequency(void **state)
{
    int most = 0;
    for (int64_t index = 0; index < 100; index++) {
        float planes[2 * COLS], before[2 * COLS], scratch[2 * COLS];
        struct augment_sample s = signal_of(planes, index);
        int hidden = 0;
        fill_signal(before);
        memcpy(planes, before, sizeof before);
        dataset_augment(&s, &(struct augmentation){.mask = 0.5}, scratch);
        for (int i = 0; i < COLS - 20; i++) {
            assert_int_equal(planes[i] != before[i], planes[COLS + i] != before[COLS + i]);
            hidden += planes[i] != before[i];
        }
        most = hidden > most ? hidden : most;
    }
    assert_in_range(most, 80, 90);
    int bands = 0;
    for (int64_t index = 0; index < 40; index++) {
        float planes[ROWS * SIDE], scratch[ROWS * SIDE];
        struct augment_sample s = {.planes = planes,
                                   .channels = ROWS,
                                   .rows = 1,
                                   .cols = SIDE,
                                   .sound = true,
                                   .length = SIDE,
                                   .seed = 1,
                                   .index = index};
        for (int i = 0; i < ROWS * SIDE; i++)
            planes[i] = (float)(i % 97);
        dataset_augment(&s, &(struct augmentation){.mask = 0.5}, scratch);
        for (int band = 0; band < ROWS; band++) {
            bool even = true;
            for (int col = 1; col < SIDE; col++)
                even = even && planes[band * SIDE + col] == planes[band * SIDE];
            bands += even;
        }
    }
    assert_in_range(bands, 120, 360); /* a quarter of the bands would be 240 */
}

/* Each channel is silent with the stated probability, but never all of them. */
static void one_channel_is_never_silent(void **state)
{
    int silent = 0;
    for (int64_t index = 0; index < 400; index++) {
        float planes[2 * COLS], scratch[2 * COLS];
        struct augment_sample s = signal_of(planes, index);
        fill_signal(planes);
        dataset_augment(&s, &(struct augmentation){.silence = 0.6}, scratch);
        bool first = planes[0] == planes[9], second = planes[COLS] == planes[COLS + 9];
        assert_false(first && second);
        silent += first + second;
    }
    assert_in_range(silent, 200, 280); /* 400 * .6 * (2 - 1) */
}

/* A picture that is only mirrored has the same values in another order, and each of the four forms occurs. */
static void mirrored_pictures_have_four_forms(void **state)
{
    int seen[4] = {0};
    for (int64_t index = 0; index < 60; index++) {
        float planes[ROWS * SIDE], scratch[ROWS * SIDE];
        struct augment_sample s = {
            .planes = planes, .channels = 1, .rows = ROWS, .cols = SIDE, .length = SIDE, .seed = 1, .index = index};
        for (int i = 0; i < ROWS * SIDE; i++)
            planes[i] = (float)i;
        dataset_augment(&s, &(struct augmentation){.mirror = true}, scratch);
        int corner = (int)(planes[0] + 0.5F), form = (corner % SIDE == 0 ? 0 : 1) + (corner < SIDE ? 0 : 2);
        seen[form]++;
        for (int row = 0; row < ROWS; row++)
            for (int col = 0; col < SIDE; col++) {
                int from_row = form & 2 ? ROWS - 1 - row : row, from_col = form & 1 ? SIDE - 1 - col : col;
                assert_true(fabs((double)planes[row * SIDE + col] - (from_row * SIDE + from_col)) < 0.01);
            }
    }
    for (int form = 0; form < 4; form++)
        assert_in_range(seen[form], 5, 28);
}

static bool given_here(const void *context, const char *field)
{
    (void)context;
    return strcmp(field, "dilation") == 0 || strcmp(field, "augment_noise") == 0;
}

/* A configuration with a first phase of the presence objective, for samples of one row. */
static struct sparling_config line_of(int64_t channels, int64_t cols)
{
    static const struct config_setting named[] = {
        {"domain", "dataset"}, {"presence_weight", "1"}, {"presence_samples", "100"}, {NULL, NULL}};
    struct sparling_config c = {0};
    assert_int_equal(config_defaults(&sparling_config_table, &c, NULL), STATUS_OK);
    assert_int_equal(config_apply(&sparling_config_table, &c, named, NULL), STATUS_OK);
    c.dataset.channels = channels;
    c.dataset.rows = 1;
    c.dataset.cols = cols;
    c.dataset.tokens = 3;
    c.dataset.longest = 1;
    return c;
}

/* The window of a signal, also of one with several channels, grows with its length. Its training samples change at
 * random, but their size and length stay if the target is a number. Letters get none of this. */
static void signals_get_long_windows_and_random_changes(void **state)
{
    static const int64_t lengths[] = {100, 480, 1008, 50000}, units[] = {3, 6, 7, 7};
    const struct method_given given = {given_here, NULL};
    const struct dataset_facts signal = {.mean = 1}, letters = {.mean = 1, .letters = true};
    for (int i = 0; i < 4; i++) {
        struct sparling_config c = line_of(1 + i, lengths[i]);
        dataset_fit(&c, NULL, &signal);
        assert_true(c.dilation == 2 && c.first_window == 5 && c.units == units[i] && c.motif_dropout == 0.2);
        assert_true(c.dataset.augment_gain == 0.1 && c.dataset.augment_noise == 0.05);
        assert_true(c.dataset.augment_silence == 0.2 && c.weight_average == 0.998);
        c = line_of(1 + i, lengths[i]);
        c.dataset.numbers = true;
        dataset_fit(&c, &given, &signal);
        assert_true(c.dilation == 1 && c.first_window > 5 && c.dataset.augment_gain == 0);
        assert_true(c.dataset.augment_silence == 0);
        assert_true(c.dataset.augment_shift == 0.1 && c.dataset.augment_noise == 0);
        c = line_of(4, lengths[i]);
        dataset_fit(&c, NULL, &letters);
        assert_true(c.dilation == 1 && c.motif_dropout == 0 && c.dataset.augment_shift == 0 && c.weight_average == 0);
    }
}

static void large_pictures_get_a_stride(void **state)
{
    static const int cases[][4] = {/* rows, columns, stride, first window */
                                   {64, 64, 1, 9},
                                   {96, 96, 2, 5},
                                   {40, 120, 2, 5},
                                   {128, 160, 4, 3},
                                   {256, 256, 4, 3}};
    const struct dataset_facts picture = {.mean = 1}, sound = {.mean = 1, .sound = true};
    for (int i = 0; i < 5; i++) {
        struct sparling_config c = line_of(1, cases[i][1]);
        c.dataset.rows = cases[i][0];
        dataset_fit(&c, NULL, &picture);
        assert_true(c.stride == cases[i][2] && c.first_window == cases[i][3] && c.units == (c.stride > 1 ? 2 : 3));
        c.stride = 1;
        dataset_fit(&c, NULL, &sound);
        assert_int_equal(c.stride, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_depend_on_seed_and_index_only),
        cmocka_unit_test(moved_noise_keeps_its_strength),
        cmocka_unit_test(shifted_ramp_stays_at_its_ends),
        cmocka_unit_test(a_shift_moves_all_channels_by_up_to_its_strength),
        cmocka_unit_test(values_change_by_gain_offset_and_noise),
        cmocka_unit_test(an_erased_patch_has_the_stated_size),
        cmocka_unit_test(a_drift_is_slow),
        cmocka_unit_test(a_mask_hides_an_interval_of_time_and_of_frequency),
        cmocka_unit_test(one_channel_is_never_silent),
        cmocka_unit_test(mirrored_pictures_have_four_forms),
        cmocka_unit_test(signals_get_long_windows_and_random_changes),
        cmocka_unit_test(large_pictures_get_a_stride),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
