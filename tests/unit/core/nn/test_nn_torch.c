/* Compares a complete training step of a small network with PyTorch, for post-norm and pre-norm: thresholds, logits,
 * loss, every gradient, every array after one step of Adam, running statistics.
 *
 * tests/reproduce/torch_step.py wrote the two files and describes the network. This program is built twice: in double
 * precision, where it must agree with the files to their last digit, and in float, for each kernel table. Arguments:
 * the files, post-norm first. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/nn/adam.h"
#include "core/nn/sparse.h"
#include "core/nn/transformer.h"

enum {
    IMAGES = 3,
    SIZE = 20,
    WIDTH = 6,
    UNITS = 2,
    MOTIFS = 5,
    POOL = 4,
    GRID = SIZE / POOL,
    CELLS = GRID * GRID,
    CHANNELS = 8,
    HEADS = 2,
    FEED = 12,
    LAYERS = 2,
    TOKENS = 7,
    LENGTH = 5
};
#define DENSITY 0.3
#define RATE 1e-3
#ifdef MOTIF_REAL_DOUBLE
#define TOLERANCE 3e-7 /* in double precision, the limit is the precision of the files, which contain floats */
static const char *const tables[] = {"ref"};
#else
#define TOLERANCE 1e-4
static const char *const tables[] = {"ref", "avx2", "avx512"};
#endif

static const char *const *files;

/* --- the file ----------------------------------------------------------------------------------- */

struct fixture {
    char *bytes;
    size_t size, count;
    struct snapshot_entry *entries;
};

static enum status read_bytes(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct fixture *f = context;
    if (offset > f->size || count > f->size - offset)
        return error_set(err, STATUS_CORRUPT, NULL, "the file is too short");
    memcpy(bytes, f->bytes + offset, count);
    return STATUS_OK;
}

static void fixture_open(struct fixture *f, const char *path)
{
    struct error err = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    f->size = (size_t)ftell(file);
    rewind(file);
    f->bytes = malloc(f->size);
    assert_non_null(f->bytes);
    assert_int_equal(fread(f->bytes, 1, f->size, file), f->size);
    fclose(file);
    struct snapshot_reader reader = {f, f->size, read_bytes};
    if (snapshot_contents(&reader, &f->entries, &f->count, &err) != STATUS_OK)
        fail_msg("%s: %s", path, err.message);
}

static void fixture_close(struct fixture *f)
{
    free(f->entries);
    free(f->bytes);
}

/* Returns the values of entry KIND.NAME, which the fixture owns. If there is no such entry: NULL, and *count is 0. */
static const float *fixture_find(const struct fixture *f, const char *kind, const char *name, size_t *count)
{
    char full[2 * SNAPSHOT_NAME];
    snprintf(full, sizeof(full), "%s.%s", kind, name);
    *count = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (strcmp(f->entries[i].name, full) != 0)
            continue;
        *count = f->entries[i].bytes / sizeof(float);
        return (const float *)(const void *)(f->bytes + f->entries[i].offset);
    }
    return NULL;
}

static const float *fixture_get(const struct fixture *f, const char *kind, const char *name, size_t count)
{
    size_t found;
    const float *values = fixture_find(f, kind, name, &found);
    if (values == NULL || found != count)
        fail_msg("%s.%s: %zu values in the file, %zu wanted", kind, name, found, count);
    return values;
}

/* --- the network -------------------------------------------------------------------------------- */

struct network {
    struct params *params;
    struct sparse *sparse;
    struct adam *adam;
    struct conv first, last, embed;
    struct residual_unit units[UNITS];
    struct batch_norm norm;
    struct bilstm rows;
    struct encoder encoder;
    struct decoder decoder;
    struct weight *tokens;
    struct linear out;
    real table[GRID * CHANNELS];
    struct weight positions;
};

