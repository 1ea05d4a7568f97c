/* Tests parameters and Adam: names, initial values, freezing, saving, updates. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/nn/adam.h"
#include "core/nn/transformer.h"

static struct params *two_linears(const char *first, const char *second, const char *shared_init, bool with_grad)
{
    struct params *p;
    struct linear layer;
    struct error err = {0};
    assert_int_equal(params_create(&p, &err), STATUS_OK);
    linear_build(&layer, p, first, NULL, 30, 20);
    linear_build(&layer, p, second, shared_init, 30, 20);
    assert_int_equal(params_seal(p, with_grad, &err), STATUS_OK);
    params_init(p, 9, NULL);
    return p;
}

static bool equal(struct params *p, const char *a, struct params *q, const char *b)
{
    const struct weight *x = params_find(p, a), *y = params_find(q, b);
    assert_non_null(x);
    assert_non_null(y);
    return x->count == y->count && memcmp(x->value, y->value, x->count * sizeof(real)) == 0;
}

/* Initial values depend only on the seed and the name of an array, not on the order of arrays or the rest of the model.
 */
static void initial_values_depend_on_seed_and_name_only(void **state)
{
    struct params *p = two_linears("a", "b", NULL, true), *q = two_linears("b", "a", NULL, false);
    struct params *shared = two_linears("a", "c", "a", false);
    assert_true(equal(p, "a.weight", q, "a.weight"));
    assert_true(equal(p, "b.bias", q, "b.bias"));
    assert_false(equal(p, "a.weight", p, "b.weight"));
    assert_true(equal(shared, "a.weight", shared, "c.weight"));
    assert_true(equal(shared, "c.weight", p, "a.weight"));
    params_init(q, 10, NULL);
    assert_false(equal(p, "a.weight", q, "a.weight"));
    params_destroy(p);
    params_destroy(q);
    params_destroy(shared);
}

static void distribution(const struct weight *w, double *largest, double *mean, double *square)
{
    *largest = *mean = *square = 0.0;
    for (size_t i = 0; i < w->count; i++) {
        double x = (double)w->value[i];
        *largest = fabs(x) > *largest ? fabs(x) : *largest;
        *mean += x / (double)w->count;
        *square += x * x / (double)w->count;
    }
}

static void check_uniform(struct params *p, const char *name, double bound)
{
    double largest, mean, square;
    distribution(params_find(p, name), &largest, &mean, &square);
    assert_true(largest <= bound * 1.000001 && largest > bound * 0.9);
    assert_true(fabs(square / (bound * bound / 3.0) - 1.0) < 0.15);
}

/* Checks the initial values of an encoder (width 64, 8 heads), an LSTM and an embedding against the bounds and
 * variances of their rules. */
static void initialisation_rules_have_their_bounds(void **state)
{
    struct params *p;
    struct error err = {0};
    struct encoder encoder;
    struct bilstm lstm;
    struct transformer_config stack = {.width = 64, .heads = 8, .feed_forward = 96, .layers = 2, .identical = true};
    assert_int_equal(params_create(&p, &err), STATUS_OK);
    encoder_build(&encoder, p, "encoder", &stack);
    bilstm_build(&lstm, p, "lstm", 20, 16);
    embedding_build(p, "tokens", 300, 30);
    assert_int_equal(params_seal(p, false, &err), STATUS_OK);
    params_init(p, 1, NULL);
    check_uniform(p, "encoder.0.attention.qkv.weight", sqrt(6.0 / (64 + 192)));
    check_uniform(p, "encoder.0.attention.out.weight", 1.0 / 8.0);
    check_uniform(p, "encoder.0.up.weight", 1.0 / 8.0);
    check_uniform(p, "encoder.0.down.weight", 1.0 / sqrt(96.0));
    check_uniform(p, "encoder.0.down.bias", 1.0 / sqrt(96.0));
    check_uniform(p, "lstm.weight_ih_l0", 0.25);
    check_uniform(p, "lstm.bias_hh_l0_reverse", 0.25);
    double largest, mean, square;
    distribution(params_find(p, "tokens.weight"), &largest, &mean, &square);
    assert_true(fabs(mean) < 0.05 && fabs(square - 1.0) < 0.05 && largest > 3.0);
    distribution(params_find(p, "encoder.0.attention.qkv.bias"), &largest, &mean, &square);
    assert_true(largest == 0.0);
    distribution(params_find(p, "encoder.1.norm2.weight"), &largest, &mean, &square);
    assert_true(largest == 1.0 && mean == 1.0);
    assert_true(equal(p, "encoder.0.up.weight", p, "encoder.1.up.weight"));
    assert_true(equal(p, "encoder.0.attention.qkv.weight", p, "encoder.1.attention.qkv.weight"));
    params_destroy(p);
}

