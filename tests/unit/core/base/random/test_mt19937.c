/* Compares draws bit for bit with values from numpy 1.24 (RandomState). */
#include "tests/support/unit.h"
#include "core/base/random/mt19937.h"

/* Returns the next word of the generator: a draw from a range of 2^32 values takes exactly one word. */
static uint32_t word(struct mt19937 *rng)
{
    return (uint32_t)mt19937_integer(rng, 0, INT64_C(1) << 32);
}

static void words_equal_numpys(void **state)
{
    struct mt19937 rng;
    mt19937_init(&rng, 3993328244U);
    assert_int_equal(word(&rng), 1881165431U);
    assert_int_equal(word(&rng), 2931872389U);
    assert_int_equal(word(&rng), 3709143798U);

    uint32_t drawn[2000];
    mt19937_init(&rng, 12345);
    for (int i = 0; i < 2000; i++)
        drawn[i] = word(&rng);
    assert_int_equal(drawn[0], 3992670690U);
    /* drawn[623] is the last word before the generator refills its state, drawn[624] the first one after it */
    assert_int_equal(drawn[623], 2940097750U);
    assert_int_equal(drawn[624], 3957348375U);
    assert_int_equal(drawn[1999], 3374551203U);
}

static void expect_integers(struct mt19937 *rng, int64_t low, int64_t high, const int64_t *wanted, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(mt19937_integer(rng, low, high), wanted[i]);
}

/* Makes every kind of draw from one stream. A draw that uses a wrong number of words changes all later values. */
static void sequence_of_draws_equals_numpys(void **state)
{
    struct mt19937 rng;
    mt19937_init(&rng, 0);
    assert_true(mt19937_uniform(&rng) == 0x1.18fe1565f12a8p-1);
    assert_true(mt19937_uniform(&rng) == 0x1.6e2d4cf608733p-1);
    assert_true(mt19937_uniform(&rng) == 0x1.349d66b6e894bp-1);
    expect_integers(&rng, 0, 10, (int64_t[]){3, 7, 9, 3, 5, 2, 4, 7}, 8);
    expect_integers(&rng, -3, 4, (int64_t[]){3, -3, -3, 1, -1, -2, 3, 3}, 8);
    int order[10];
    mt19937_permutation(&rng, order, 10);
    assert_memory_equal(order, ((int[]){2, 3, 4, 6, 0, 7, 9, 5, 1, 8}), sizeof order);
    const int chosen[6] = {0, 3, 5, 6, 0, 2}, weighted[6] = {2, 3, 2, 3, 3, 3};
    for (int i = 0; i < 6; i++)
        assert_int_equal(mt19937_choice(&rng, 7), chosen[i]);
    const double weights[5] = {1.0, 2.0, 3.0, 4.0, 0.5};
    for (int i = 0; i < 6; i++)
        assert_int_equal(mt19937_weighted(&rng, weights, 5), weighted[i]);
    expect_integers(&rng, 0, 120000, (int64_t[]){84665, 119423, 41504, 49866}, 4);
    expect_integers(&rng, 0, INT64_C(1) << 32, (int64_t[]){1780959476, 2034098327}, 2);
    assert_int_equal(mt19937_integer(&rng, 5, 6), 5); /* only one value is possible, so the generator draws no word */
    assert_true(mt19937_uniform(&rng) == 0.26455561210462697);
}

/* Mixes single and bulk draws, at every distance from the end of a block of words. */
static void bulk_draws_equal_single_draws(void **state)
{
    struct mt19937 one, bulk;
    double drawn[700];
    mt19937_init(&one, 9);
    mt19937_init(&bulk, 9);
    for (int count = 0; count < 700; count = count * 5 / 4 + 1) {
        assert_int_equal(word(&one), word(&bulk)); /* lets bulk draws begin at odd words too */
        mt19937_uniforms(&bulk, drawn, count);
        for (int i = 0; i < count; i++)
            assert_true(mt19937_uniform(&one) == drawn[i]);
    }
    assert_int_equal(word(&one), word(&bulk));
}

/* Compares the shuffled order of the 60 AudioMNIST speakers under seed 0. */
static void shuffle_equals_numpys(void **state)
{
    static const int wanted[60] = {27, 36, 60, 29, 12, 3,  35, 59, 41, 23, 5,  11, 31, 42, 34, 44, 50, 8,  15, 33,
                                   51, 30, 43, 55, 19, 57, 28, 16, 6,  32, 17, 52, 21, 53, 9,  14, 26, 38, 18, 46,
                                   49, 58, 39, 2,  13, 47, 25, 7,  24, 37, 22, 20, 10, 40, 56, 4,  1,  54, 48, 45};
    int speakers[60];
    for (int i = 0; i < 60; i++)
        speakers[i] = i + 1;
    struct mt19937 rng;
    mt19937_init(&rng, 0);
    mt19937_shuffle(&rng, speakers, 60);
    assert_memory_equal(speakers, wanted, sizeof wanted);
}

static void sample_seeds_equal_published_ones(void **state)
{
    assert_int_equal(mt19937_sample_seed(1, 0), 3993328244U);
    assert_int_equal(mt19937_sample_seed(1, 1), 635502921U);
    assert_int_equal(mt19937_sample_seed(-1, 0), 2072014212U);
    assert_int_equal(mt19937_sample_seed(-1, 1), 2627003873U);
    assert_int_equal(mt19937_sample_seed(-2, 0), 4270960298U);
    assert_int_equal(mt19937_sample_seed(-2, 1), 1847193206U);
    assert_int_equal(mt19937_sample_seed(-2, 17), 1284760388U);
}

/* Every value of a range occurs about equally often, and no value outside the range occurs. */
static void integers_cover_their_range_evenly(void **state)
{
    struct mt19937 rng;
    mt19937_init(&rng, 7);
    for (int width = 1; width <= 40; width++) {
        int seen[40] = {0};
        for (int i = 0; i < 500 * width; i++) {
            int64_t value = mt19937_integer(&rng, -5, -5 + width);
            assert_in_range(value + 5, 0, (uint64_t)width - 1);
            seen[value + 5]++;
        }
        for (int i = 0; i < width; i++) {
            /* the expected count is 500; the margin is more than five standard deviations */
            assert_in_range(seen[i], 380, 620);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_equal_numpys),
        cmocka_unit_test(sequence_of_draws_equals_numpys),
        cmocka_unit_test(shuffle_equals_numpys),
        cmocka_unit_test(sample_seeds_equal_published_ones),
        cmocka_unit_test(integers_cover_their_range_evenly),
        cmocka_unit_test(bulk_draws_equal_single_draws),
    };
    return cmocka_run_group_tests_name("mt19937", tests, NULL, NULL);
}
