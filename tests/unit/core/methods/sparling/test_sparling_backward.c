/* Compares the gradients of the sparse backward pass (patches around motifs) with those of the dense backward pass over
 * the whole network, for each table of kernels and several numbers of threads. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/kernels/blas.h"
#include "core/methods/sparling/training/batch.h"
#include "core/methods/sparling/model/network.h"

enum { BATCH = 3 };

static const struct config_setting base[] = {
    {"image_size", "44"}, {"classes", "4"},       {"min_symbols", "1"}, {"max_symbols", "3"}, {"shift", "1"},
    {"min_radius", "6"},  {"units", "2"},         {"motifs", "5"},      {"channels", "16"},   {"layers", "1"},
    {"heads", "2"},       {"feed_forward", "32"}, {"dropout", "0"},     {"momentum", "0"},    {NULL, NULL}};

struct model {
    struct sparling_config config;
    struct network *network;
    struct thread_pool *pool;
    struct arena arena;
    struct exec exec;
    struct open_domain domain;
    struct batch_source *source;
    const struct batch *batch;
};

/* Opens a model. Its backward pass sends the gradient of the batch statistics through one sample (exec.hold). */
static void open_model(struct model *m, const struct config_setting *more, const char *kernels, int threads)
{
    struct error err = {0};
    struct batch_request request = {.seed = 7, .count = BATCH};
    memset(m, 0, sizeof *m);
    assert_int_equal(config_defaults(&sparling_config_table, &m->config, &err), STATUS_OK);
    assert_int_equal(config_apply(&sparling_config_table, &m->config, base, &err), STATUS_OK);
    assert_int_equal(config_apply(&sparling_config_table, &m->config, more, &err), STATUS_OK);
    assert_int_equal(network_create(&m->config, true, NULL, &m->network, &err), STATUS_OK);
    assert_int_equal(thread_pool_create(threads, &m->pool, &err), STATUS_OK);
    assert_int_equal(domain_open(&m->config, NULL, &m->domain, &err), STATUS_OK);
    assert_int_equal(batch_source_create(&m->domain, BATCH, &m->source, &err), STATUS_OK);
    assert_int_equal(batch_source_take(m->source, &request, NULL, &m->batch, &err), STATUS_OK);
    arena_init(&m->arena, 1 << 20, 0);
    exec_init(&m->exec, kernels_named(kernels), m->pool, &m->arena, 1);
    m->exec.hold = true;
}

static void close_model(struct model *m)
{
    batch_source_destroy(m->source);
    domain_close(&m->domain);
    network_destroy(m->network);
    arena_close(&m->arena);
    thread_pool_destroy(m->pool);
}

/* Writes all gradients one after another to the caller's memory. Returns the loss. */
static double gradients(struct model *m, enum exec_sparse sparse, double density, real *to)
{
    struct error err = {0};
    struct exec *e = &m->exec;
    params_begin_step(m->network->params);
    e->sparse = sparse;
    exec_begin(e, true, 1);
    struct tensor *motifs = network_motifs(e, m->network, m->batch->images, BATCH, density);
    struct network_memory memory = network_memory(e, m->network, motifs);
    struct tensor *logits = network_logits(e, m->network, &memory, m->batch->inputs, BATCH, m->batch->length);
    struct tensor *loss = op_cross_entropy(e, logits, m->batch->targets);
    assert_non_null(loss);
    double value = (double)loss->data[0];
    assert_int_equal(tape_backward(e, loss, NULL, &err), STATUS_OK);
    for (size_t i = 0; i < params_arrays(m->network->params); i++) {
        const struct weight *w = params_array(m->network->params, i);
        assert_true(w->grad_ready);
        memcpy(to, w->grad, w->count * sizeof *to);
        to += w->count;
    }
    return value;
}

static void compare(const struct model *m, const real *dense, const real *sparse, const char *mode)
{
    double before = 0;
    for (size_t i = 0; i < params_arrays(m->network->params); i++) {
        const struct weight *w = params_array(m->network->params, i);
        double size = 0, off = 0;
        for (size_t j = 0; j < w->count; j++) {
            double d = (double)dense[j], s = (double)sparse[j];
            size += d * d;
            off += (d - s) * (d - s);
        }
        const char *name = params_name(m->network->params, i);
        double tolerance = 1e-5;
        bool bias = strncmp(name, "g.", 2) == 0 && strstr(name, ".bias");
        /* The next batch norm cancels most of this gradient, so rounding errors are large relative to it. The test
         * therefore relates them to the larger one of two gradients: this one and that of the previous array. */
        if (bias || strcmp(name, "g.first.weight") == 0) {
            size = fmax(size, before);
            tolerance = 5e-5;
        }
        before = size;
        if (!(sqrt(off) <= tolerance * sqrt(size) + 1e-12))
            fail_msg("%s, %s, %s: off by %.3g of %.3g", m->exec.kernels->name, mode, name, sqrt(off), sqrt(size));
        dense += w->count;
        sparse += w->count;
    }
}