static void network_open(struct network *n, bool pre)
{
    struct error err = {0};
    static const char *const units[UNITS] = {"units.0", "units.1"};
    assert_int_equal(params_create(&n->params, &err), STATUS_OK);
    conv_layer_build(&n->first, n->params, "first", 1, WIDTH, 1, 1);
    for (int i = 0; i < UNITS; i++)
        residual_unit_build(&n->units[i], n->params, units[i], WIDTH, 3, 3);
    conv_layer_build(&n->last, n->params, "last", WIDTH, MOTIFS, 1, 1);
    batch_norm_build(&n->norm, n->params, "norm", MOTIFS, true);
    struct sparse_config sparse = {.mode = SPARSE_PER_CHANNEL, .channels = MOTIFS, .momentum = 0.9};
    assert_int_equal(sparse_create(&n->sparse, n->params, "sparse", &sparse, &err), STATUS_OK);
    conv_layer_build(&n->embed, n->params, "embed", MOTIFS, CHANNELS, 1, 1);
    bilstm_build(&n->rows, n->params, "rows", CHANNELS, CHANNELS / 2);
    struct transformer_config stack = {.width = CHANNELS,
                                       .heads = HEADS,
                                       .feed_forward = FEED,
                                       .layers = LAYERS,
                                       .norm = pre ? TRANSFORMER_PRE_NORM : TRANSFORMER_POST_NORM,
                                       .dropout = 0.0};
    encoder_build(&n->encoder, n->params, "encoder", &stack);
    decoder_build(&n->decoder, n->params, "decoder", &stack);
    n->tokens = embedding_build(n->params, "tokens", TOKENS, CHANNELS);
    linear_build(&n->out, n->params, "out", NULL, CHANNELS, TOKENS);
    if (params_seal(n->params, true, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    params_init(n->params, 1, NULL);
    assert_int_equal(adam_create(n->params, &ADAM_DEFAULT, &n->adam, &err), STATUS_OK);
    positions_sine(n->table, GRID, CHANNELS);
    n->positions = weight_constant(n->table, GRID, CHANNELS);
}

static void network_close(struct network *n)
{
    adam_destroy(n->adam);
    sparse_destroy(n->sparse);
    params_destroy(n->params);
}

static void network_load(struct network *n, const struct fixture *f)
{
    for (size_t i = 0; i < params_arrays(n->params); i++) {
        struct weight *w = params_array(n->params, i);
        const float *values = fixture_get(f, "value", params_name(n->params, i), w->count);
        for (size_t j = 0; j < w->count; j++)
            w->value[j] = (real)values[j];
    }
}

static struct tensor *network_logits(struct network *n, struct exec *e, const real *images, const int32_t *tokens)
{
    struct tensor *x = op_conv_planar(e, images, IMAGES, 1, SIZE, SIZE, 1, n->first.w, n->first.b);
    for (int i = 0; i < UNITS; i++)
        x = residual_unit_forward(e, &n->units[i], x);
    x = op_batch_norm(e, conv_layer_forward(e, &n->last, x, NULL), &n->norm, false);
    x = sparse_forward(e, n->sparse, x, DENSITY, false);
    x = op_embed_max_pool(e, x, n->embed.w, n->embed.b, POOL, POOL);
    x = bilstm_forward(e, &n->rows, x, IMAGES * GRID, GRID);
    x = op_add_rows(e, x, &n->positions, GRID, GRID, 0.0);
    x = encoder_forward(e, &n->encoder, x, IMAGES, CELLS, NULL);
    struct tensor *y =
        op_add_rows(e, op_embedding(e, tokens, IMAGES * LENGTH, n->tokens), &n->positions, 1, LENGTH, 0.0);
    y = decoder_forward(e, &n->decoder, y, x, IMAGES, LENGTH, CELLS, NULL);
    return linear_forward(e, &n->out, y, false, 0.0);
}

/* --- the step ----------------------------------------------------------------------------------- */

/* Checks that values differ by at most TOLERANCE times the largest expected value, or TOLERANCE times `least` if that
 * is larger. */
static void compare(const char *kind, const char *name, const real *got, const float *wanted, size_t count,
                    double least)
{
    double largest = least;
    for (size_t i = 0; i < count; i++)
        largest = fabs((double)wanted[i]) > largest ? fabs((double)wanted[i]) : largest;
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)wanted[i]) <= TOLERANCE * largest))
            fail_msg("%s of %s, element %zu: %.9g, PyTorch %.9g", kind, name, i, (double)got[i], (double)wanted[i]);
}

static void compare_state(struct network *n, const struct fixture *f, const char *name, const char *entry)
{
    struct weight *w = params_find(n->params, name);
    assert_non_null(w);
    compare("state", name, w->value, fixture_get(f, "result", entry, w->count), w->count, 0.0);
}

/* Compares the changes that Adam makes to the weights. A weight with a nearly zero gradient (such as a bias before a
 * batch norm) changes by noise in float. The float build therefore skips gradients below 1e-5. */
