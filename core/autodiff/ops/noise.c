/* A channel of limited capacity, as in SPARLING's published package: normalises all elements together and adds Gaussian
 * noise.
 *
 * Each row of each channel is summed on its own, and these sums are always added in the same order. The noise is a
 * function of the element's position in the planes. So neither the number of threads nor the layout changes the
 * result. */
#include <math.h>
#include <string.h>

#include "core/autodiff/tape_int.h"
#include "core/base/random/philox.h"

struct noise_node {
    struct node node;
    struct tensor *x;
    double mean, scale; /* xhat = (x - mean) * scale, the normalised input */
    bool batch;         /* true: mean and scale come from the batch; false: from the running moments */
};

struct noise_task {
    const struct map_shape *shape;
    const real *x, *dy;
    real *y;
    double mean, scale, deviation;
    double *sums;     /* [images * channels][2] sums over each plane */
    double shares[2]; /* backward: [0] the mean of dy, [1] the mean of dy * xhat */
    uint64_t before;  /* number of planes in the samples of all lower ranks */
    struct philox from;
};

enum { NOISE_ROW = 512 };

static ptrdiff_t plane_row(const struct map_shape *s, int chunk, int row)
{
    int channel = chunk % s->channels;
    return map_offset(s, chunk / s->channels, channel / MAP_LANES, row, 0) + channel % MAP_LANES;
}

/* Without dy, computes the sums of x - mean and of its square; with dy, the sums of dy and of dy xhat. */
static void sums_task(void *context, int chunk, int worker)
{
    const struct noise_task *t = context;
    const struct map_shape *s = t->shape;
    double *sum = t->sums + 2 * (ptrdiff_t)chunk;
    sum[0] = sum[1] = 0.0;
    for (int row = 0; row < s->height; row++) {
        ptrdiff_t at = plane_row(s, chunk, row);
        double first = 0.0, second = 0.0;
        for (int col = 0; col < s->width; col++, at += MAP_LANES) {
            double x = (double)t->x[at] - t->mean;
            first += t->dy != NULL ? (double)t->dy[at] : x;
            second += t->dy != NULL ? (double)t->dy[at] * x * t->scale : x * x;
        }
        sum[0] += first;
        sum[1] += second;
    }
}

static void means(struct exec *e, struct noise_task *t, double out[2])
{
    const struct map_shape *s = t->shape;
    int chunks = s->images * s->channels;
    (void)op_run(e, sums_task, t, chunks);
    double count = op_total(e, (double)chunks * s->height * s->width);
    out[0] = out[1] = 0.0;
    for (int i = 0; i < chunks; i++)
        for (int j = 0; j < 2; j++)
            out[j] += t->sums[2 * i + j] / count;
    op_ranks_sum(e, out, 2);
}

/* Writes zeros to the padding lanes of the last block; only the task of the last channel does this. */
static void clear_padding(const struct noise_task *t, int chunk, int row)
{
    const struct map_shape *s = t->shape;
    int last = s->channels % MAP_LANES;
    if (chunk % s->channels != s->channels - 1 || last == 0)
        return;
    real *pixel = t->y + plane_row(s, chunk, row) + 1;
    for (int col = 0; col < s->width; col++, pixel += MAP_LANES)
        memset(pixel, 0, sizeof(real) * (size_t)(MAP_LANES - last));
}

static void noise_task(void *context, int chunk, int worker)
{
    const struct noise_task *t = context;
    const struct map_shape *s = t->shape;
    double normal[NOISE_ROW];
    for (int row = 0; row < s->height; row++) {
        ptrdiff_t at = plane_row(s, chunk, row);
        clear_padding(t, chunk, row);
        uint64_t index = ((t->before + (uint64_t)chunk) * (uint64_t)s->height + (uint64_t)row) * (uint64_t)s->width;
        for (int col = 0; col < s->width; col++, at += MAP_LANES) {
            if (col % NOISE_ROW == 0)
                philox_fill_normal(&t->from, index + (uint64_t)col, normal,
                                   (size_t)(s->width - col < NOISE_ROW ? s->width - col : NOISE_ROW));
            t->y[at] = (real)(((double)t->x[at] - t->mean) * t->scale + t->deviation * normal[col % NOISE_ROW]);
        }
    }
}

