/* Builds graphs for gradient checks and compares the gradients of the backward pass with central differences. */
#include "tests/unit/core/gradient.h"

#include "tests/support/unit.h"
#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"
#include "core/base/random/philox.h"
#include "core/kernels/map.h"

enum { SAMPLED = 60 };
#define STEP_WIDTH 1e-5

void probe_open(struct probe *probe, int threads, const char *kernels)
{
    struct error err = {0};
    memset(probe, 0, sizeof(*probe));
    arena_init(&probe->arena, 1 << 20, 0);
    assert_int_equal(thread_pool_create(threads, &probe->pool, &err), STATUS_OK);
    assert_non_null(kernels_named(kernels));
    exec_init(&probe->exec, kernels_named(kernels), probe->pool, &probe->arena, 77);
}

void probe_close(struct probe *probe)
{
    for (int i = 0; i < probe->weight_count; i++) {
        free(probe->weights[i].value);
        free(probe->weights[i].grad);
    }
    for (int i = 0; i < probe->input_count; i++) {
        free(probe->inputs[i].value);
        free(probe->inputs[i].grad);
    }
    thread_pool_destroy(probe->pool);
    arena_close(&probe->arena);
}

void probe_fill(struct probe *probe, real *values, size_t count, double scale)
{
    struct philox from = philox_stream(4711, probe->drawn++, 0);
    for (size_t i = 0; i < count; i++)
        values[i] = (real)(scale * (2.0 * (double)philox_uniform(&from, i) - 1.0));
}

struct weight *probe_weight(struct probe *probe, int rank, const int *dim, double scale)
{
    assert_true(probe->weight_count < PROBE_WEIGHTS);
    struct weight *w = &probe->weights[probe->weight_count++];
    w->rank = rank;
    w->count = 1;
    for (int i = 0; i < rank; i++) {
        w->dim[i] = dim[i];
        w->count *= (size_t)dim[i];
    }
    w->value = calloc(w->count, sizeof(real));
    w->grad = calloc(w->count, sizeof(real));
    assert_non_null(w->value);
    assert_non_null(w->grad);
    probe_fill(probe, w->value, w->count, scale);
    probe_check_also(probe, w);
    return w;
}

struct weight *probe_vector(struct probe *probe, int count, double scale)
{
    return probe_weight(probe, 1, &count, scale);
}

struct weight *probe_matrix(struct probe *probe, int rows, int cols, double scale)
{
    return probe_weight(probe, 2, (int[]){rows, cols}, scale);
}

void probe_check_also(struct probe *probe, struct weight *weight)
{
    assert_true(probe->checked_count < PROBE_WEIGHTS);
    probe->checked[probe->checked_count++] = weight;
}

static int add_input(struct probe *probe, size_t count, double scale)
{
    assert_true(probe->input_count < PROBE_INPUTS);
    struct probe_input *in = &probe->inputs[probe->input_count];
    in->count = count;
    in->value = calloc(count, sizeof(real));
    in->grad = calloc(count, sizeof(real));
    assert_non_null(in->value);
    assert_non_null(in->grad);
    probe_fill(probe, in->value, count, scale);
    return probe->input_count++;
}

int probe_rows(struct probe *probe, int rows, int cols, double scale)
{
    int i = add_input(probe, (size_t)rows * (size_t)cols, scale);
    probe->inputs[i].rows = rows;
    probe->inputs[i].cols = cols;
    return i;
}

int probe_map(struct probe *probe, const struct map_shape *s, double scale)
{
    int i = add_input(probe, (size_t)s->images * (size_t)s->channels * (size_t)s->height * (size_t)s->width, scale);
    probe->inputs[i].map = true;
    probe->inputs[i].shape = *s;
    return i;
}

struct tensor *probe_input(struct probe *probe, int input)
{
    struct probe_input *in = &probe->inputs[input];
    in->tensor = in->map ? tensor_from_planes(&probe->exec, in->value, &in->shape, true)
                         : tensor_wrap_rows(&probe->exec, in->value, in->rows, in->cols, true);
    return in->tensor;
}