static size_t compare_updates(struct network *n, const struct fixture *f)
{
    size_t compared = 0;
    for (size_t i = 0; i < params_arrays(n->params); i++) {
        const struct weight *w = params_array(n->params, i);
        const char *name = params_name(n->params, i);
        const float *grad = fixture_get(f, "grad", name, w->count), *before = fixture_get(f, "value", name, w->count);
        const float *after = fixture_get(f, "after", name, w->count);
        for (size_t j = 0; j < w->count; j++) {
            if (sizeof(real) == sizeof(float) && fabsf(grad[j]) < 1e-5f)
                continue;
            double wanted = (double)after[j] - (double)before[j], got = (double)w->value[j] - (double)before[j];
            if (!(fabs(wanted - got) <= 0.01 * RATE + 2e-7 * fabs((double)before[j])))
                fail_msg("update of %s, element %zu: %.9g, PyTorch %.9g", name, j, got, wanted);
            compared++;
        }
    }
    return compared;
}

static void compare_step(struct network *n, struct exec *e, const struct fixture *f, bool pre)
{
    struct error err = {0};
    real images[IMAGES * SIZE * SIZE];
    int32_t tokens[IMAGES * LENGTH], targets[IMAGES * LENGTH];
    const float *from = fixture_get(f, "input", "images", IMAGES * SIZE * SIZE);
    for (int i = 0; i < IMAGES * SIZE * SIZE; i++)
        images[i] = (real)from[i];
    for (int i = 0; i < IMAGES * LENGTH; i++) {
        tokens[i] = (int32_t)fixture_get(f, "input", "tokens", IMAGES * LENGTH)[i];
        targets[i] = (int32_t)fixture_get(f, "input", "targets", IMAGES * LENGTH)[i];
    }
    exec_begin(e, true, 0);
    params_begin_step(n->params);
    struct tensor *logits = network_logits(n, e, images, tokens);
    struct tensor *loss = op_cross_entropy(e, logits, targets);
    if (tape_backward(e, loss, NULL, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    compare("values", "logits", logits->data, fixture_get(f, "result", "logits", logits->count), logits->count, 0.0);
    compare("value", "loss", loss->data, fixture_get(f, "result", "loss", 1), 1, 0.0);
    compare_state(n, f, "sparse.threshold", "threshold");
    compare_state(n, f, "units.0.norm2.running_mean", "running_mean");
    compare_state(n, f, "units.0.norm2.running_var", "running_var");
    for (size_t i = 0; i < params_arrays(n->params); i++) {
        const struct weight *w = params_array(n->params, i);
        const char *name = params_name(n->params, i);
        assert_true(w->grad_ready);
        compare("gradient", name, w->grad, fixture_get(f, "grad", name, w->count), w->count, 1e-2);
    }
    assert_int_equal(adam_step(n->adam, e, RATE, NULL, &err), STATUS_OK);
    if (!pre)
        assert_true(compare_updates(n, f) > 3000);
}

static void step(const char *path, bool pre)
{
    struct fixture f;
    fixture_open(&f, path);
    size_t runs = 0;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        struct error err = {0};
        const struct kernels *kernels = kernels_named(tables[i]);
        if (kernels == NULL)
            continue;
        runs++;
        struct arena arena;
        struct thread_pool *pool;
        struct exec exec;
        struct network n;
        arena_init(&arena, 1 << 20, 0);
        assert_int_equal(thread_pool_create(2, &pool, &err), STATUS_OK);
        exec_init(&exec, kernels, pool, &arena, 5);
        network_open(&n, pre);
        network_load(&n, &f);
        compare_step(&n, &exec, &f, pre);
        network_close(&n);
        thread_pool_destroy(pool);
        arena_close(&arena);
    }
    assert_true(runs > 0);
    fixture_close(&f);
}

static void post_norm_step_matches_pytorch(void **state)
{
    step(files[0], false);
}

static void pre_norm_step_matches_pytorch(void **state)
{
    step(files[1], true);
}

/* The file contains every array of the network and nothing else. */
static void network_and_file_have_the_same_arrays(void **state)
{
    struct fixture f;
    struct network n;
    fixture_open(&f, files[1]);
    network_open(&n, true);
    size_t arrays = 0, count;
    for (size_t i = 0; i < f.count; i++)
        arrays += strncmp(f.entries[i].name, "value.", 6) == 0;
    assert_int_equal(arrays, params_arrays(n.params));
    for (size_t i = 0; i < params_arrays(n.params); i++)
        assert_non_null(fixture_find(&f, "value", params_name(n.params, i), &count));
    network_close(&n);
    fixture_close(&f);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    files = (const char *const *)argv + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(network_and_file_have_the_same_arrays),
        cmocka_unit_test(post_norm_step_matches_pytorch),
        cmocka_unit_test(pre_norm_step_matches_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