static void seal_returns_the_first_error_of_declarations(void **state)
{
    struct error err = {0};
    struct params *p;
    assert_int_equal(params_create(&p, &err), STATUS_OK);
    int dim = 3;
    assert_non_null(params_add(p, "a", 1, &dim, init_constant(0.0)));
    assert_non_null(params_add(p, "a", 1, &dim, init_constant(0.0)));
    assert_int_equal(params_seal(p, true, &err), STATUS_INTERNAL);
    assert_non_null(strstr(err.message, "\"a\""));
    params_destroy(p);
    assert_int_equal(params_create(&p, NULL), STATUS_OK);
    dim = 0;
    params_add(p, "empty", 1, &dim, init_constant(0.0));
    assert_int_equal(params_seal(p, true, NULL), STATUS_INTERNAL);
    params_destroy(p);
    assert_int_equal(params_create(&p, NULL), STATUS_OK);
    char name[SNAPSHOT_NAME + 1] = {0};
    memset(name, 'x', SNAPSHOT_NAME);
    dim = 1;
    params_add(p, name, 1, &dim, init_constant(0.0));
    assert_int_equal(params_seal(p, true, NULL), STATUS_INTERNAL);
    params_destroy(p);
}

static void check_names_the_first_array_that_is_not_finite(void **state)
{
    struct error err = {0};
    struct params *p = two_linears("a", "b", NULL, true);
    assert_int_equal(params_check(p, &err), STATUS_OK);
    params_find(p, "b.bias")->grad[19] = (real)NAN;
    /* this step has not written the gradient of b.bias, so it is not checked */
    assert_int_equal(params_check(p, &err), STATUS_OK);
    params_find(p, "b.bias")->grad_ready = true;
    assert_int_equal(params_check(p, &err), STATUS_NUMERIC);
    assert_string_equal(err.message, "the gradient of b.bias is not finite");
    error_clear(&err);
    params_find(p, "a.weight")->value[0] = (real)INFINITY;
    assert_int_equal(params_check(p, &err), STATUS_NUMERIC);
    assert_string_equal(err.message, "a.weight contains a value that is not finite");
    params_destroy(p);
}

/* --- Adam --------------------------------------------------------------------------------------- */

struct bench {
    struct arena arena;
    struct thread_pool *pool;
    struct exec exec;
    struct params *params;
    struct adam *adam;
};

static void bench_open(struct bench *b, struct adam_config config)
{
    arena_init(&b->arena, 1 << 16, 0);
    assert_int_equal(thread_pool_create(2, &b->pool, NULL), STATUS_OK);
    exec_init(&b->exec, kernels_named("ref"), b->pool, &b->arena, 1);
    b->params = two_linears("a", "b", NULL, true);
    assert_int_equal(adam_create(b->params, &config, &b->adam, NULL), STATUS_OK);
}

static void bench_close(struct bench *b)
{
    adam_destroy(b->adam);
    params_destroy(b->params);
    thread_pool_destroy(b->pool);
    arena_close(&b->arena);
}

