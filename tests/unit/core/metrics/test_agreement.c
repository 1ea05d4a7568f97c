/* Tests the agreement of two models whose motifs are near each other. */
#include "tests/support/unit.h"
#include "core/metrics/agreement.h"

static void channels_that_find_the_same_motifs_agree(void **state)
{
    /* Channels 0 and 1 of the first model match channels 2 and 0 of the second. One motif is too far away, and one has
     * no partner. */
    const struct motif first[] = {{10, 10, 0, 1}, {40, 10, 0, 1}, {10, 40, 1, 1}, {70, 70, 1, 1}};
    const struct motif second[] = {{12, 7, 2, 1}, {40, 16, 2, 1}, {10, 45, 0, 1}, {10, 36, 0, 1}};
    struct agreement a;
    struct error err = {0};
    int other_of[3];
    double share[3];
    assert_int_equal(agreement_create(3, 3, &a, &err), STATUS_OK);
    agreement_add(&a, first, 4, second, 4, 5);
    agreement_add(&a, first, 0, second, 1, 5);
    assert_int_equal(agreement_match(&a, other_of, share, &err), STATUS_OK);
    assert_int_equal(other_of[0], 2);
    assert_int_equal(other_of[1], 0);
    /* the match covers one of two motifs of the first model and one of three of the second, so two of five */
    assert_true(share[0] == 2.0 / 5);
    assert_true(share[1] == 2.0 / 4);
    assert_true(share[2] == 0);
    agreement_close(&a);
}

static void a_motif_is_paired_with_the_nearest(void **state)
{
    const struct motif first[] = {{0, 0, 0, 1}};
    const struct motif second[] = {{0, 3, 0, 1}, {2, 1, 1, 1}};
    struct agreement a;
    struct error err = {0};
    assert_int_equal(agreement_create(1, 2, &a, &err), STATUS_OK);
    agreement_add(&a, first, 1, second, 2, 5);
    assert_true(a.together[0] == 0 && a.together[1] == 1);
    agreement_add(&a, first, 1, second, 2, 1);
    assert_true(a.together[1] == 1 && a.motifs[0] == 2 && a.of_other[1] == 2);
    int other_of[1];
    double share[1];
    assert_int_equal(agreement_match(&a, other_of, share, &err), STATUS_OK);
    assert_true(other_of[0] == 1 && share[0] == 0.5);
    agreement_close(&a);
}

static void a_model_agrees_with_itself(void **state)
{
    const struct motif motifs[] = {{5, 5, 1, 1}, {20, 5, 2, 1}, {5, 20, 1, 1}};
    struct agreement a;
    struct error err = {0};
    int other_of[3];
    double share[3];
    assert_int_equal(agreement_create(3, 3, &a, &err), STATUS_OK);
    agreement_add(&a, motifs, 3, motifs, 3, 0);
    assert_int_equal(agreement_match(&a, other_of, share, &err), STATUS_OK);
    assert_true(share[0] == 0 && share[1] == 1 && share[2] == 1 && other_of[1] == 1 && other_of[2] == 2);
    agreement_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_that_find_the_same_motifs_agree),
        cmocka_unit_test(a_motif_is_paired_with_the_nearest),
        cmocka_unit_test(a_model_agrees_with_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
