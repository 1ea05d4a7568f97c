/* Tests trials of pathways. Single trials give the results of a decoder with the explicit matrix. Codes are recovered
 * as often as guaranteed, and more rarely with adversarial signs. Each decoder recovers easy codes. The bounds equal
 * sums that are computed here. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/coding/bounds.h"
#include "core/methods/pathways/trial.h"
#include "core/nn/coherence.h"
#include "tests/unit/core/methods/pathways/pathways_matrix.h"

static struct pathways_case small_case(int layers)
{
    struct pathways_case p = {.family = PATHWAYS_SIGNS, .layers = layers, .ratio = 1};
    p.shape[0] = (struct dictionary_shape){1, 96, 1, 3, 1, 24};
    p.shape[1] = (struct dictionary_shape){1, 96, 3, 2, 1, 6};
    p.nonzeros[1] = 4;
    p.rule = (struct decode_rule){DECODER_TOP_K, 0.5, 300};
    return p;
}

struct whole {
    struct scenario scenario;
    struct trial_space *space;
    double *a[2];
};

static void open_whole(struct whole *w, const struct pathways_case *plan)
{
    memset(w, 0, sizeof *w);
    assert_ok(scenario_open(plan, 11, NULL, kernels_best(), NULL, &w->scenario, err));
    assert_ok(trial_space_create(&w->scenario, true, &w->space, err));
    for (int l = 0; l < plan->layers; l++)
        w->a[l] = explicit_matrix(&w->scenario.dictionary[l]);
}

static void close_whole(struct whole *w)
{
    trial_space_destroy(w->space);
    scenario_close(&w->scenario);
    free(w->a[0]);
    free(w->a[1]);
}

/* Decodes the drawn signal with the explicit matrices. Returns 1 if the whole pathway was recovered, 0 if it was not,
 * and -1 if the smallest activation inside the pathway and the largest one outside are almost equal. */
static int plain_recovery(const struct whole *w, const struct trial_picture *picture)
{
    double input[512];
    for (size_t i = 0; i < dictionary_signal_size(&w->scenario.dictionary[0]); i++)
        input[i] = (double)picture->signal[i];
    for (int l = 0; l < w->scenario.plan.layers; l++) {
        const struct dictionary *d = &w->scenario.dictionary[l];
        size_t rows = dictionary_signal_size(d), columns = dictionary_code_size(d);
        double code[512], least = INFINITY, most = 0;
        for (size_t k = 0; k < columns; k++) {
            double sum = 0;
            for (size_t r = 0; r < rows; r++)
                sum += w->a[l][r * columns + k] * input[r];
            code[k] = picture->signs[l][k / 32] >> (k % 32) & 1 ? -sum : sum;
        }
        for (size_t k = 0; k < columns; k++)
            if (picture->codes[l][k] != 0)
                least = fmin(least, fabs(code[k]));
            else
                most = fmax(most, fabs(code[k]));
        if (fabs(least - most) < 1e-5)
            return -1;
        if (least < most)
            return 0;
        for (size_t k = 0; k < columns; k++)
            input[k] = picture->codes[l][k] != 0 ? code[k] : 0;
    }
    return 1;
}

static void trials_equal_a_decoder_with_the_explicit_matrix(void **state)
{
    int found = 0, missed = 0;
    for (int variant = 0; variant < 4; variant++) {
        struct pathways_case plan = small_case(variant < 2 ? 1 : 2);
        struct whole w;
        plan.noise = variant % 2 ? 0.4 : 0;
        plan.ratio = variant % 2 ? 1.5 : 1;
        open_whole(&w, &plan);
        for (int64_t number = 0; number < 60; number++) {
            struct trial_request request = {.seed = 4,
                                            .nonzeros = 1 + number % (plan.layers == 1 ? 7 : 3),
                                            .number = number,
                                            .draws = 1,
                                            .delta = 0.01};
            struct trial_outcome outcome;
            struct trial_picture picture;
            assert_ok(trial_run(&w.scenario, w.space, &request, &outcome, err));
            assert_ok(trial_draw(&w.scenario, w.space, &request, &picture, err));
            int64_t nonzeros = 0;
            for (size_t k = 0; k < dictionary_code_size(&w.scenario.dictionary[plan.layers - 1]); k++)
                nonzeros += picture.codes[plan.layers - 1][k] != 0;
            assert_int_equal(nonzeros, request.nonzeros);
            assert_int_equal(outcome.draws, 1);
            /* compares the local norms: the trial computes them from the list of non-zero entries, this test from the
             * whole code */
            for (int l = 0; l < plan.layers; l++) {
                const struct dictionary_shape *s = &w.scenario.dictionary[l].shape;
                struct local_window stripe = {1, s->width, s->filters, 1, 2 * s->extent_w - 1};
                double scratch[2 * 96];
                size_t count = dictionary_code_size(&w.scenario.dictionary[l]);
                assert_near(outcome.stripe[l], local_norm(&stripe, picture.codes[l], 0, scratch), 0);
                assert_near(outcome.stripe_literal[l],
                            local_norm_literal(picture.codes[l], count, (size_t)(stripe.window_w * s->filters), 0), 0);
            }
            int plain = plain_recovery(&w, &picture);
            if (plain >= 0)
                assert_int_equal(outcome.recovered, plain);
            found += plain == 1;
            missed += plain == 0;
        }
        close_whole(&w);
    }
    assert_true(found > 40 && missed > 40);
}

