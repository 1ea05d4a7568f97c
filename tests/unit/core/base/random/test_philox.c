/* Tests Philox: published answers, fills compared with single draws, and the distribution of the draws. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"

/* These are the known answers that were published with the generator. */
static void blocks_equal_published_answers(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t out[4];
        philox_block(known[i].counter, known[i].key, out);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
}

/* A value does not depend on where a fill begins or ends. */
static void fills_equal_single_draws(void **state)
{
    enum { MOST = 300 };
    const struct philox from = philox_stream(42, 7, UINT64_C(0x123456789a));
    uint64_t firsts[] = {0, 1, 2, 3, 61, UINT64_C(0xffffffff) * 4 - 9};
    for (size_t f = 0; f < sizeof firsts / sizeof firsts[0]; f++) {
        for (size_t count = 0; count < MOST; count += 1 + count / 5) {
            uint32_t words[MOST];
            float uniform[MOST];
            double normal[MOST];
            words[count] = 1234;
            uniform[count] = -1.0F;
            normal[count] = 99.0;
            philox_fill_u32(&from, firsts[f], words, count);
            philox_fill_uniform(&from, firsts[f], uniform, count);
            philox_fill_normal(&from, firsts[f], normal, count);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(words[i], philox_u32(&from, firsts[f] + i));
                assert_true(uniform[i] == philox_uniform(&from, firsts[f] + i));
                assert_true(normal[i] == philox_normal(&from, firsts[f] + i));
            }
            assert_true(words[count] == 1234 && uniform[count] == -1.0F && normal[count] == 99.0);
        }
    }
}

static void different_seeds_and_streams_do_not_collide(void **state)
{
    uint32_t seen[4096];
    size_t count = 0;
    for (uint64_t seed = 0; seed < 16; seed++) {
        for (uint32_t stream = 0; stream < 16; stream++) {
            for (uint64_t step = 0; step < 16; step++) {
                struct philox from = philox_stream(seed, stream, step);
                seen[count++] = philox_u32(&from, 0);
            }
        }
    }
    int equal = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            equal += seen[i] == seen[j];
    assert_in_range(equal, 0, 2); /* among 2^23 pairs of 32-bit words, 0.002 collisions are expected */
    struct philox low = philox_stream(5, 1, 2), high = philox_stream(5 + (UINT64_C(1) << 32), 1, 2);
    struct philox late = philox_stream(5, 1, 2 + (UINT64_C(1) << 32));
    assert_int_not_equal(philox_u32(&low, 0), philox_u32(&high, 0));
    assert_int_not_equal(philox_u32(&low, 0), philox_u32(&late, 0));
}

static void draws_have_the_moments_of_their_distribution(void **state)
{
    enum { COUNT = 200000 };
    static float uniform[COUNT];
    static double normal[COUNT];
    const struct philox from = philox_stream(1, 2, 3);
    philox_fill_uniform(&from, 0, uniform, COUNT);
    philox_fill_normal(&from, 0, normal, COUNT);
    double mean = 0, first = 0, second = 0, fourth = 0, neighbours = 0;
    for (int i = 0; i < COUNT; i++) {
        assert_true(uniform[i] >= 0.0F && uniform[i] < 1.0F);
        assert_true(isfinite(normal[i]));
        mean += uniform[i] / COUNT;
        first += normal[i] / COUNT;
        second += normal[i] * normal[i] / COUNT;
        fourth += pow(normal[i], 4) / COUNT;
        neighbours += i > 0 ? normal[i] * normal[i - 1] / COUNT : 0;
    }
    assert_true(fabs(mean - 0.5) < 5 * sqrt(1.0 / 12 / COUNT));
    assert_true(fabs(first) < 5 / sqrt(COUNT));
    assert_true(fabs(second - 1) < 5 * sqrt(2.0 / COUNT));
    assert_true(fabs(fourth - 3) < 5 * sqrt(96.0 / COUNT));
    assert_true(fabs(neighbours) < 5 / sqrt(COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_equal_published_answers),
        cmocka_unit_test(fills_equal_single_draws),
        cmocka_unit_test(different_seeds_and_streams_do_not_collide),
        cmocka_unit_test(draws_have_the_moments_of_their_distribution),
    };
    return cmocka_run_group_tests_name("philox", tests, NULL, NULL);
}
