/* Tests transformer stacks in double precision: gradients through whole layers, cached and uncached decoding, padding.
 */
#include "tests/unit/core/gradient.h"

#include "tests/support/unit.h"
#include "core/nn/transformer.h"

enum { BATCH = 3, KEYS = 6, LENGTH = 5, WIDTH = 12 };

struct stacks {
    struct params *params;
    struct encoder encoder;
    struct decoder decoder;
    const int *lengths;
};

static void stacks_open(struct stacks *s, struct probe *p, enum transformer_norm norm, double dropout)
{
    struct transformer_config config = {
        .width = WIDTH, .heads = 3, .feed_forward = 20, .layers = 2, .norm = norm, .dropout = dropout};
    *s = (struct stacks){0};
    assert_int_equal(params_create(&s->params, NULL), STATUS_OK);
    encoder_build(&s->encoder, s->params, "encoder", &config);
    decoder_build(&s->decoder, s->params, "decoder", &config);
    assert_int_equal(params_seal(s->params, true, NULL), STATUS_OK);
    params_init(s->params, 3, NULL);
    for (size_t i = 0; i < params_arrays(s->params); i++) { /* moves biases from 0 and scales of norms from 1 */
        struct weight *w = params_array(s->params, i);
        real noise[WIDTH * 3];
        if (w->rank == 1) {
            probe_fill(p, noise, w->count, 0.3);
            for (size_t j = 0; j < w->count; j++)
                w->value[j] += noise[j];
        }
    }
}

static struct tensor *build_stacks(struct probe *p, const void *context)
{
    struct stacks *s = (struct stacks *)context;
    struct tensor *memory = encoder_forward(&p->exec, &s->encoder, probe_input(p, 0), BATCH, KEYS, s->lengths);
    return decoder_forward(&p->exec, &s->decoder, probe_input(p, 1), memory, BATCH, LENGTH, KEYS, s->lengths);
}

static void layer_gradients_match_differences(void **state)
{
    static const int lengths[BATCH] = {6, 2, 1};
    for (int variant = 0; variant < 4; variant++) {
        struct probe p;
        struct stacks s;
        probe_open(&p, 2, "ref");
        probe_rows(&p, BATCH * KEYS, WIDTH, 1.0);
        probe_rows(&p, BATCH * LENGTH, WIDTH, 1.0);
        stacks_open(&s, &p, variant & 1 ? TRANSFORMER_PRE_NORM : TRANSFORMER_POST_NORM, variant & 2 ? 0.2 : 0.0);
        s.lengths = variant & 2 ? lengths : NULL;
        for (size_t i = 0; i < params_arrays(s.params); i++)
            probe_check_also(&p, params_array(s.params, i));
        probe_check(&p, build_stacks, &s, 1e-6);
        params_destroy(s.params);
        probe_close(&p);
    }
}

