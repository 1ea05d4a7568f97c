/* Batch norm over the positions of all images of a map, with optional ReLU.
 *
 * The backward pass recomputes the ReLU mask from x, scale and shift, so only x is stored. If the forward pass used the
 * statistics of the batch, the backward pass computes two sums first and then dx; with running statistics dx needs no
 * sums. If a convolution reads the result, its backward pass computes these two sums while it writes dy. dx replaces dy
 * in dy's buffer.
 *
 * A deferred batch norm only computes scale and shift; the convolution that follows (op_norm_conv) normalises its
 * input. */
#include <math.h>
#include <string.h>

#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

struct norm_node {
    struct node node;
    struct tensor *x;
    struct batch_norm *norm;
    bool relu;
    bool batch; /* normalised with the statistics of the batch, not with the running ones */
    int only;   /* index of the image that gets the gradient of the statistics, or NORM_ALL or NORM_ELSEWHERE */
    real *mean, *inv_std, *scale, *shift; /* each [padded] */
    /* sums that the backward pass needs; the convolution that reads the result may compute them */
    struct norm_sums sums;
};

struct norm_task {
    const struct kernels *kernels;
    struct map_split split;
    const struct map_shape *shape;
    struct norm_call norm;
    struct affine_call affine;
    const real *x, *dy;
    real *y, *dx;
    bool add;
    double *sums; /* [chunks][2][padded channels]. Forward pass: moments (moments_merge()). Backward pass: the sums that
                     the kernel norm_sums() computes */
    int only;     /* index of the image that gets the gradient of the statistics, as in norm_node */
};

static double *task_sums(const struct norm_task *task, int chunk)
{
    return task->sums + (size_t)chunk * 2 * (size_t)map_padded(task->shape->channels);
}

static void moments_task(void *context, int chunk, int worker)
{
    const struct norm_task *task = context;
    struct map_piece piece = map_piece(&task->split, task->shape, chunk);
    task->kernels->map_moments(map_blocks(task->shape->channels), piece.rows, task->shape->width,
                               map_strip_at(task->shape, task->x, piece.image, piece.row), task_sums(task, chunk));
}

static void affine_task(void *context, int chunk, int worker)
{
    const struct norm_task *task = context;
    struct map_piece piece = map_piece(&task->split, task->shape, chunk);
    struct affine_call call = task->affine;
    call.rows = piece.rows;
    call.x = map_strip_at(task->shape, task->x, piece.image, piece.row);
    call.y = map_strip_at(task->shape, task->y, piece.image, piece.row);
    task->kernels->map_affine(&call);
}

static struct norm_call norm_piece(const struct norm_task *task, int chunk)
{
    struct map_piece piece = map_piece(&task->split, task->shape, chunk);
    struct norm_call call = task->norm;
    call.rows = piece.rows;
    call.x = map_strip_at(task->shape, task->x, piece.image, piece.row);
    call.dy = map_strip_at(task->shape, task->dy, piece.image, piece.row);
    if (task->dx != NULL)
        call.dx = map_strip_at(task->shape, task->dx, piece.image, piece.row);
    if (task->add)
        call.add = call.dx;
    if (task->sums != NULL)
        call.sums = task_sums(task, chunk);
    return call;
}

static void sums_task(void *context, int chunk, int worker)
{
    const struct norm_task *task = context;
    struct norm_call call = norm_piece(task, chunk);
    task->kernels->norm_sums(&call);
}

static void dx_task(void *context, int chunk, int worker)
{
    const struct norm_task *task = context;
    struct norm_call call = norm_piece(task, chunk);
    if (task->only != NORM_ALL && map_piece(&task->split, task->shape, chunk).image != task->only)
        call.b = call.c = NULL;
    task->kernels->norm_backward(&call);
}

/* The number of positions in the whole batch, on all ranks. */
static double map_positions(const struct exec *e, const struct map_shape *s)
{
    return op_total(e, (double)s->images * s->height * s->width);
}

/* Merges the moments of all ranks in rank order. moments: [2][padded channels]. */
static bool merge_ranks(struct exec *e, double *moments, int64_t *count, int padded)
{
    size_t each = 2 * (size_t)padded + 1, ranks = (size_t)comm_size(e->comm);
    double *all = op_doubles(e, (ranks + 1) * each);
    if (all == NULL)
        return false;
    double *mine = all + ranks * each;
    memcpy(mine, moments, 2 * (size_t)padded * sizeof *mine);
    mine[2 * padded] = (double)*count;
    struct error err = {0};
    enum status status = comm_gather(e->comm, mine, each * sizeof *mine, all, &err);
    if (status != STATUS_OK) {
        op_fail(e, status, "%s", err.message);
        return false;
    }
    memset(moments, 0, 2 * (size_t)padded * sizeof *moments);
    *count = 0;
    for (size_t r = 0; r < ranks; r++) {
        const double *from = all + r * each;
        int64_t more = (int64_t)from[2 * padded];
        if (more > 0)
            moments_merge(moments, *count, from, more, padded);
        *count += more;
    }
    return true;
}

