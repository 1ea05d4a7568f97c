/* Tests what several channels of one name need: thresholds with which the presences of all channels predict the name,
 * and names that say which channel it is and whether it is evidence for the name or against it. */
#include <math.h>
#include <string.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/methods/sparling/model/channel_names.h"
#include "core/methods/sparling/training/calibrate_parts.h"

enum { SAMPLES = 600, PARTS = 3 };

static bool all_of(const bool *has)
{
    return has[0] && has[1] && has[2];
}
static bool any_of(const bool *has)
{
    return has[0] || has[1] || has[2];
}
static bool two_of(const bool *has)
{
    return has[0] + has[1] + has[2] >= 2;
}
static bool first_without_third(const bool *has)
{
    return (has[0] || has[1]) && !has[2];
}

/* The peak of channel k is in [k + 1, k + 2] with its motif and in [k - 1, k] without it; some samples are mislabelled.
 */
static void thresholds_lie_between_the_peaks_with_and_without_a_motif(void **state)
{
    (void)state;
    static bool (*const rules[])(const bool *) = {all_of, any_of, two_of, first_without_third};
    const struct philox from = philox_stream(3, 1, 0);
    for (size_t rule = 0; rule < sizeof rules / sizeof rules[0]; rule++) {
        float peak[PARTS * SAMPLES], cut[PARTS];
        bool has[SAMPLES];
        int order[SAMPLES];
        for (int i = 0; i < SAMPLES; i++) {
            bool motif[PARTS];
            for (int k = 0; k < PARTS; k++) {
                uint64_t at = (uint64_t)((i * PARTS + k) * 2);
                motif[k] = philox_uniform(&from, at) < 0.5F;
                peak[k * SAMPLES + i] = (float)k + philox_uniform(&from, at + 1) + (motif[k] ? 1.0F : -1.0F);
            }
            has[i] = rules[rule](motif) != (i % 50 == 0);
        }
        const struct part_peaks peaks = {PARTS, SAMPLES, peak, has};
        calibrate_parts(&peaks, cut, order);
        for (int k = 0; k < PARTS; k++)
            assert_true(cut[k] > (float)k - 0.15F && cut[k] < (float)k + 1.15F);
    }
}

static void peaks_that_are_all_equal_give_no_threshold(void **state)
{
    (void)state;
    float peak[SAMPLES] = {0}, cut[1];
    bool has[SAMPLES] = {true};
    int order[SAMPLES];
    const struct part_peaks peaks = {1, SAMPLES, peak, has};
    calibrate_parts(&peaks, cut, order);
    assert_true(isinf(cut[0]));
}

static const char *name_of_token(const struct domain_state *state, int token)
{
    (void)state;
    return token == 0 ? "ring" : "bar";
}

static void channels_of_one_name_are_numbered_and_signed(void **state)
{
    (void)state;
    static const struct domain named = {.token = name_of_token};
    const struct open_domain domain = {.domain = &named};
    struct channel_name names[5] = {{.names = 1, .token = {0}, .strength = {0.5}},
                                    {.names = 1, .token = {1}, .strength = {0.9}},
                                    {.names = 1, .token = {0}, .strength = {0.2}},
                                    {.names = 0},
                                    {.names = 1, .token = {0}, .strength = {-0.4}}};
    static const char *const texts[] = {"ring (1)", "bar", "ring (2)", "", "against ring"};
    static const int signs[] = {1, 0, 1, 0, -1};
    channel_names_number(names, 5);
    for (int c = 0; c < 5; c++) {
        char text[CHANNEL_NAME_TEXT];
        channel_name_text(&names[c], &domain, text, sizeof text);
        assert_string_equal(text, texts[c]);
        assert_int_equal(channel_name_sign(&names[c], 0), signs[c]);
    }
    assert_int_equal(channel_name_sign(NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_lie_between_the_peaks_with_and_without_a_motif),
        cmocka_unit_test(peaks_that_are_all_equal_give_no_threshold),
        cmocka_unit_test(channels_of_one_name_are_numbered_and_signed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