/* Decoding position by position gives the same result as decoding the whole prefix at once. */
static void cached_decoding_equals_uncached_decoding(void **state)
{
    static const int lengths[BATCH] = {6, 2, 1};
    for (int variant = 0; variant < 4; variant++) {
        struct probe p;
        struct stacks s;
        probe_open(&p, 2, "ref");
        probe_rows(&p, BATCH * KEYS, WIDTH, 1.0);
        probe_rows(&p, BATCH * LENGTH, WIDTH, 1.0);
        /* dropout of 0.5 has no effect here, because this is no training step */
        stacks_open(&s, &p, variant & 1 ? TRANSFORMER_PRE_NORM : TRANSFORMER_POST_NORM, 0.5);
        s.lengths = variant & 2 ? lengths : NULL;
        exec_begin(&p.exec, false, 0);
        struct tensor *whole = build_stacks(&p, &s);
        struct tensor *memory = encoder_forward(&p.exec, &s.encoder, probe_input(&p, 0), BATCH, KEYS, s.lengths);
        struct decode_cache cache;
        assert_true(decode_begin(&p.exec, &cache, &s.decoder, memory, BATCH, KEYS, LENGTH, s.lengths));
        for (int t = 0; t < LENGTH; t++) {
            real token[BATCH * WIDTH];
            for (int b = 0; b < BATCH; b++)
                memcpy(token + b * WIDTH, p.inputs[1].value + (b * LENGTH + t) * WIDTH, WIDTH * sizeof(real));
            struct tensor *y = decode_step(&p.exec, &cache, tensor_wrap_rows(&p.exec, token, BATCH, WIDTH, false));
            assert_non_null(y);
            for (int b = 0; b < BATCH; b++)
                for (int j = 0; j < WIDTH; j++)
                    assert_true(fabs((double)(y->data[b * WIDTH + j] - whole->data[(b * LENGTH + t) * WIDTH + j])) <
                                1e-12);
        }
        real none[BATCH * WIDTH] = {0};
        assert_null(decode_step(&p.exec, &cache, tensor_wrap_rows(&p.exec, none, BATCH, WIDTH, false)));
        assert_int_equal(exec_status(&p.exec, NULL), STATUS_INTERNAL);
        params_destroy(s.params);
        probe_close(&p);
    }
}

/* Later positions, and memory beyond a sample's length, change nothing. */
static void later_positions_and_padding_change_nothing(void **state)
{
    static const int lengths[BATCH] = {6, 2, 1};
    struct probe p;
    struct stacks s;
    probe_open(&p, 2, "ref");
    probe_rows(&p, BATCH * KEYS, WIDTH, 1.0);
    probe_rows(&p, BATCH * LENGTH, WIDTH, 1.0);
    stacks_open(&s, &p, TRANSFORMER_POST_NORM, 0.0);
    s.lengths = lengths;
    exec_begin(&p.exec, false, 0);
    real before[2 * WIDTH];
    /* the output for sample 1, positions 0 and 1 */
    memcpy(before, build_stacks(&p, &s)->data + LENGTH * WIDTH, sizeof(before));
    for (int j = 0; j < WIDTH; j++) {
        p.inputs[1].value[(LENGTH + 2) * WIDTH + j] = R(5.0);
        p.inputs[0].value[(KEYS + 2) * WIDTH + j] = R(-5.0);
    }
    exec_begin(&p.exec, false, 0);
    assert_memory_equal(before, build_stacks(&p, &s)->data + LENGTH * WIDTH, sizeof(before));
    p.inputs[0].value[KEYS * WIDTH] = R(5.0); /* a change at a valid position of the memory changes the result */
    exec_begin(&p.exec, false, 0);
    assert_memory_not_equal(before, build_stacks(&p, &s)->data + LENGTH * WIDTH, sizeof(before));
    params_destroy(s.params);
    probe_close(&p);
}

static struct tensor *build_mlp(struct probe *p, const void *context)
{
    return mlp_forward(&p->exec, (struct mlp *)context, probe_input(p, 0));
}

static void mlp_gradients_match_differences(void **state)
{
    struct probe p;
    struct params *params;
    struct mlp mlp;
    probe_open(&p, 2, "ref");
    probe_rows(&p, 9, 7, 1.0);
    assert_int_equal(params_create(&params, NULL), STATUS_OK);
    mlp_build(&mlp, params, "mlp", 3, (int[]){7, 11, 8, 2}, 0.2);
    assert_int_equal(params_seal(params, true, NULL), STATUS_OK);
    params_init(params, 3, NULL);
    for (size_t i = 0; i < params_arrays(params); i++)
        probe_check_also(&p, params_array(params, i));
    probe_check(&p, build_mlp, &mlp, 1e-6);
    params_destroy(params);
    probe_close(&p);
}

static struct tensor *build_scale(struct probe *p, const void *context)
{
    return rms_scale_forward(&p->exec, (struct rms_scale *)context, probe_input(p, 0));
}