/* Returns the mean and the biased variance of each channel over the batch: [2][padded channels]. Merges the moments of
 * the map's pieces in the order of the pieces. */
static double *batch_statistics(struct exec *e, const struct tensor *x)
{
    int padded = map_padded(x->map.channels);
    struct norm_task task = {.kernels = e->kernels, .shape = &x->map, .x = x->data};
    task.split = map_split(&x->map, x->moments != NULL ? x->moment_pieces : 16);
    task.sums = x->moments;
    if (task.sums == NULL) {
        task.sums = op_doubles(e, (size_t)task.split.chunks * 2 * (size_t)padded);
        if (task.sums == NULL)
            return NULL;
        (void)op_run(e, moments_task, &task, task.split.chunks);
    }
    double *total = op_doubles(e, 2 * (size_t)padded);
    int64_t count = 0;
    for (int chunk = 0; total != NULL && chunk < task.split.chunks; chunk++) {
        struct map_piece piece = map_piece(&task.split, &x->map, chunk);
        int64_t pixels = (int64_t)piece.rows * x->map.width;
        moments_merge(total, count, task_sums(&task, chunk), pixels, padded);
        count += pixels;
    }
    if (total != NULL && op_ranked(e) && !merge_ranks(e, total, &count, padded))
        return NULL;
    for (int c = 0; total != NULL && c < padded; c++)
        total[padded + c] /= (double)count;
    return total;
}

static bool norm_statistics(struct exec *e, struct norm_node *n)
{
    const struct map_shape *shape = &n->x->map;
    struct batch_norm *norm = n->norm;
    int padded = map_padded(shape->channels);
    n->mean = op_zeros(e, 4 * (size_t)padded);
    double *batch = n->batch ? batch_statistics(e, n->x) : NULL;
    if (n->mean == NULL || (n->batch && batch == NULL))
        return false;
    n->inv_std = n->mean + padded;
    n->scale = n->inv_std + padded;
    n->shift = n->scale + padded;
    double positions = map_positions(e, shape), unbiased = positions > 1.0 ? positions / (positions - 1.0) : 1.0;
    for (int c = 0; c < shape->channels; c++) {
        double mean = n->batch ? batch[c] : (double)norm->mean->value[c];
        double variance = n->batch ? batch[padded + c] : (double)norm->variance->value[c];
        double inv_std = 1.0 / sqrt(variance + norm->epsilon);
        double gain = norm->gain == NULL ? 1.0 : (double)norm->gain->value[c];
        double bias = norm->bias == NULL ? 0.0 : (double)norm->bias->value[c];
        n->mean[c] = (real)mean;
        n->inv_std[c] = (real)inv_std;
        n->scale[c] = (real)(gain * inv_std);
        n->shift[c] = (real)(bias - mean * gain * inv_std);
        if (!n->batch)
            continue;
        real *running = norm->mean->value, *spread = norm->variance->value;
        running[c] = (real)((1.0 - norm->momentum) * (double)running[c] + norm->momentum * mean);
        spread[c] = (real)((1.0 - norm->momentum) * (double)spread[c] + norm->momentum * variance * unbiased);
    }
    return true;
}

/* Adds the chunks' sums to those of the first chunk, and computes the gradients of gain and bias. */
static void norm_collect(struct exec *e, struct norm_node *n, struct norm_task *task, int chunks)
{
    int padded = map_padded(task->shape->channels), channels = task->shape->channels;
    double *total = task->sums;
    for (int chunk = 1; chunk < chunks; chunk++)
        for (int i = 0; i < 2 * padded; i++)
            total[i] += task_sums(task, chunk)[i];
    bool add;
    real *dgain = weight_wants(e, n->norm->gain) ? weight_open(n->norm->gain, true, &add) : NULL;
    real *dbias = weight_wants(e, n->norm->bias) ? weight_open(n->norm->bias, true, &add) : NULL;
    for (int c = 0; c < channels; c++) {
        if (dgain != NULL)
            dgain[c] += (real)total[padded + c];
        if (dbias != NULL)
            dbias[c] += (real)total[c];
    }
}