static void fill_gradients(struct bench *b, int step)
{
    params_begin_step(b->params);
    for (size_t i = 0; i < params_arrays(b->params); i++) {
        struct weight *w = params_array(b->params, i);
        for (size_t j = 0; j < w->count; j++)
            w->grad[j] = (real)sin((double)(j + 1) * (double)(i + 1) + step);
        w->grad_ready = true;
    }
}

static void adam_equals_its_formula(void **state)
{
    struct bench b;
    bench_open(&b, ADAM_DEFAULT);
    struct weight *w = params_find(b.params, "b.weight");
    double x = (double)w->value[5], m = 0.0, v = 0.0;
    for (int t = 1; t <= 5; t++) {
        fill_gradients(&b, t);
        double g = (double)w->grad[5];
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        x -= 1e-2 * (m / (1.0 - pow(0.9, t))) / (sqrt(v / (1.0 - pow(0.999, t))) + 1e-8);
        assert_int_equal(adam_step(b.adam, &b.exec, 1e-2, NULL, NULL), STATUS_OK);
        assert_true(fabs((double)w->value[5] - x) < 1e-6);
    }
    bench_close(&b);
}

/* If an array is frozen or has no gradient, Adam changes neither its values nor its moments. */
static void adam_leaves_arrays_without_gradient_unchanged(void **state)
{
    struct bench b;
    bench_open(&b, ADAM_DEFAULT);
    struct weight *w = params_find(b.params, "a.weight"), *frozen = params_find(b.params, "b.weight");
    real before = w->value[3], still = frozen->value[3];
    fill_gradients(&b, 1);
    w->grad_ready = false;
    params_freeze(b.params, "b.", true);
    assert_null(frozen->grad);
    assert_int_equal(adam_step(b.adam, &b.exec, 1e-2, NULL, NULL), STATUS_OK);
    assert_true(w->value[3] == before && frozen->value[3] == still);
    params_freeze(b.params, "b.", false);
    fill_gradients(&b, 1);
    assert_int_equal(adam_step(b.adam, &b.exec, 1e-2, NULL, NULL), STATUS_OK);
    assert_true(w->value[3] != before && frozen->value[3] != still);
    bench_close(&b);
}

static void clipping_limits_the_global_gradient_norm(void **state)
{
    struct bench b;
    struct adam_config config = ADAM_DEFAULT;
    config.clip_norm = 0.5;
    config.epsilon = 1.0; /* with a large epsilon, the update depends on the size of the gradient */
    bench_open(&b, config);
    struct weight *w = params_find(b.params, "a.bias");
    real before = w->value[2];
    fill_gradients(&b, 1);
    double norm = 0.0, wanted = 0.0, g = (double)w->grad[2];
    for (size_t i = 0; i < params_arrays(b.params); i++)
        for (size_t j = 0; j < params_array(b.params, i)->count; j++)
            wanted += (double)params_array(b.params, i)->grad[j] * (double)params_array(b.params, i)->grad[j];
    wanted = sqrt(wanted);
    assert_int_equal(adam_step(b.adam, &b.exec, 1e-2, &norm, NULL), STATUS_OK);
    assert_true(fabs(norm / wanted - 1.0) < 1e-5);
    g *= 0.5 / wanted;
    assert_true(fabs((double)(w->value[2] - before) + 1e-2 * g / (fabs(g) + 1.0)) < 1e-7);
    fill_gradients(&b, 2);
    w->grad[0] = (real)NAN;
    struct error err = {0};
    real kept = w->value[2];
    assert_int_equal(adam_step(b.adam, &b.exec, 1e-2, NULL, &err), STATUS_NUMERIC);
    assert_string_equal(err.message, "the gradient of a.bias is not finite");
    assert_true(w->value[2] == kept);
    bench_close(&b);
}

