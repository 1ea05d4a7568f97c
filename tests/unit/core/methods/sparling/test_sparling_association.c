/* Tests the names of channels on samples whose association is known: each channel is a function of the names in the
 * label, with or without errors. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/methods/sparling/evaluation/verdict/association.h"
#include "tests/support/assert_ok.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

enum { RING, TRIANGLE, SQUARE, CROSS, STAR, ARROW, SHAPES, SAMPLES = 1500 };

/* Draws labels in which each name occurs with its probability. `mark` decides which channels are active. */
static void draw(struct association *a, int channels, int samples, const double probability[SHAPES],
                 void (*mark)(const bool has[SHAPES], struct philox *random, uint64_t at, bool *active))
{
    struct philox random = philox_stream(7, 1, 0);
    assert_ok(association_open(a, channels, SHAPES, samples, err));
    for (int i = 0; i < samples; i++) {
        bool has[SHAPES], active[8] = {false};
        int32_t label[SHAPES];
        int length = 0;
        for (int t = 0; t < SHAPES; t++) {
            has[t] = (double)philox_uniform(&random, (uint64_t)(i * 64 + t)) < probability[t];
            if (has[t])
                label[length++] = t;
        }
        mark(has, &random, (uint64_t)(i * 64 + 32), active);
        association_add(a, active, label, length);
    }
}

static const double even[SHAPES] = {0.42, 0.42, 0.42, 0.42, 0.42, 0.42};

static void one_each(const bool has[SHAPES], struct philox *random, uint64_t at, bool *active)
{
    for (int t = 0; t < SHAPES; t++)
        active[t] = has[t];
}

static void channel_of_one_symbol_has_its_name_with_strength_1(void **state)
{
    struct association a;
    uint64_t scratch[SAMPLES / 64 + 1];
    draw(&a, SHAPES, SAMPLES, even, one_each);
    for (int c = 0; c < SHAPES; c++) {
        struct association_channel of = association_of_channel(&a, c);
        assert_int_equal(of.names, 1);
        assert_int_equal(of.token[0], c);
        assert_near(of.strength[0], 1, 1e-12);
        assert_near(of.whole, 1, 1e-12);
        struct association_token token = association_of_token(&a, c, scratch);
        assert_int_equal(token.channel, c);
        assert_near(token.explained, 1, 1e-12);
    }
    association_close(&a);
}

/* Channel 0 marks rings and triangles; channel 1 squares; channel 2 nothing; channel 3 is always active. */
static void merge(const bool has[SHAPES], struct philox *random, uint64_t at, bool *active)
{
    active[0] = has[RING] || has[TRIANGLE];
    active[1] = has[SQUARE];
    active[3] = true;
}

static void merged_channel_has_both_names_with_lower_strengths(void **state)
{
    struct association a;
    draw(&a, 4, SAMPLES, even, merge);
    struct association_channel of = association_of_channel(&a, 0);
    assert_int_equal(of.names, 2);
    assert_int_equal(of.token[0] + of.token[1], RING + TRIANGLE);
    /* The channel is active if one of two names occurs. Each name is in the share p = .42 of the labels, so the channel
     * is active in the share q = 1 - .58^2 of the samples. The expected correlation is sqrt(p (1 - q) / (q (1 -
     * p))). */
    assert_near(of.strength[0], 0.61, 0.05);
    assert_near(of.strength[1], 0.61, 0.05);
    assert_near(of.whole, 1, 1e-12);
    association_close(&a);
}

static void channels_that_say_nothing_have_no_name(void **state)
{
    struct association a;
    draw(&a, 4, SAMPLES, even, merge);
    for (int c = 2; c < 4; c++) {
        struct association_channel of = association_of_channel(&a, c);
        assert_int_equal(of.names, 0);
        assert_true(isnan(of.whole));
    }
    assert_int_equal(association_of_channel(&a, 2).active, 0);
    assert_int_equal(association_of_channel(&a, 3).active, SAMPLES);
    association_close(&a);
}

static void token_without_channel_is_not_explained(void **state)
{
    struct association a;
    uint64_t scratch[SAMPLES / 64 + 1];
    draw(&a, 4, SAMPLES, even, merge);
    assert_near(association_of_token(&a, STAR, scratch).explained, 0, 0.1);
    assert_near(association_of_token(&a, SQUARE, scratch).explained, 1, 1e-12);
    assert_near(association_of_token(&a, RING, scratch).explained, 0.61, 0.05);
    association_close(&a);
}

/* Every label with a ring also has a star, but the channel marks only rings. */
static void company(const bool has[SHAPES], struct philox *random, uint64_t at, bool *active)
{
    active[0] = has[RING];
}