static void norm_dx(struct exec *e, struct norm_node *n, struct norm_task *task)
{
    struct tensor *x = n->x, *out = n->node.out;
    double positions =
        n->only == NORM_ALL ? map_positions(e, task->shape) : (double)task->shape->height * task->shape->width;
    if (!norm_coefficients(e, task->shape->channels, n->batch, task->sums, positions, &task->norm))
        return;
    grad_fill(e, x);
    task->only = n->only;
    task->add = x->grad_ready;
    task->dx = x->grad_ready ? x->grad : out->grad;
    task->sums = NULL;
    (void)op_run(e, dx_task, task, task->split.chunks);
    if (!task->add)
        grad_pass(e, out, x);
}

static void norm_backward(struct exec *e, struct node *node)
{
    struct norm_node *n = (struct norm_node *)node;
    const struct map_shape *shape = &n->x->map;
    struct norm_back_region part = {n->x, node->out, n->norm, &n->sums.call, n->batch, n->only};
    if (node->out->where != NULL) {
        norm_backward_region(e, &part);
        return;
    }
    struct norm_task task = {.kernels = e->kernels,
                             .split = map_split(shape, 16),
                             .shape = shape,
                             .x = n->x->data,
                             .dy = node->out->grad,
                             .norm = n->sums.call};
    if (n->batch || weight_wants(e, n->norm->gain) || weight_wants(e, n->norm->bias)) {
        bool taken = n->sums.sums != NULL && n->sums.writers == 1;
        task.sums =
            taken ? n->sums.sums : op_doubles(e, (size_t)task.split.chunks * 2 * (size_t)map_padded(shape->channels));
        if (task.sums == NULL)
            return;
        if (!taken)
            (void)op_run(e, sums_task, &task, task.split.chunks);
        norm_collect(e, n, &task, taken ? n->sums.chunks : task.split.chunks);
    }
    if (n->x->wants_grad)
        norm_dx(e, n, &task);
}

static void norm_apply(struct exec *e, const struct norm_node *n, struct tensor *out)
{
    const struct tensor *x = n->x;
    struct norm_task task = {
        .kernels = e->kernels, .split = map_split(&x->map, 16), .shape = &x->map, .x = x->data, .y = out->data};
    task.affine = (struct affine_call){.blocks = map_blocks(x->map.channels),
                                       .width = x->map.width,
                                       .relu = n->relu,
                                       .scale = n->scale,
                                       .shift = n->shift};
    (void)op_run(e, affine_task, &task, task.split.chunks);
}

/* The image that gets the gradient of the statistics in this step. The images of the whole batch take turns. */
static int norm_image(const struct exec *e, int images)
{
    uint64_t first = op_before(e, (uint64_t)images), at = e->step % (uint64_t)op_total(e, images);
    return at >= first && at - first < (uint64_t)images ? (int)(at - first) : NORM_ELSEWHERE;
}

static struct tensor *norm_op(struct exec *e, struct tensor *x, struct batch_norm *norm, bool relu, bool deferred)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code != STATUS_OK)
        return NULL;
    if (x->kind != TENSOR_MAP || norm->mean->count != (size_t)x->map.channels) {
        op_fail(e, STATUS_INTERNAL, "batch norm: shapes do not fit");
        return NULL;
    }
    bool wants = x->wants_grad || weight_wants(e, norm->gain) || weight_wants(e, norm->bias);
    struct tensor *out = (deferred ? op_out_shape_only : op_out_map)(e, &x->map, wants);
    struct norm_node *n = op_alloc(e, sizeof(*n));
    if (out == NULL || n == NULL)
        return NULL;
    bool batch = e->training && !norm->hold;
    *n = (struct norm_node){.x = x, .norm = norm, .relu = relu, .batch = batch, .only = NORM_ALL};
    if (batch && e->hold)
        n->only = norm_image(e, x->map.images);
    n->node.regions = !batch || e->hold;
    if (!norm_statistics(e, n))
        return NULL;
    if (!deferred)
        norm_apply(e, n, out);
    n->sums.x = x;
    n->sums.call = (struct norm_call){.blocks = map_blocks(x->map.channels),
                                      .width = x->map.width,
                                      .relu = relu,
                                      .scale = n->scale,
                                      .shift = n->shift,
                                      .mean = n->mean,
                                      .inv_std = n->inv_std};
    if (deferred || batch || weight_wants(e, norm->gain) || weight_wants(e, norm->bias))
        out->norm = &n->sums;
    return op_done(e, &n->node, "batch_norm", norm_backward, out, since);
}

struct tensor *op_batch_norm(struct exec *e, struct tensor *x, struct batch_norm *norm, bool relu)
{
    return norm_op(e, x, norm, relu, false);
}

struct tensor *norm_deferred(struct exec *e, struct tensor *x, struct batch_norm *norm)
{
    return norm_op(e, x, norm, true, true);
}