/* Decay multiplies matrices by 1 - rate * decay before the update, and leaves vectors as they are. */
static void decay_shrinks_matrices_and_not_vectors(void **state)
{
    struct bench plain, decayed;
    struct adam_config config = ADAM_DEFAULT;
    bench_open(&plain, config);
    config.decay = 2;
    bench_open(&decayed, config);
    real matrix = params_find(plain.params, "a.weight")->value[1];
    fill_gradients(&plain, 1);
    fill_gradients(&decayed, 1);
    assert_int_equal(adam_step(plain.adam, &plain.exec, 0.1, NULL, NULL), STATUS_OK);
    assert_int_equal(adam_step(decayed.adam, &decayed.exec, 0.1, NULL, NULL), STATUS_OK);
    double difference = (double)params_find(plain.params, "a.weight")->value[1] -
                        (double)params_find(decayed.params, "a.weight")->value[1];
    assert_true(fabs(difference - 0.2 * (double)matrix) < 1e-6 && matrix != 0);
    assert_true(params_find(plain.params, "a.bias")->value[2] == params_find(decayed.params, "a.bias")->value[2]);
    bench_close(&plain);
    bench_close(&decayed);
}

/* --- saving ------------------------------------------------------------------------------------- */

struct bytes {
    char *at;
    size_t size;
};

static enum status write_bytes(void *context, const void *bytes, size_t count, struct error *err)
{
    struct bytes *b = context;
    b->at = realloc(b->at, b->size + count);
    memcpy(b->at + b->size, bytes, count);
    b->size += count;
    return STATUS_OK;
}

static enum status read_bytes(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct bytes *b = context;
    memcpy(bytes, b->at + offset, count);
    return STATUS_OK;
}

static struct snapshot *declare(struct bench *b)
{
    struct snapshot *snapshot;
    struct error err = {0};
    assert_int_equal(snapshot_create(&snapshot, &err), STATUS_OK);
    assert_int_equal(params_snapshot(b->params, snapshot, &err), STATUS_OK);
    assert_int_equal(adam_snapshot(b->adam, snapshot, &err), STATUS_OK);
    return snapshot;
}

/* After saving and loading into a new model, both models train to the same bits. */
static void restored_optimiser_continues_with_the_same_bits(void **state)
{
    struct bench a, b;
    struct bytes bytes = {0};
    struct snapshot_writer to = {&bytes, write_bytes};
    bench_open(&a, ADAM_DEFAULT);
    bench_open(&b, ADAM_DEFAULT);
    for (int t = 0; t < 3; t++) {
        fill_gradients(&a, t);
        assert_int_equal(adam_step(a.adam, &a.exec, 1e-2, NULL, NULL), STATUS_OK);
    }
    struct snapshot *out = declare(&a), *in = declare(&b);
    assert_int_equal(snapshot_write(out, &to, NULL), STATUS_OK);
    struct snapshot_reader from = {&bytes, bytes.size, read_bytes};
    assert_int_equal(snapshot_read(in, &from, 1u << SNAPSHOT_WEIGHT | 1u << SNAPSHOT_OPTIMISER, NULL), STATUS_OK);
    fill_gradients(&a, 7);
    fill_gradients(&b, 7);
    assert_int_equal(adam_step(a.adam, &a.exec, 1e-2, NULL, NULL), STATUS_OK);
    assert_int_equal(adam_step(b.adam, &b.exec, 1e-2, NULL, NULL), STATUS_OK);
    assert_true(equal(a.params, "a.weight", b.params, "a.weight"));
    assert_true(equal(a.params, "b.bias", b.params, "b.bias"));
    snapshot_destroy(out);
    snapshot_destroy(in);
    free(bytes.at);
    bench_close(&a);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initial_values_depend_on_seed_and_name_only),
        cmocka_unit_test(initialisation_rules_have_their_bounds),
        cmocka_unit_test(seal_returns_the_first_error_of_declarations),
        cmocka_unit_test(check_names_the_first_array_that_is_not_finite),
        cmocka_unit_test(adam_equals_its_formula),
        cmocka_unit_test(adam_leaves_arrays_without_gradient_unchanged),
        cmocka_unit_test(decay_shrinks_matrices_and_not_vectors),
        cmocka_unit_test(clipping_limits_the_global_gradient_norm),
        cmocka_unit_test(restored_optimiser_continues_with_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