/* Checks the guarantees of the theory. Below bound (3) of the paper, the decoder recovers every pattern of signs. With
 * random signs, the recovered share is at least the guaranteed probability, up to the error of 40 draws. */
static void recovery_is_as_likely_as_guaranteed(void **state)
{
    struct pathways_case plan = small_case(1);
    struct whole w;
    int covered = 0;
    plan.shape[0] = (struct dictionary_shape){1, 512, 1, 1, 1, 128};
    for (int signs = SIGNS_RANDOM; signs <= SIGNS_ADVERSARIAL; signs++) {
        plan.signs = signs;
        memset(&w, 0, sizeof w);
        assert_ok(scenario_open(&plan, 3, NULL, kernels_best(), NULL, &w.scenario, err));
        assert_ok(trial_space_create(&w.scenario, true, &w.space, err));
        for (int64_t number = 0; number < 120; number++) {
            struct trial_request request = {
                .seed = 8, .nonzeros = 1 + number % 8, .number = number, .draws = 40, .bounds = true, .delta = 0.01};
            struct trial_outcome o;
            assert_ok(trial_run(&w.scenario, w.space, &request, &o, err));
            assert_int_equal(o.draws, signs == SIGNS_RANDOM ? 40 : 1);
            assert_true(o.stripe[0] >= 1 && o.stripe[0] <= (double)request.nonzeros);
            assert_true(o.stripe_literal[0] >= o.stripe[0]);
            /* the bound for this instance omits the last step of the theorem's proof, so it is at least the theorem's
             * bound */
            assert_true(o.instance >= o.theorem - 1e-9);
            assert_true(o.uniform == (o.stripe[0] < o.uniform_limit));
            if (o.uniform) {
                assert_int_equal(o.recovered, o.draws);
                covered++;
            }
            if (signs == SIGNS_RANDOM)
                assert_true((double)o.recovered / o.draws >= o.instance - 0.35);
        }
        close_whole(&w);
    }
    assert_true(covered > 50);
}

/* Codes with adversarial signs are not recovered more often than the same codes with random signs. */
static void adversarial_signs_recover_less_than_random_ones(void **state)
{
    int recovered[3] = {0, 0, 0}, draws[3] = {0, 0, 0};
    for (int signs = SIGNS_RANDOM; signs <= SIGNS_ADVERSARIAL; signs++) {
        struct pathways_case plan = small_case(1);
        struct scenario scenario;
        struct trial_space *space;
        plan.shape[0] = (struct dictionary_shape){1, 512, 1, 2, 1, 64};
        plan.signs = signs;
        assert_ok(scenario_open(&plan, 3, NULL, kernels_best(), NULL, &scenario, err));
        assert_ok(trial_space_create(&scenario, true, &space, err));
        for (int64_t number = 0; number < 60; number++) {
            struct trial_request request = {.seed = 8, .nonzeros = 12, .number = number, .draws = 10, .delta = 0.01};
            struct trial_outcome o;
            assert_ok(trial_run(&scenario, space, &request, &o, err));
            recovered[signs] += o.recovered;
            draws[signs] += o.draws;
        }
        trial_space_destroy(space);
        scenario_close(&scenario);
    }
    assert_true((double)recovered[0] / draws[0] > 0.3);
    assert_true((double)recovered[2] / draws[2] < 0.5 * (double)recovered[0] / draws[0]);
}

/* For a worst support there is a column outside of it, called k here, with this property: each column of the support
 * correlates with k at least as strongly as any other column outside does. */
