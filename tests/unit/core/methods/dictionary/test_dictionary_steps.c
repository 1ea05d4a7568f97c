/* Tests one training step of each learner: the results equal those of NumPy (tests/fixtures/dictionary_steps.h), and
 * have the same bits for any number of threads. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/methods/dictionary/model/step.h"
#include "tests/fixtures/dictionary_steps.h"
#include "tests/support/assert_ok.h"

static void fill(struct weight *weight, const double *values)
{
    for (size_t i = 0; weight && i < weight->count; i++)
        weight->value[i] = (float)values[i];
}

static void near(const char *learner, const char *what, const float *found, const double *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)found[i] - expected[i]) <= 1e-5 * (1 + fabs(expected[i]))))
            fail_msg("%s: %s[%zu] is %.8g, NumPy has %.8g", learner, what, i, (double)found[i], expected[i]);
}

static struct sae_shape shape_of(enum learner learner, int d, int m, double l0)
{
    struct sae_shape shape = {.learner = learner,
                              .inputs = d,
                              .width = m,
                              .l0 = l0,
                              .levels = 1,
                              .level_end = {m},
                              .sparsity = SPARSITY,
                              .bandwidth = BANDWIDTH,
                              .aux_weight = AUX_WEIGHT,
                              .aux_latents = AUX_LATENTS,
                              .dead_after = 3};
    if (learner == LEARNER_MATRYOSHKA) {
        shape.levels = 3;
        shape.level_end[0] = m / 3;
        shape.level_end[1] = m * 7 / 12;
        shape.level_end[2] = m;
    }
    return shape;
}

static void compare(const struct check_step *c, struct thread_pool *pool, const struct kernels *kernels)
{
    struct sae_shape shape = shape_of(c->learner, D, M, K);
    struct sae *sae;
    struct step *step;
    struct step_outcome out;
    float x[B * D];
    assert_ok(sae_create(&shape, "", true, &sae, err));
    assert_ok(step_create(&shape, pool, kernels, B, &step, err));
    sae_init(sae, 1);
    fill(sae->encoder, c->encoder);
    fill(sae->encoder_bias, c->encoder_bias);
    fill(sae->decoder, c->decoder);
    fill(sae->bias, c->bias);
    fill(sae->threshold, c->threshold);
    for (int j = 0; j < M; j++)
        sae->unfired->value[j] = c->dead[j] > 0 ? 4 : 3;
    for (int i = 0; i < B * D; i++)
        x[i] = (float)c->x[i];
    assert_true(step_run(step, sae, x, B, true, &out));
    assert_true(fabs(out.loss - c->loss) < 1e-5 * c->loss);
    assert_true(fabs(out.l0 - c->l0) < 1e-9);
    near(c->name, "decoder", sae->decoder->grad, c->decoder_gradient, M * D);
    near(c->name, "bias", sae->bias->grad, c->bias_gradient, D);
    if (sae->encoder) {
        near(c->name, "encoder", sae->encoder->grad, c->encoder_gradient, M * D);
        near(c->name, "encoder_bias", sae->encoder_bias->grad, c->encoder_bias_gradient, M);
    }
    if (sae->threshold)
        near(c->name, "threshold", sae->threshold->grad, c->threshold_gradient, M);
    step_destroy(step);
    sae_destroy(sae);
}

static void a_step_has_the_loss_and_gradients_of_numpy(void **state)
{
    static const char *const tables[] = {"ref", "avx2", "avx512"};
    struct thread_pool *pool;
    (void)state;
    assert_ok(thread_pool_create(2, &pool, err));
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; kernels_named(tables[t]) && i < sizeof check_steps / sizeof check_steps[0]; i++)
            compare(&check_steps[i], pool, kernels_named(tables[t]));
    thread_pool_destroy(pool);
}

/* ---- larger batches ------------------------------------------------------------------------------------------ */

enum { INPUTS = 20, WIDTH = 75, SAMPLES = 331 };

static float *inputs(void)
{
    static float x[SAMPLES * INPUTS];
    struct philox from = philox_stream(3, 0, 0);
    for (int i = 0; i < SAMPLES * INPUTS; i++)
        x[i] = (float)philox_normal(&from, (uint64_t)i);
    return x;
}