/* Rounding to bf16 changes loss and gradients slightly. The results have the same bits for any number of threads. */
static void bf16_changes_gradients_only_slightly(void **state)
{
    static const struct config_setting more[] = {{"precision", "bf16"}, {NULL, NULL}};
    static const double density = 2e-3;
    struct model m;
    open_model(&m, more, kernels_best()->name, 1);
    size_t count = (size_t)params_count(m.network->params), bytes = count * sizeof(real);
    real *plain = malloc(bytes), *rounded = malloc(bytes), *again = malloc(bytes);
    assert_true(plain && rounded && again);
    double wanted = gradients(&m, EXEC_DENSE, density, plain), size = 0, off = 0;
    m.exec.bf16 = true;
    double got = gradients(&m, EXEC_DENSE, density, rounded);
    assert_true(got != wanted && fabs(got - wanted) < 0.01 * wanted);
    for (size_t i = 0; i < count; i++) {
        double d = (double)plain[i] - (double)rounded[i];
        size += (double)plain[i] * (double)plain[i];
        off += d * d;
    }
    assert_true(off > 0 && sqrt(off) < 0.03 * sqrt(size));
    struct thread_pool *one = m.pool;
    assert_int_equal(thread_pool_create(3, &m.exec.pool, NULL), STATUS_OK);
    assert_true(gradients(&m, EXEC_DENSE, density, again) == got);
    assert_memory_equal(rounded, again, bytes);
    thread_pool_destroy(m.exec.pool);
    m.exec.pool = one;
    free(plain);
    free(rounded);
    free(again);
    close_model(&m);
}

/* Tests the kernel tables from index `first` of `tables` on. Tests of wide networks leave out the table "ref", which is
 * slow. */
static void check(const struct config_setting *more, double density, bool threads, int first)
{
    static const char *const tables[] = {"ref", "avx2", "avx512"};
    for (int t = first; t < 3; t++) {
        struct model m;
        if (kernels_named(tables[t]) == NULL)
            continue;
        open_model(&m, more, tables[t], 1);
        size_t count = (size_t)params_count(m.network->params), bytes = count * sizeof(real);
        real *dense = malloc(bytes), *sparse = malloc(bytes), *again = malloc(bytes);
        assert_true(dense && sparse && again);
        double wanted = gradients(&m, EXEC_DENSE, density, dense);
        for (int mode = EXEC_SPARSE; mode <= EXEC_SPARSE_AUTO; mode++) {
            double got = gradients(&m, (enum exec_sparse)mode, density, sparse);
            assert_true(got == wanted);
            compare(&m, dense, sparse, mode == EXEC_SPARSE ? "sparse" : "auto");
            if (!threads)
                continue;
            struct thread_pool *one = m.pool;
            assert_int_equal(thread_pool_create(3, &m.pool, NULL), STATUS_OK);
            m.exec.pool = m.pool;
            gradients(&m, (enum exec_sparse)mode, density, again);
            assert_memory_equal(sparse, again, bytes);
            thread_pool_destroy(m.pool);
            m.exec.pool = m.pool = one;
        }
        free(dense);
        free(sparse);
        free(again);
        close_model(&m);
    }
}

static void sparse_backward_gives_same_gradients(void **state)
{
    static const double densities[] = {1e-9, 3e-4, 2e-3, 2e-2};
    for (int i = 0; i < 4; i++) {
        check((const struct config_setting[]){{"width", "16"}, {NULL, NULL}}, densities[i], i == 2, i % 2);
        check((const struct config_setting[]){{"width", "20"},
                                              {"embed_order", "pool-then-embed"},
                                              {"attend", "active"},
                                              {"batch_norm", "plain"},
                                              {"lstm", "false"},
                                              {NULL, NULL}},
              densities[i], false, i < 3);
    }
    check((const struct config_setting[]){{"width", "16"}, {"stride", "3"}, {"first_window", "3"}, {NULL, NULL}}, 2e-3,
          true, 0);
    check((const struct config_setting[]){{"width", "64"}, {"sparsity", "single"}, {NULL, NULL}}, 1e-3, false, 1);
    check((const struct config_setting[]){{"width", "8"}, {"motifs", "1"}, {"batch_norm", "none"}, {NULL, NULL}}, 1e-3,
          true, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sparse_backward_gives_same_gradients),
                                       cmocka_unit_test(bf16_changes_gradients_only_slightly)};
    blas_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