static void worst_supports_correlate_most_with_one_column(void **state)
{
    struct pathways_case plan = small_case(1);
    struct whole w;
    plan.family = PATHWAYS_GAUSS;
    plan.support = SUPPORT_WORST;
    plan.signs = SIGNS_ADVERSARIAL;
    open_whole(&w, &plan);
    const struct dictionary *d = &w.scenario.dictionary[0];
    int64_t columns = (int64_t)dictionary_code_size(d), first = -1;
    for (int64_t number = 0; number < 12; number++) {
        struct trial_request request = {
            .seed = 4, .nonzeros = 1 + number % 7, .number = number, .draws = 1, .delta = 0.01};
        struct trial_picture picture;
        assert_ok(trial_draw(&w.scenario, w.space, &request, &picture, err));
        int64_t target = -1, nonzeros = 0;
        for (int64_t k = 0; k < columns && target < 0; k++) {
            double least = INFINITY, most = 0;
            for (int64_t j = 0; j < columns; j++) {
                double met = fabs(dictionary_inner(d, k, j));
                if (picture.codes[0][j] != 0)
                    least = fmin(least, j == k ? 0 : met);
                else if (j != k)
                    most = fmax(most, met);
            }
            target = least >= most ? k : -1;
        }
        for (int64_t j = 0; j < columns; j++)
            nonzeros += picture.codes[0][j] != 0;
        assert_int_equal(nonzeros, request.nonzeros);
        assert_true(target >= 0 && target != first);
        first = number == 0 ? target : first;
    }
    struct trial_request request = {
        .seed = 4, .nonzeros = 3 * 47, .number = 1, .draws = 1}; /* only 3 * 47 - 1 other columns overlap a column */
    struct trial_outcome outcome;
    assert_int_equal(trial_run(&w.scenario, w.space, &request, &outcome, NULL), STATUS_INVALID);
    close_whole(&w);
}

/* With the Dirac-Hadamard dictionary for signals of m = 256 entries and only plus signs, recovery succeeds for fewer
 * than sqrt(m) = 16 nonzeros and fails from 16 on. */
static void all_plus_signs_fail_from_the_square_root_on(void **state)
{
    struct pathways_case plan = {.family = PATHWAYS_HADAMARD,
                                 .layers = 1,
                                 .signs = SIGNS_PLUS,
                                 .support = SUPPORT_SPIKES,
                                 .ratio = 1,
                                 .rule = {DECODER_TOP_K, 0.5, 1}};
    plan.shape[0] = (struct dictionary_shape){1, 1, 256, 512, 1, 1};
    struct scenario scenario;
    struct trial_space *space;
    assert_ok(scenario_open(&plan, 1, NULL, kernels_best(), NULL, &scenario, err));
    assert_ok(trial_space_create(&scenario, true, &space, err));
    for (int64_t nonzeros = 1; nonzeros <= 20; nonzeros++) {
        struct trial_request request = {.seed = 1, .nonzeros = nonzeros, .draws = 1, .delta = 0.01};
        struct trial_outcome o;
        assert_ok(trial_run(&scenario, space, &request, &o, err));
        assert_int_equal(o.recovered, nonzeros < 16);
        assert_near(o.stripe[0], (double)nonzeros, 0);
    }
    trial_space_destroy(space);
    scenario_close(&scenario);
}

static void each_decoder_recovers_easy_codes(void **state)
{
    static const enum decoder kinds[] = {DECODER_TOP_K, DECODER_HARD, DECODER_SOFT, DECODER_RELU, DECODER_PURSUIT};
    for (int layers = 1; layers <= 2; layers++)
        for (int kind = 0; kind < 5; kind++) {
            struct pathways_case plan = small_case(layers);
            struct scenario scenario;
            struct trial_space *space;
            int recovered = 0, draws = 0;
            plan.shape[0] = (struct dictionary_shape){1, 256, 1, 2, 1, 128};
            plan.shape[1] = (struct dictionary_shape){1, 256, 2, 1, 1, 32};
            plan.rule.decoder = kinds[kind];
            plan.rule.threshold = kinds[kind] == DECODER_PURSUIT ? 0.05 : kinds[kind] == DECODER_SOFT ? 0.45 : 0.5;
            assert_ok(scenario_open(&plan, 2, NULL, kernels_best(), NULL, &scenario, err));
            assert_ok(trial_space_create(&scenario, true, &space, err));
            for (int64_t number = 0; number < 6; number++) {
                struct trial_request request = {.seed = 8, .nonzeros = 1, .number = number, .draws = 3, .delta = 0.01};
                struct trial_outcome o;
                assert_ok(trial_run(&scenario, space, &request, &o, err));
                recovered += o.recovered;
                draws += o.draws;
                for (int l = 0; l < layers; l++)
                    assert_true(o.layer_recovered[l] >= o.recovered);
            }
            /* two decoders get lower limits with two layers: DECODER_SOFT shrinks the input of the next layer, and
             * DECODER_RELU loses the negative entries of the inner code */
            int least = layers == 1 || kind < 2 || kind == 4 ? draws / 2 : kind == 2 ? 0 : -1;
            if (!(recovered > least))
                fail_msg("%d layers, decoder %d: %d of %d", layers, kind, recovered, draws);
            trial_space_destroy(space);
            scenario_close(&scenario);
        }
}