/* Runs one step of a new autoencoder. Some of its latents are dead. Returns the autoencoder with its gradients. */
static struct sae *run_once(enum learner learner, int threads, struct step_outcome *out)
{
    struct sae_shape shape = shape_of(learner, INPUTS, WIDTH, 4.3);
    struct thread_pool *pool;
    struct sae *sae;
    struct step *step;
    assert_ok(thread_pool_create(threads, &pool, err));
    assert_ok(sae_create(&shape, "", true, &sae, err));
    assert_ok(step_create(&shape, pool, kernels_best(), SAMPLES, &step, err));
    sae_init(sae, 5);
    for (int j = 0; j < WIDTH; j += 7)
        sae->unfired->value[j] = 9;
    assert_true(step_run(step, sae, inputs(), SAMPLES, true, out));
    step_finish(step, out, 0.01);
    step_destroy(step);
    thread_pool_destroy(pool);
    return sae;
}

static void a_step_has_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    for (enum learner learner = LEARNER_L1; learner <= LEARNER_MATCHING_PURSUIT; learner++) {
        struct step_outcome one, five;
        struct sae *a = run_once(learner, 1, &one), *b = run_once(learner, 5, &five);
        assert_memory_equal(&one, &five, sizeof one);
        for (size_t i = 0; i < params_arrays(a->params); i++) {
            struct weight *u = params_array(a->params, i), *v = params_array(b->params, i);
            assert_true(u->grad_ready);
            assert_memory_equal(u->grad, v->grad, u->count * sizeof *u->grad);
        }
        assert_memory_equal(a->unfired->value, b->unfired->value, WIDTH * sizeof(float));
        sae_destroy(a);
        sae_destroy(b);
    }
}

static int descending(const void *a, const void *b)
{
    float u = *(const float *)a, v = *(const float *)b;
    return (u < v) - (u > v);
}

/* Compares the chosen activations with the largest ones, found by sorting. The values are rounded, so that many are
 * equal to the smallest chosen one. */
static void batchtopk_keeps_the_largest_activations_of_the_batch(void **state)
{
    struct sae_shape shape = shape_of(LEARNER_BATCHTOPK, INPUTS, INPUTS, 2.7);
    static float x[SAMPLES * INPUTS], sorted[SAMPLES * INPUTS];
    struct thread_pool *pool;
    struct sae *sae;
    struct step *step;
    struct step_outcome out;
    int keep = (int)(2.7 * SAMPLES);
    double expected = 0, found = 0;
    (void)state;
    assert_ok(thread_pool_create(2, &pool, err));
    assert_ok(sae_create(&shape, "", false, &sae, err));
    assert_ok(step_create(&shape, pool, kernels_best(), SAMPLES, &step, err));
    sae_init(sae, 5);
    memset(sae->encoder->value, 0, sae->encoder->count * sizeof(float)); /* h = x */
    for (int j = 0; j < INPUTS; j++)
        sae->encoder->value[j * INPUTS + j] = 1;
    for (int i = 0; i < SAMPLES * INPUTS; i++)
        sorted[i] = x[i] = roundf(4 * inputs()[i]) / 4;
    qsort(sorted, SAMPLES * INPUTS, sizeof *sorted, descending);
    assert_true(step_run(step, sae, x, SAMPLES, false, &out));
    for (int i = 0; i < keep; i++)
        expected += (double)sorted[i];
    for (int i = 0; i < step->codes.total; i++)
        found += (double)step->codes.value[i];
    assert_int_equal(step->codes.total, keep);
    assert_true(sorted[keep - 1] == sorted[keep]); /* there are ties to break */
    assert_true(fabs(found - expected) < 1e-9);
    assert_true(fabs(out.l0 - (double)keep / SAMPLES) < 1e-12);
    step_destroy(step);
    sae_destroy(sae);
    thread_pool_destroy(pool);
}

static void the_cut_follows_the_smallest_activation_of_the_batch(void **state)
{
    struct step_outcome out;
    struct sae *sae = run_once(LEARNER_BATCHTOPK, 2, &out);
    (void)state;
    assert_true(sae->cut->value[CUT_MEAN] > 0);
    assert_true(sae->cut->value[CUT_COUNT] == 1);
    sae_destroy(sae);
}