static void backward_task(void *context, int chunk, int worker)
{
    const struct noise_task *t = context;
    for (int row = 0; row < t->shape->height; row++) {
        ptrdiff_t at = plane_row(t->shape, chunk, row);
        for (int col = 0; col < t->shape->width; col++, at += MAP_LANES) {
            double normal = ((double)t->x[at] - t->mean) * t->scale;
            t->y[at] = (real)(t->scale * ((double)t->dy[at] - t->shares[0] - normal * t->shares[1]));
        }
    }
}

static void noise_backward(struct exec *e, struct node *node)
{
    struct noise_node *n = (struct noise_node *)node;
    const struct map_shape *s = &n->x->map;
    int chunks = s->images * s->channels;
    real *buffer = op_zeros(e, n->x->count);
    struct noise_task task = {.shape = s,
                              .x = n->x->data,
                              .dy = node->out->grad,
                              .y = buffer,
                              .mean = n->mean,
                              .scale = n->scale,
                              .sums = op_doubles(e, 2 * (size_t)chunks)};
    if (buffer == NULL || task.sums == NULL)
        return;
    if (n->batch)
        means(e, &task, task.shares);
    (void)op_run(e, backward_task, &task, chunks);
    grad_give(e, n->x, buffer);
}

/* In training, computes the moments of the batch and moves the running moments towards them. In evaluation, uses the
 * running moments. */
static void choose_moments(struct exec *e, struct batch_norm *norm, struct noise_node *n, struct noise_task *task)
{
    double count =
        op_total(e, (double)task->shape->images * task->shape->channels * task->shape->height * task->shape->width);
    n->batch = e->training && !norm->hold;
    n->mean = (double)norm->mean->value[0];
    double variance = (double)norm->variance->value[0], got[2];
    if (n->batch) {
        task->mean = 0.0;
        means(e, task, got);
        n->mean = task->mean = got[0];
        means(e, task, got);
        variance = got[1];
        double unbiased = count > 1.0 ? variance * count / (count - 1.0) : variance, m = norm->momentum;
        norm->mean->value[0] = (real)((1.0 - m) * (double)norm->mean->value[0] + m * n->mean);
        norm->variance->value[0] = (real)((1.0 - m) * (double)norm->variance->value[0] + m * unbiased);
    }
    n->scale = 1.0 / sqrt(variance + norm->epsilon);
}

struct tensor *op_noise(struct exec *e, struct tensor *x, struct batch_norm *norm, double deviation)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_MAP || norm->mean->count != 1 || norm->variance->count != 1) {
        op_fail(e, STATUS_INTERNAL, "noise: shapes do not fit");
        return NULL;
    }
    int chunks = x->map.images * x->map.channels;
    struct tensor *out = op_out_map(e, &x->map, x->wants_grad);
    struct noise_node *n = op_alloc(e, sizeof(*n));
    double *sums = op_doubles(e, 2 * (size_t)chunks);
    if (out == NULL || n == NULL || sums == NULL)
        return NULL;
    struct noise_task task = {.shape = &x->map,
                              .x = x->data,
                              .y = out->data,
                              .deviation = deviation,
                              .sums = sums,
                              .from = philox_stream(e->seed, op_stream(e), e->step)};
    task.before = op_before(e, (uint64_t)chunks);
    n->x = x;
    choose_moments(e, norm, n, &task);
    task.mean = n->mean;
    task.scale = n->scale;
    (void)op_run(e, noise_task, &task, chunks);
    return op_done(e, &n->node, "noise", noise_backward, out, since);
}