static void the_error_recursion_equals_the_theorem(void **state)
{
    struct pathways_case plan = small_case(2);
    struct whole w;
    open_whole(&w, &plan);
    struct trial_request request = {.seed = 4, .nonzeros = 2, .draws = 1, .delta = 0.01};
    struct trial_picture picture;
    struct layer_guarantee g[2];
    assert_ok(trial_draw(&w.scenario, w.space, &request, &picture, err));
    const struct dictionary *dictionaries[2] = {&w.scenario.dictionary[0], &w.scenario.dictionary[1]};
    assert_ok(pathway_guarantee(dictionaries, picture.codes, 2, 0.02, 0.01, true, g, err));
    assert_near(g[0].zeta_in, 0.02, 0);
    assert_near(g[1].zeta_in, g[0].zeta_out, 0);
    assert_near(g[0].zeta_out, sqrt(g[0].patch) * (g[0].coherence * (g[0].stripe - 1) * g[0].x_max + 0.02), 1e-12);
    assert_true(g[0].patch <= g[0].stripe && g[1].nonzeros == 2 && g[0].nonzeros >= 4);
    /* the failure probability of each layer follows its formula; the theorem's bound is 1 minus the sum of all */
    double sum = 0;
    for (int l = 0; l < 2; l++) {
        sum += g[l].failure;
        assert_near(g[l].failure,
                    bound_failure(g[l].coherence, g[l].stripe, g[l].atoms, g[l].x_min, g[l].x_max, g[l].zeta_in),
                    1e-12);
    }
    struct pathway_verdict v = pathway_verdict(g, 2);
    assert_near(v.theorem, fmax(0, 1 - sum), 1e-12);
    assert_true(v.uniform == (g[0].uniform && g[1].uniform));
    close_whole(&w);
}

static void the_instance_bound_equals_its_sum(void **state)
{
    struct pathways_case plan = small_case(1);
    struct whole w;
    open_whole(&w, &plan);
    struct trial_request request = {.seed = 4, .nonzeros = 5, .draws = 1, .delta = 0.01};
    struct trial_picture picture;
    plan.ratio = 2;
    assert_ok(trial_draw(&w.scenario, w.space, &request, &picture, err));
    const struct dictionary *d = &w.scenario.dictionary[0];
    size_t columns = dictionary_code_size(d), rows = dictionary_signal_size(d);
    int32_t at[5];
    float value[5];
    struct spikes x = {0, at, value};
    double smallest = INFINITY, plain = 0, zeta = 0.1, scratch[512];
    for (size_t k = 0; k < columns; k++)
        if (picture.codes[0][k] != 0) {
            at[x.count] = (int32_t)k;
            value[x.count++] = picture.codes[0][k];
            smallest = fmin(smallest, fabs((double)picture.codes[0][k]));
        }
    for (size_t k = 0; k < columns; k++) {
        double v = zeta * zeta, own = 0;
        for (int i = 0; i < x.count; i++) {
            double c = inner(w.a[0], rows, columns, k, (size_t)at[i]) * (double)value[i];
            v += (size_t)at[i] == k ? 0 : c * c;
            own += (size_t)at[i] == k ? fabs((double)value[i]) : 0;
        }
        double t = own > 0 ? own - 0.5 * smallest : 0.5 * smallest;
        plain += 2 * exp(-t * t / (2 * v));
    }
    struct instance_bound bound = bound_instance(d, &x, zeta, scratch);
    assert_near(bound.half, plain, 1e-4 * plain);
    assert_true(bound.best <= bound.half && bound.split >= 0.3 && bound.split <= 0.8);
    close_whole(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_equal_a_decoder_with_the_explicit_matrix),
        cmocka_unit_test(recovery_is_as_likely_as_guaranteed),
        cmocka_unit_test(adversarial_signs_recover_less_than_random_ones),
        cmocka_unit_test(worst_supports_correlate_most_with_one_column),
        cmocka_unit_test(all_plus_signs_fail_from_the_square_root_on),
        cmocka_unit_test(each_decoder_recovers_easy_codes),
        cmocka_unit_test(the_error_recursion_equals_the_theorem),
        cmocka_unit_test(the_instance_bound_equals_its_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
