/* Tests that a training step with every operation, including dropout, gives the same bits for any number of threads,
 * with each kernel table. The step is large enough that every operation is cut into several chunks. After the first
 * steps no memory is allocated. */
#include "tests/support/unit.h"
#include "core/nn/adam.h"
#include "core/nn/sparse.h"
#include "core/nn/transformer.h"
#include "tests/support/sanitized.h"

enum {
    IMAGES = 3,
    SIZE = 40,
    WIDTH = 40,
    MOTIFS = 5,
    CELL = 4,
    GRID = SIZE / CELL,
    CHANNELS = 96,
    TOKENS = 7,
    LENGTH = 6
};

struct model {
    struct arena arena;
    struct thread_pool *pool;
    struct exec exec;
    struct params *params;
    struct sparse *sparse;
    struct adam *adam;
    struct conv first, last, embed;
    struct residual_unit unit;
    struct batch_norm norm;
    struct bilstm rows;
    struct encoder encoder;
    struct decoder decoder;
    struct weight *tokens, *positions;
    struct linear out, pooled;
    real images[IMAGES * SIZE * SIZE];
    int32_t inputs[IMAGES * LENGTH], targets[IMAGES * LENGTH];
};

static struct model *model_open(const char *kernels, int threads)
{
    struct model *m = calloc(1, sizeof(*m));
    struct error err = {0};
    assert_non_null(m);
    arena_init(&m->arena, 1 << 20, 0);
    assert_int_equal(thread_pool_create(threads, &m->pool, NULL), STATUS_OK);
    exec_init(&m->exec, kernels_named(kernels), m->pool, &m->arena, 5);
    assert_int_equal(params_create(&m->params, NULL), STATUS_OK);
    conv_layer_build(&m->first, m->params, "first", 1, WIDTH, 1, 1);
    residual_unit_build(&m->unit, m->params, "unit", WIDTH, 3, 3);
    conv_layer_build(&m->last, m->params, "last", WIDTH, MOTIFS, 1, 1);
    batch_norm_build(&m->norm, m->params, "norm", MOTIFS, true);
    struct sparse_config sparse = {.mode = SPARSE_PER_CHANNEL, .channels = MOTIFS, .momentum = 0.9};
    assert_int_equal(sparse_create(&m->sparse, m->params, "sparse", &sparse, NULL), STATUS_OK);
    conv_layer_build(&m->embed, m->params, "embed", MOTIFS, CHANNELS, 1, 1);
    linear_build(&m->pooled, m->params, "pooled", NULL, MOTIFS, CHANNELS);
    bilstm_build(&m->rows, m->params, "rows", CHANNELS, CHANNELS / 2);
    m->positions = params_add(m->params, "positions", 2, (int[]){GRID * GRID, CHANNELS}, init_normal(0.1));
    for (int norm = 0; norm < 2; norm++) {
        struct transformer_config stack = {.width = CHANNELS,
                                           .heads = 4,
                                           .feed_forward = 200,
                                           .layers = 2,
                                           .norm = norm == 0 ? TRANSFORMER_POST_NORM : TRANSFORMER_PRE_NORM,
                                           .dropout = 0.1,
                                           .identical = true};
        if (norm == 0)
            encoder_build(&m->encoder, m->params, "encoder", &stack);
        else
            decoder_build(&m->decoder, m->params, "decoder", &stack);
    }
    m->tokens = embedding_build(m->params, "tokens", TOKENS, CHANNELS);
    linear_build(&m->out, m->params, "out", NULL, CHANNELS, TOKENS);
    if (params_seal(m->params, true, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    params_init(m->params, 1, NULL);
    assert_int_equal(adam_create(m->params, &ADAM_DEFAULT, &m->adam, NULL), STATUS_OK);
    for (int i = 0; i < IMAGES * SIZE * SIZE; i++)
        m->images[i] = i * 7919 % 1009 < 170 ? R(1.0) : R(0.0);
    for (int i = 0; i < IMAGES * LENGTH; i++) {
        m->inputs[i] = i * 5 % TOKENS;
        m->targets[i] = i % 4 == 3 ? -1 : i * 3 % TOKENS;
    }
    return m;
}

static void model_close(struct model *m)
{
    adam_destroy(m->adam);
    sparse_destroy(m->sparse);
    params_destroy(m->params);
    thread_pool_destroy(m->pool);
    arena_close(&m->arena);
    free(m);
}

static double model_step(struct model *m, uint64_t step)
{
    static const int lengths[IMAGES] = {GRID * GRID, 40, 1};
    struct exec *e = &m->exec;
    struct error err = {0};
    params_begin_step(m->params);
    exec_begin(e, true, step);
    struct tensor *x = op_conv_planar(e, m->images, IMAGES, 1, SIZE, SIZE, 1, m->first.w, m->first.b);
    x = conv_layer_forward(e, &m->last, residual_unit_forward(e, &m->unit, x), NULL);
    x = sparse_forward(e, m->sparse, op_batch_norm(e, x, &m->norm, false), 0.3, false);
    struct tensor *y = linear_forward(e, &m->pooled, op_max_pool_rows(e, x, CELL, CELL), true, 0.2);
    x = op_add(e, op_embed_max_pool(e, x, m->embed.w, m->embed.b, CELL, CELL), y);
    x = op_add_rows(e, bilstm_forward(e, &m->rows, x, IMAGES * GRID, GRID), m->positions, 1, GRID * GRID, 0.1);
    x = encoder_forward(e, &m->encoder, x, IMAGES, GRID * GRID, lengths);
    y = op_embedding(e, m->inputs, IMAGES * LENGTH, m->tokens);
    y = op_residual(e, y, y, 0.1);
    y = decoder_forward(e, &m->decoder, y, x, IMAGES, LENGTH, GRID * GRID, lengths);
    struct tensor *loss = op_cross_entropy(e, linear_forward(e, &m->out, y, false, 0.0), m->targets);
    if (tape_backward(e, loss, NULL, &err) != STATUS_OK || adam_step(m->adam, e, 1e-3, NULL, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return (double)loss->data[0];
}

static void training_step_gives_same_bits_for_any_number_of_threads(void **state)
{
    static const char *const tables[] = {"ref", "avx2", "avx512"};
    for (size_t t = 0; t < 3; t++) {
        if (kernels_named(tables[t]) == NULL)
            continue;
        struct model *one = model_open(tables[t], 1);
        double first = model_step(one, 0), second = model_step(one, 1);
        assert_true(second < first && first < 10.0);
        static const int counts[] = {2, 16, 3, 5}; /* with 16 threads, convolutions split their chunks */
        for (int i = 0; i < (SANITIZED ? 2 : 4); i++) {
            int threads = counts[i];
            struct model *other = model_open(tables[t], threads);
            assert_true(model_step(other, 0) == first);
            assert_true(model_step(other, 1) == second);
            for (size_t n = 0; n < params_arrays(one->params); n++) {
                const struct weight *a = params_array(one->params, n), *b = params_array(other->params, n);
                if (memcmp(a->value, b->value, a->count * sizeof(real)) != 0)
                    fail_msg("%s: %s differs between 1 and %d threads", tables[t], params_name(one->params, n),
                             threads);
                assert_memory_equal(a->grad, b->grad, a->count * sizeof(real));
            }
            model_close(other);
        }
        model_close(one);
    }
}

enum { WIDE = 410, CLASSES = 304, MOST_ROWS = 563 };

/* A linear layer whose products have more blocks on 16 threads than on one. */
struct large {
    struct arena arena;
    struct thread_pool *pool;
    struct exec exec;
    struct params *params;
    struct linear layer;
    struct tensor *loss;
};

static void large_step(struct large *l, const char *kernels, int threads, int rows, bool bf16)
{
    static real x[MOST_ROWS * WIDE];
    static int32_t targets[MOST_ROWS];
    memset(l, 0, sizeof *l);
    arena_init(&l->arena, 1 << 20, 0);
    assert_int_equal(thread_pool_create(threads, &l->pool, NULL), STATUS_OK);
    exec_init(&l->exec, kernels_named(kernels), l->pool, &l->arena, 5);
    l->exec.bf16 = bf16;
    assert_int_equal(params_create(&l->params, NULL), STATUS_OK);
    linear_build(&l->layer, l->params, "layer", NULL, WIDE, CLASSES);
    assert_int_equal(params_seal(l->params, true, NULL), STATUS_OK);
    params_init(l->params, 1, NULL);
    for (int i = 0; i < rows * WIDE; i++)
        x[i] = (real)(i * 7919 % 1009) / 1009 - R(0.5);
    for (int i = 0; i < rows; i++)
        targets[i] = i * 5 % CLASSES;
    params_begin_step(l->params);
    exec_begin(&l->exec, true, 0);
    struct tensor *in = tensor_wrap_rows(&l->exec, x, rows, WIDE, true);
    l->loss = op_cross_entropy(&l->exec, linear_forward(&l->exec, &l->layer, in, true, 0.2), targets);
    assert_int_equal(tape_backward(&l->exec, l->loss, NULL, NULL), STATUS_OK);
}

static void large_close(struct large *l)
{
    params_destroy(l->params);
    thread_pool_destroy(l->pool);
    arena_close(&l->arena);
}

/* If 563 rows were divided into 16 blocks, the last block would have 3 rows, which kernels compute in another order. */
static void large_products_give_same_bits_for_any_number_of_threads(void **state)
{
    static const char *const tables[] = {"ref", "avx2", "avx512"};
    static const int row_counts[] = {528, MOST_ROWS}, thread_counts[] = {8, 11, 16};
    for (size_t t = SANITIZED ? 1 : 0; t < 3; t++) {
        for (int n = 0; n < 2 * 2 * 3 && kernels_named(tables[t]) != NULL; n++) {
            struct large one, other;
            large_step(&one, tables[t], 1, row_counts[n % 2], n / 2 % 2);
            large_step(&other, tables[t], thread_counts[n / 4], row_counts[n % 2], n / 2 % 2);
            assert_true(one.loss->data[0] == other.loss->data[0]);
            for (size_t i = 0; i < params_arrays(one.params); i++) {
                const struct weight *a = params_array(one.params, i), *b = params_array(other.params, i);
                assert_memory_equal(a->grad, b->grad, a->count * sizeof(real));
            }
            large_close(&one);
            large_close(&other);
        }
    }
}

static void warm_steps_take_no_memory(void **state)
{
    struct model *m = model_open("ref", 2);
    model_step(m, 0);
    model_step(m, 1);
    size_t held = m->arena.held_bytes, peak = m->arena.peak_bytes;
    model_step(m, 2);
    assert_int_equal(m->arena.held_bytes, held);
    assert_int_equal(m->arena.peak_bytes, peak);
    model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_step_gives_same_bits_for_any_number_of_threads),
        cmocka_unit_test(large_products_give_same_bits_for_any_number_of_threads),
        cmocka_unit_test(warm_steps_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