/* Returns the factor of element i of the result (in planar order) in the sum to which the probe reduces the result. */
static double coefficient(size_t i)
{
    struct philox from = philox_stream(815, 3, 0);
    return 2.0 * (double)philox_uniform(&from, i) - 1.0;
}

static size_t plain_count(const struct tensor *x)
{
    const struct map_shape *s = &x->map;
    return x->kind == TENSOR_ROWS ? x->count
                                  : (size_t)s->images * (size_t)s->channels * (size_t)s->height * (size_t)s->width;
}

static double weigh(const struct tensor *out)
{
    size_t count = plain_count(out);
    real *plain = calloc(count, sizeof(real));
    assert_non_null(plain);
    if (out->kind == TENSOR_MAP)
        tensor_to_planes(out, plain);
    else
        memcpy(plain, out->data, count * sizeof(real));
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += coefficient(i) * (double)plain[i];
    free(plain);
    return sum;
}

static real *seed_of(const struct tensor *out)
{
    size_t count = plain_count(out);
    real *plain = calloc(count, sizeof(real)), *seed = calloc(out->count, sizeof(real));
    assert_non_null(plain);
    assert_non_null(seed);
    for (size_t i = 0; i < count; i++)
        plain[i] = (real)coefficient(i);
    if (out->kind == TENSOR_MAP) {
        size_t image = count / (size_t)out->map.images;
        for (int n = 0; n < out->map.images; n++)
            map_from_planar(&out->map, plain + (size_t)n * image, seed, n);
    } else {
        memcpy(seed, plain, count * sizeof(real));
    }
    free(plain);
    return seed;
}

/* Checks that padding channels are zero. The next operation has zero weights for them, so no result would show an
 * error, but the norm of a gradient includes them. */
static void assert_padding_is_zero(const struct map_shape *s, const real *data, const char *what)
{
    int last = s->channels % MAP_LANES, block = s->channels / MAP_LANES;
    for (int image = 0; image < s->images && last > 0; image++)
        for (int row = 0; row < s->height; row++)
            for (int col = 0; col < s->width; col++)
                for (int lane = last; lane < MAP_LANES; lane++)
                    if (data[map_offset(s, image, block, row, col) + lane] != R(0.0))
                        fail_msg("%s: lane %d of the last block is not zero", what, lane);
}

static void check_padding(const struct probe *probe)
{
    for (const struct node *node = probe->exec.tape->last; node != NULL; node = node->before)
        if (node->out->kind == TENSOR_MAP && node->out->data != NULL)
            assert_padding_is_zero(&node->out->map, node->out->data, node->name);
}

static struct tensor *forward(struct probe *probe, probe_build *build, const void *context)
{
    struct error err = {0};
    exec_begin(&probe->exec, true, probe->step);
    struct tensor *out = build(probe, context);
    if (exec_status(&probe->exec, &err) != STATUS_OK)
        fail_msg("forward: %s", err.message);
    assert_non_null(out);
    return out;
}

/* Copies the gradient of a map to planes [image][channel][height][width]; zero outside the region where it is defined.
 */
static void grad_to_planes(const struct tensor *map, real *planes)
{
    const struct map_shape *s = &map->map;
    const struct region *where = map->where;
    size_t count = (size_t)s->images * (size_t)s->channels * (size_t)s->height * (size_t)s->width;
    memset(planes, 0, count * sizeof *planes);
    if (!map->grad_ready)
        return;
    struct tensor gradient = *map;
    real *whole = where != NULL ? malloc(count * sizeof *whole) : planes;
    assert_non_null(whole);
    gradient.data = map->grad;
    tensor_to_planes(&gradient, whole);
    for (int row = 0; where != NULL && row < s->images * s->height; row++)
        for (int c = 0; c < s->channels; c++) {
            ptrdiff_t at = (((ptrdiff_t)(row / s->height) * s->channels + c) * s->height + row % s->height) * s->width;
            for (int i = where->first[row]; i < where->first[row + 1]; i++) {
                int from = where->span[i].from, cols = where->span[i].to - from;
                memcpy(planes + at + from, whole + at + from, (size_t)cols * sizeof *planes);
            }
        }
    if (where != NULL)
        free(whole);
}