static void the_tuner_raises_the_sparsity_while_l0_is_too_high(void **state)
{
    struct sae_shape shape = shape_of(LEARNER_L1, INPUTS, WIDTH, 4);
    struct thread_pool *pool;
    struct sae *sae;
    struct step *step;
    struct step_outcome out;
    (void)state;
    shape.tuned = true;
    assert_ok(thread_pool_create(1, &pool, err));
    assert_ok(sae_create(&shape, "", true, &sae, err));
    assert_ok(step_create(&shape, pool, kernels_best(), SAMPLES, &step, err));
    sae_init(sae, 5);
    assert_true(step_run(step, sae, inputs(), SAMPLES, true, &out));
    assert_true(out.l0 > 20);
    step_finish(step, &out, 0.01);
    assert_true(fabs((double)sae->tuner->value[TUNER_FACTOR] - (1 + 0.01 * tanh(10 * (out.l0 - 4) / 4))) < 1e-6);
    out.l0 = 1; /* The running mean of L0 becomes 0.99 * mean + 0.01 * 1. It is still above the target, but it falls.
                   While it falls, the steps of the tuner are 100 times smaller. */
    double before = (double)sae->tuner->value[TUNER_FACTOR];
    step_finish(step, &out, 0.01);
    assert_true(fabs((double)sae->tuner->value[TUNER_FACTOR] / before - 1.0001) < 1e-6);
    step_destroy(step);
    sae_destroy(sae);
    thread_pool_destroy(pool);
}

static void thresholds_move_further_than_adam_moves_them_if_the_training_is_short(void **state)
{
    static const struct {
        double rate; /* the argument `rate` of step_finish(): 3e-4 in a training of 195,312 updates */
        float moved; /* expected total move of a threshold that Adam has moved by 0.01 */
    } cases[] = {{1e-4, 0.01f}, {3e-4, 0.01f}, {6e-4, 0.02f}, {0.02, 0.1f}};
    struct sae_shape shape = shape_of(LEARNER_JUMPRELU, INPUTS, WIDTH, 4);
    struct thread_pool *pool;
    struct sae *sae;
    struct step *step;
    struct step_outcome out;
    (void)state;
    assert_ok(thread_pool_create(1, &pool, err));
    assert_ok(sae_create(&shape, "", true, &sae, err));
    assert_ok(step_create(&shape, pool, kernels_best(), SAMPLES, &step, err));
    sae_init(sae, 5);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float before = sae->threshold->value[3];
        assert_true(step_run(step, sae, inputs(), SAMPLES, true, &out));
        sae->threshold->value[3] += 0.01f;
        step_finish(step, &out, cases[i].rate);
        assert_float_equal(sae->threshold->value[3] - before, cases[i].moved, 1e-6);
    }
    step_destroy(step);
    sae_destroy(sae);
    thread_pool_destroy(pool);
}

static void unit_rows_stay_unit_and_lose_the_gradient_along_them(void **state)
{
    struct step_outcome out;
    struct sae *sae = run_once(LEARNER_TOPK, 1, &out);
    (void)state;
    sae_unit_rows(sae);
    sae_project_gradient(sae);
    for (int j = 0; j < WIDTH; j++) {
        double norm = 0, along = 0;
        for (int k = 0; k < INPUTS; k++) {
            double w = (double)sae->decoder->value[j * INPUTS + k];
            norm += w * w;
            along += w * (double)sae->decoder->grad[j * INPUTS + k];
        }
        assert_true(fabs(norm - 1) < 1e-6);
        assert_true(fabs(along) < 1e-5);
    }
    sae_destroy(sae);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_the_loss_and_gradients_of_numpy),
        cmocka_unit_test(a_step_has_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(batchtopk_keeps_the_largest_activations_of_the_batch),
        cmocka_unit_test(the_cut_follows_the_smallest_activation_of_the_batch),
        cmocka_unit_test(the_tuner_raises_the_sparsity_while_l0_is_too_high),
        cmocka_unit_test(thresholds_move_further_than_adam_moves_them_if_the_training_is_short),
        cmocka_unit_test(unit_rows_stay_unit_and_lose_the_gradient_along_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