/* A forward pass in training first moves the running mean square towards the mean square of the positive elements, and
 * then divides by the root of the running mean square. A pass in evaluation only divides. */
static void rms_scale_follows_the_mean_square_in_training(void **state)
{
    struct probe p;
    struct params *params;
    struct rms_scale scale;
    probe_open(&p, 2, "ref");
    probe_rows(&p, 9, 7, 3.0);
    assert_int_equal(params_create(&params, NULL), STATUS_OK);
    rms_scale_build(&scale, params, "scale");
    assert_int_equal(params_seal(params, true, NULL), STATUS_OK);
    params_init(params, 3, NULL);
    real x[4] = {R(3.0), R(-5.0), R(0.0), R(4.0)};
    exec_begin(&p.exec, true, 0);
    struct tensor *y = rms_scale_forward(&p.exec, &scale, tensor_wrap_rows(&p.exec, x, 2, 2, false));
    double square = 0.99 + 0.01 * 12.5;
    assert_true(fabs((double)*scale.square->value - square) < 1e-12);
    for (int i = 0; i < 4; i++)
        assert_true(fabs((double)y->data[i] - (double)x[i] / sqrt(square + 1e-6)) < 1e-12);
    exec_begin(&p.exec, false, 0);
    y = rms_scale_forward(&p.exec, &scale, tensor_wrap_rows(&p.exec, x, 2, 2, false));
    assert_true(fabs((double)*scale.square->value - square) < 1e-12);
    assert_true(fabs((double)y->data[3] - 4.0 / sqrt(square + 1e-6)) < 1e-12);
    real none[2] = {R(-1.0), R(0.0)};
    exec_begin(&p.exec, true, 0);
    rms_scale_forward(&p.exec, &scale, tensor_wrap_rows(&p.exec, none, 1, 2, false));
    assert_true(fabs((double)*scale.square->value - square) < 1e-12);
    scale.momentum = 1.0; /* with momentum 1, the scale is a constant in the gradient */
    probe_check(&p, build_scale, &scale, 1e-6);
    params_destroy(params);
    probe_close(&p);
}

/* The sines of Vaswani et al. at a few positions. */
static void position_tables_contain_the_sines_of_the_paper(void **state)
{
    real table[12 * 8];
    positions_sine(table, 12, 8);
    assert_true(table[0] == R(0.0) && table[1] == R(1.0));
    assert_true(fabs((double)table[3 * 8 + 0] - sin(3.0)) < 1e-12);
    assert_true(fabs((double)table[3 * 8 + 3] - cos(0.3)) < 1e-12); /* 10000 ^ (2 / 8) = 10 */
    assert_true(fabs((double)table[11 * 8 + 6] - sin(0.011)) < 1e-12);
    positions_backward(table, 12, 8);
    assert_true(fabs((double)table[3 * 8 + 7] - sin(3.0)) < 1e-12);
    assert_true(fabs((double)table[3 * 8 + 4] - cos(0.3)) < 1e-12);
    positions_grid(table, 3, 4, 8);
    for (int row = 0; row < 3; row++)
        for (int col = 0; col < 4; col++) {
            const real *at = table + (row * 4 + col) * 8;
            assert_true(fabs((double)at[0] - sin(row)) < 1e-12 && fabs((double)at[4] - sin(col)) < 1e-12);
            assert_true(fabs((double)at[3] - cos(row / 100.0)) < 1e-12 && fabs((double)at[5] - cos(col)) < 1e-12);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_gradients_match_differences),
        cmocka_unit_test(cached_decoding_equals_uncached_decoding),
        cmocka_unit_test(later_positions_and_padding_change_nothing),
        cmocka_unit_test(mlp_gradients_match_differences),
        cmocka_unit_test(rms_scale_follows_the_mean_square_in_training),
        cmocka_unit_test(position_tables_contain_the_sines_of_the_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