double probe_run(struct probe *probe, probe_build *build, const void *context)
{
    struct error err = {0};
    /* fills the gradients with values that the backward pass must overwrite */
    for (int i = 0; i < probe->checked_count; i++)
        for (size_t j = 0; j < probe->checked[i]->count; j++) {
            probe->checked[i]->grad[j] = R(1e6);
            probe->checked[i]->grad_ready = false;
        }
    struct tensor *out = forward(probe, build, context);
    check_padding(probe);
    double value = weigh(out);
    real *seed = seed_of(out);
    if (tape_backward(&probe->exec, out, seed, &err) != STATUS_OK)
        fail_msg("backward: %s", err.message);
    free(seed);
    for (int i = 0; i < probe->input_count; i++) {
        struct probe_input *in = &probe->inputs[i];
        if (in->map) {
            grad_to_planes(in->tensor, in->grad);
            if (in->tensor->grad_ready && in->tensor->where == NULL)
                assert_padding_is_zero(&in->shape, in->tensor->grad, "gradient");
        } else if (in->tensor->grad_ready) {
            memcpy(in->grad, in->tensor->grad, in->count * sizeof(real));
        } else {
            memset(in->grad, 0, in->count * sizeof(real));
        }
    }
    return value;
}

static double difference(struct probe *probe, probe_build *build, const void *context, real *x)
{
    real before = *x;
    double width = STEP_WIDTH;
    *x = (real)((double)before + width);
    double above = weigh(forward(probe, build, context));
    *x = (real)((double)before - width);
    double below = weigh(forward(probe, build, context));
    *x = before;
    return (above - below) / (2.0 * width);
}

static void check_array(struct probe *probe, probe_build *build, const void *context, real *value, const real *grad,
                        size_t count, double tolerance, const char *what, int which)
{
    double largest = 1e-3; /* an array without a larger gradient is compared relative to this number */
    for (size_t i = 0; i < count; i++)
        largest = fabs((double)grad[i]) > largest ? fabs((double)grad[i]) : largest;
    size_t stride = count > SAMPLED ? count / SAMPLED : 1;
    for (size_t i = 0; i < count; i += stride) {
        double wanted = difference(probe, build, context, value + i), got = (double)grad[i];
        double error = fabs(wanted - got) / largest;
        if (error > probe->error)
            probe->error = error;
        if (!(error <= tolerance))
            fail_msg("%s %d, element %zu: gradient %.12g, central difference %.12g", what, which, i, got, wanted);
    }
}

void probe_check(struct probe *probe, probe_build *build, const void *context, double tolerance)
{
    probe_run(probe, build, context);
    size_t total = 0;
    for (int i = 0; i < probe->checked_count; i++)
        total += probe->checked[i]->count;
    real *grads = calloc(total + 1, sizeof(real)), *at = grads;
    assert_non_null(grads);
    for (int i = 0; i < probe->checked_count; i++) {
        assert_true(probe->checked[i]->grad_ready);
        memcpy(at, probe->checked[i]->grad, probe->checked[i]->count * sizeof(real));
        at += probe->checked[i]->count;
    }
    at = grads;
    for (int i = 0; i < probe->checked_count; i++) {
        check_array(probe, build, context, probe->checked[i]->value, at, probe->checked[i]->count, tolerance, "weight",
                    i);
        at += probe->checked[i]->count;
    }
    for (int i = 0; i < probe->input_count; i++)
        check_array(probe, build, context, probe->inputs[i].value, probe->inputs[i].grad, probe->inputs[i].count,
                    tolerance, "input", i);
    free(grads);
}
