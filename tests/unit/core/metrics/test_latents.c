/* Compares the metrics of dictionaries with values computed by hand from the definitions, on small cases. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/metrics/latents.h"
#include "tests/support/assert_ok.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-6)

/* The three features point along the axes. Latent 0 is feature 0 at half its length, latent 1 is feature 1 reversed,
 * latent 2 lies between features 0 and 1, and latent 3 is zero. */
static const float truth[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
static const float dictionary[4][3] = {{0.5f, 0, 0}, {0, -2, 0}, {0.8f, 0.6f, 0}, {0, 0, 0}};
static const float norms[4] = {0.5f, 2, 1, 0};

static struct recovery compared(void)
{
    struct recovery r;
    assert_ok(recovery_create(dictionary[0], 4, truth[0], 3, 3, &r, NULL, err));
    return r;
}

static void add(struct recovery *r, const int32_t *latent, int latents, const int32_t *feature, int features)
{
    static const float ones[4] = {1, 1, 1, 1};
    struct recovery_sample sample = {latent, ones, latents, feature, features};
    recovery_add(r, &sample);
}

static void mcc_is_the_mean_absolute_cosine_of_the_best_matching(void **state)
{
    struct recovery r = compared();
    (void)state;
    assert_near(r.mcc, (1 + 1 + 0) / 3.0); /* latent 0 is matched with feature 0 and latent 1 with feature 1; feature 2
                                              gets a latent with cosine 0 */
    assert_int_equal(r.match[0], 0);
    assert_int_equal(r.match[1], 1);
    recovery_close(&r);
}

static void uniqueness_counts_the_features_that_are_some_latents_own(void **state)
{
    struct recovery r = compared();
    (void)state;
    assert_int_equal(r.own[0], 0);
    assert_int_equal(r.own[1], 1);
    assert_int_equal(r.own[2], 0);
    assert_int_equal(r.own[3], 0); /* a latent of zeros is matched with the first feature */
    assert_near(recovery_scores(&r).uniqueness, 2.0 / 4);
    recovery_close(&r);
}

static void latents_are_classifiers_of_their_own_feature_and_dead_ones_count_as_zero(void **state)
{
    struct recovery r = compared();
    (void)state;
    add(&r, (int32_t[]){0}, 1, (int32_t[]){0}, 1);
    add(&r, (int32_t[]){0, 1}, 2, (int32_t[]){0, 2}, 2);
    add(&r, (int32_t[]){0}, 1, (int32_t[]){1}, 1);
    add(&r, NULL, 0, (int32_t[]){0, 1}, 2);
    struct recovery_scores s = recovery_scores(&r);
    /* Latent 0 fires 3 times, its feature 0 is active 3 times, and both are active in 2 samples. Latent 1 fires once,
     * its feature 1 is active twice, and both are never active together. Latents 2 and 3 never fire; both are matched
     * with feature 0, which is active 3 times. */
    assert_near(s.precision, (2.0 / 3 + 0 + 0 + 0) / 4);
    assert_near(s.recall, (2.0 / 3 + 0 + 0 + 0) / 4);
    assert_near(s.f1, (2.0 / 3) / 4);
    assert_near(s.accuracy, (0.5 + 0.25 + 0.25 + 0.25) / 4);
    recovery_close(&r);
}

static void found_features_are_counted_by_frequency(void **state)
{
    enum { N = 20 };
    static float identity[N][N];
    struct recovery r;
    (void)state;
    for (int i = 0; i < N; i++)
        identity[i][i] = 1;
    assert_ok(recovery_create(identity[0], N / 2, identity[0], N, N, &r, NULL, err)); /* finds features 0 to 9 */
    for (int32_t i = 0; i < N; i++)
        for (int count = 0; count <= i; count++) /* feature i is in i + 1 samples */
            add(&r, NULL, 0, &i, 1);
    struct recovery_scores s = recovery_scores(&r);
    for (int tenth = 0; tenth < RECOVERY_DECILES; tenth++)
        assert_near(s.found[tenth], tenth < 5 ? 0 : 1);
    assert_near(s.mcc, 1);
    recovery_close(&r);
}

/* ---- absorption ---------------------------------------------------------------------------------------------- */

static struct recovery absorbed(const int32_t *latent, const float *value, int latents, double projection)
{
    struct recovery r = compared();
    struct recovery_sample sample = {latent, value, latents, NULL, 0};
    recovery_absorb(&r, &sample, 1, projection, norms);
    assert_int_equal(r.absorption_cases, 1);
    return r;
}

/* Feature 1 has the main latent 1 (cosine -1, norm 2). Latent 2 has cosine 0.6 with feature 1. A latent is silent in a
 * sample whose list of active latents does not contain it. */
static void a_feature_whose_main_latent_is_silent_is_fully_absorbed_by_a_large_other_one(void **state)
{
    (void)state;
    /* the sample's projection on the feature is 1: latent 2 contributes 0.6, at least 0.4 times the projection */
    struct recovery r = absorbed((int32_t[]){2}, (float[]){1}, 1, 1);
    assert_int_equal(r.absorbed, 1);
    assert_near(r.absorbed_share, 1); /* the main latents contribute nothing */
    recovery_close(&r);
    /* the sample's projection on the feature is 2: latent 2 contributes 0.6, less than 0.4 times the projection */
    r = absorbed((int32_t[]){2}, (float[]){1}, 1, 2);
    assert_int_equal(r.absorbed, 0);
    assert_near(r.absorbed_share, 0);
    recovery_close(&r);
    r = absorbed((int32_t[]){1, 2}, (float[]){0.1f, 1}, 2, 1); /* the main latent is active */
    assert_int_equal(r.absorbed, 0);
    recovery_close(&r);
}

static void the_fraction_compares_main_latents_with_the_three_largest_others(void **state)
{
    /* The main latents of feature 0 are latent 0 (norm 0.5), latent 2 (cosine 0.8) and latent 3. Latent 1 has cosine
     * 0 with the feature. */
    struct recovery r = compared();
    const int32_t latent[] = {0, 2};
    const float value[] = {1, 1};
    struct recovery_sample sample = {latent, value, 2, NULL, 0};
    (void)state;
    recovery_absorb(&r, &sample, 0, 2, norms); /* nobody outside contributes */
    assert_near(r.absorbed_share, 0);
    recovery_close(&r);
    /* a dictionary in which latent 0 is feature 0, and latent 1 has cosine 0.6 with feature 0 */
    const float split[2][3] = {{1, 0, 0}, {0.6f, 0.8f, 0}};
    const float ones[2] = {1, 1};
    assert_ok(recovery_create(split[0], 2, truth[0], 3, 3, &r, NULL, err));
    assert_int_equal(r.own[1], 1);
    struct recovery_sample both = {(int32_t[]){0, 1}, (float[]){0.5f, 1}, 2, NULL, 0};
    /* The projection on the feature is 1.3. The main latent contributes M = 0.5, and the other latent A = 0.6, which is
     * at least 0.4 * 1.3. The absorbed part is then q = min(A, 1.3 - M) = 0.6 (recovery.h). */
    recovery_absorb(&r, &both, 0, 1.3, ones);
    assert_near(r.absorbed_share, 0.6 / 1.1);
    recovery_absorb(&r, &both, 0, 0.8, ones); /* q = min(0.6, 0.3) */
    assert_near(r.absorbed_share, 0.6 / 1.1 + 0.3 / 0.8);
    recovery_absorb(&r, &both, 0, 0.4, ones); /* the main latent explains everything */
    assert_near(r.absorbed_share, 0.6 / 1.1 + 0.3 / 0.8);
    recovery_absorb(&r, &both, 2, 1, ones); /* without a main latent, the sample does not count */
    assert_int_equal(r.absorption_cases, 3);
    recovery_close(&r);
}

/* ---- pairs --------------------------------------------------------------------------------------------------- */

static void dictionaries_are_matched_by_absolute_or_by_signed_cosines(void **state)
{
    const float a[2][2] = {{1, 0}, {0, 2}}, b[3][2] = {{0, -1}, {3, 0}, {0.6f, 0.8f}};
    int other_of[2];
    double cosine[2], mean;
    (void)state;
    assert_ok(pairs_by_cosine(a[0], 2, b[0], 3, 2, true, other_of, cosine, &mean, NULL, err));
    assert_int_equal(other_of[0], 1);
    assert_int_equal(other_of[1], 0);
    assert_near(mean, 1);
    assert_near(cosine[1], -1);
    assert_ok(pairs_by_cosine(a[0], 2, b[0], 3, 2, false, other_of, cosine, &mean, NULL, err));
    assert_int_equal(other_of[1], 2);
    assert_near(mean, (1 + 0.8) / 2);
}

static void codes_are_matched_by_their_correlation(void **state)
{
    struct pair_moments p;
    double mean;
    (void)state;
    assert_ok(pair_moments_create(2, 2, &p, err));
    /* The codes of four samples. Latent 0 of the first dictionary has the values 1 2 0 3, latent 1 has 0 0 1 0. In the
     * second dictionary, latent 1 is twice latent 0 of the first, and latent 0 is 1 minus latent 1 of the first. */
    const float first[4] = {1, 2, 0, 3};
    for (int s = 0; s < 4; s++) {
        int32_t own = first[s] > 0 ? 0 : 1;
        float value = first[s] > 0 ? first[s] : 1;
        if (first[s] > 0)
            pair_moments_add(&p, &own, &value, 1, (int32_t[]){0, 1}, (float[]){1, 2 * value}, 2);
        else
            pair_moments_add(&p, &own, &value, 1, NULL, NULL, 0);
    }
    assert_ok(pair_moments_mcc(&p, &mean, NULL, err));
    assert_near(mean, 1);
    pair_moments_close(&p);
}

static void a_constant_latent_correlates_with_nothing(void **state)
{
    struct pair_moments p;
    double mean;
    (void)state;
    assert_ok(pair_moments_create(1, 1, &p, err));
    for (int s = 0; s < 3; s++)
        pair_moments_add(&p, (int32_t[]){0}, (float[]){2}, 1, (int32_t[]){0}, (float[]){(float)s}, 1);
    assert_ok(pair_moments_mcc(&p, &mean, NULL, err));
    assert_near(mean, 0);
    pair_moments_close(&p);
}

static void constant_latents_between_others_do_not_change_the_matching(void **state)
{
    enum { ROWS = 5, OTHERS = 4 };
    struct pair_moments p;
    double mean;
    (void)state;
    assert_ok(pair_moments_create(ROWS, OTHERS, &p, err));
    /* Latent 1 of the first dictionary is proportional to latent 3 of the second, and latent 4 of the first to latent 0
     * of the second. All other latents are never active or always the same. */
    for (int s = 0; s < 4; s++)
        pair_moments_add(&p, (int32_t[]){1, 2, 4}, (float[]){(float)s, 1, (float)(s % 2)}, 3, (int32_t[]){0, 2, 3},
                         (float[]){3 * (float)(s % 2), 5, 2 * (float)s}, 3);
    assert_ok(pair_moments_mcc(&p, &mean, NULL, err));
    assert_near(mean, 2.0 / OTHERS);
    pair_moments_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mcc_is_the_mean_absolute_cosine_of_the_best_matching),
        cmocka_unit_test(uniqueness_counts_the_features_that_are_some_latents_own),
        cmocka_unit_test(latents_are_classifiers_of_their_own_feature_and_dead_ones_count_as_zero),
        cmocka_unit_test(found_features_are_counted_by_frequency),
        cmocka_unit_test(a_feature_whose_main_latent_is_silent_is_fully_absorbed_by_a_large_other_one),
        cmocka_unit_test(the_fraction_compares_main_latents_with_the_three_largest_others),
        cmocka_unit_test(dictionaries_are_matched_by_absolute_or_by_signed_cosines),
        cmocka_unit_test(codes_are_matched_by_their_correlation),
        cmocka_unit_test(a_constant_latent_correlates_with_nothing),
        cmocka_unit_test(constant_latents_between_others_do_not_change_the_matching),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