static void name_that_only_accompanies_another_is_no_second_name(void **state)
{
    struct association a;
    struct philox random = philox_stream(3, 1, 0);
    assert_ok(association_open(&a, 1, SHAPES, SAMPLES, err));
    for (int i = 0; i < SAMPLES; i++) {
        bool has[SHAPES] = {false}, active[1];
        has[RING] = (double)philox_uniform(&random, (uint64_t)(2 * i)) < 0.3;
        has[STAR] = has[RING] || (double)philox_uniform(&random, (uint64_t)(2 * i + 1)) < 0.3;
        int32_t label[2] = {has[RING] ? RING : -1, has[STAR] ? STAR : -1};
        company(has, &random, 0, active);
        association_add(&a, active, label, 2);
    }
    struct association_channel of = association_of_channel(&a, 0);
    assert_int_equal(of.names, 1);
    assert_int_equal(of.token[0], RING);
    association_close(&a);
}

/* The channel misses a tenth of the rings. In samples without a ring it is active with probability .15 if there is a
 * cross, and .05 otherwise. */
static void errors(const bool has[SHAPES], struct philox *random, uint64_t at, bool *active)
{
    double u = (double)philox_uniform(random, at);
    active[0] = has[RING] ? u > 0.1 : u < (has[CROSS] ? 0.15 : 0.05);
}

static void errors_lower_the_strength_and_add_no_name(void **state)
{
    struct association a;
    draw(&a, 1, SAMPLES, even, errors);
    struct association_channel of = association_of_channel(&a, 0);
    assert_int_equal(of.names, 1);
    assert_int_equal(of.token[0], RING);
    assert_in_range((int)(100 * of.strength[0]), 75, 90);
    association_close(&a);
}

/* The channel is active for a frequent name (ring) and for a rare one (arrow). The rare name has a small correlation
 * with the channel, but it must still be found. */
static void rare(const bool has[SHAPES], struct philox *random, uint64_t at, bool *active)
{
    active[0] = has[RING] || has[ARROW];
}

static void rare_name_is_found_in_a_merged_channel(void **state)
{
    static const double uneven[SHAPES] = {0.42, 0.42, 0.42, 0.42, 0.42, 0.04};
    struct association a;
    draw(&a, 1, 2000, uneven, rare);
    struct association_channel of = association_of_channel(&a, 0);
    assert_int_equal(of.names, 2);
    assert_int_equal(of.token[0], RING);
    assert_int_equal(of.token[1], ARROW);
    assert_true(of.strength[1] < 0.3);
    association_close(&a);
}

static void noise(const bool has[SHAPES], struct philox *random, uint64_t at, bool *active)
{
    for (int c = 0; c < 8; c++)
        active[c] = (double)philox_uniform(random, at + (uint64_t)c) < 0.4;
}

static void random_channels_have_no_names_even_with_few_samples(void **state)
{
    static const int sizes[] = {10, 40, 200, 2000};
    for (int i = 0; i < 4; i++) {
        struct association a;
        draw(&a, 8, sizes[i], even, noise);
        for (int c = 0; c < 8; c++)
            assert_int_equal(association_of_channel(&a, c).names, 0);
        association_close(&a);
    }
}

static void tokens_outside_the_vocabulary_are_left_out(void **state)
{
    struct association a;
    const bool active[1] = {true};
    const int32_t label[3] = {-1, SHAPES, RING};
    assert_ok(association_open(&a, 1, SHAPES, 2, err));
    for (int i = 0; i < 3; i++) /* the table has room for two samples, so the third is ignored */
        association_add(&a, active, label, 3);
    assert_int_equal(a.samples, 2);
    assert_int_equal(a.present[RING * a.words], 3);
    for (int t = RING + 1; t < SHAPES; t++)
        assert_int_equal(a.present[(size_t)t * a.words], 0);
    association_close(&a);
}

static void phi_of_constant_facts_is_unknown(void **state)
{
    assert_near(association_phi(100, 50, 50, 50), 1, 1e-12);
    assert_near(association_phi(100, 50, 50, 25), 0, 1e-12);
    assert_near(association_phi(100, 50, 50, 0), -1, 1e-12);
    assert_true(isnan(association_phi(100, 100, 50, 50)));
    assert_true(isnan(association_phi(100, 0, 50, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channel_of_one_symbol_has_its_name_with_strength_1),
        cmocka_unit_test(merged_channel_has_both_names_with_lower_strengths),
        cmocka_unit_test(channels_that_say_nothing_have_no_name),
        cmocka_unit_test(token_without_channel_is_not_explained),
        cmocka_unit_test(name_that_only_accompanies_another_is_no_second_name),
        cmocka_unit_test(errors_lower_the_strength_and_add_no_name),
        cmocka_unit_test(rare_name_is_found_in_a_merged_channel),
        cmocka_unit_test(random_channels_have_no_names_even_with_few_samples),
        cmocka_unit_test(tokens_outside_the_vocabulary_are_left_out),
        cmocka_unit_test(phi_of_constant_facts_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
