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

/* ---- gradients inside a region ---- */

/* The backward pass of a batch norm (and ReLU) whose result has a gradient only inside a region. The norm treats each
 * position on its own, so the gradient of the input is inside the same region. The only exception is the gradient
 * through the batch's statistics, which reaches every position of one image. */

/* Special values of the member `only` of norm_back_region. NORM_ALL: every image gets the gradient of the batch's
 * statistics. NORM_ELSEWHERE: one image of another rank gets it. */
enum { NORM_ALL = -1, NORM_ELSEWHERE = -2 };

/* norm_backward_region() runs the backward pass of a batch norm over the region out->where. With `batch`, the forward
 * pass used the statistics of the batch. The gradient through these statistics goes to the image `only`, so the input's
 * gradient covers that whole image too. The function reads the members scale, shift, mean, inv_std, blocks and relu of
 * *call. */
struct norm_back_region {
    struct tensor *x, *out;
    const struct batch_norm *norm;
    const struct norm_call *call;
    bool batch;
    int only;
};

/* Sets the coefficients of dx = a dy' + b (x - mean) + c in *call. sums: [2][padded channels], the sums of dy' and
 * of dy' xhat over this rank's positions; the function replaces them by the sums over all ranks. positions: number
 * of positions over which the gradient of the statistics is spread. Without `batch`, b and c are NULL. Returns false
 * after a failure. */
static bool norm_coefficients(struct exec *e, int channels, bool batch, double *sums, double positions,
                              struct norm_call *call)
{
    size_t padded = (size_t)map_padded(channels);
    call->a = call->scale;
    call->b = call->c = NULL;
    if (!batch)
        return true;
    if (!op_ranks_sum(e, sums, 2 * padded))
        return false;
    real *b = op_zeros(e, 2 * padded);
    if (b == NULL)
        return false;
    real *c = b + padded;
    for (int i = 0; i < channels; i++) {
        double scale = (double)call->scale[i];
        b[i] = (real)(-scale * (double)call->inv_std[i] * sums[padded + (size_t)i] / positions);
        c[i] = (real)(-scale * sums[i] / positions);
    }
    call->b = b;
    call->c = c;
    return true;
}

enum { PIECE = 512, PIECES = 8 };

struct norm_region_task {
    const struct kernels *kernels;
    const struct norm_back_region *norm;
    const struct region *region;
    struct region_cut cut;
    struct norm_call call;
    real *dx;
    bool add;
    /* sums: [pieces][2][padded channels]; the total goes to piece 0. room: [workers][2][padded channels] */
    double *sums, *room;
};

static struct norm_call box_call(const struct norm_region_task *t, const struct box *box)
{
    const struct tensor *x = t->norm->x, *out = t->norm->out;
    struct norm_call call = t->call;
    call.rows = box->rows;
    call.width = box->cols;
    call.x = region_strip(&x->map, x->data, box);
    call.dy = region_strip(&x->map, out->grad, box);
    return call;
}

static void region_sums_task(void *context, int piece, int worker)
{
    const struct norm_region_task *t = context;
    size_t count = 2 * (size_t)map_padded(t->norm->x->map.channels);
    for (int i = t->cut.cut[piece]; i < t->cut.cut[piece + 1]; i++) {
        struct norm_call call = box_call(t, &t->region->box[i]);
        call.sums = t->room + (size_t)worker * count;
        t->kernels->norm_sums(&call);
        for (size_t j = 0; j < count; j++)
            t->sums[(size_t)piece * count + j] += call.sums[j];
    }
}

static void region_dx_task(void *context, int piece, int worker)
{
    const struct norm_region_task *t = context;
    for (int i = t->cut.cut[piece]; i < t->cut.cut[piece + 1]; i++) {
        const struct box *box = &t->region->box[i];
        struct norm_call call = box_call(t, box);
        if (box->image != t->norm->only)
            call.b = call.c = NULL;
        call.dx = region_strip(&t->norm->x->map, t->dx, box);
        if (t->add)
            call.add = call.dx;
        t->kernels->norm_backward(&call);
    }
}

/* Computes the sums over the region and the gradients of gain and bias. False after a failure. */
static bool take_sums(struct exec *e, struct norm_region_task *t)
{
    const struct batch_norm *norm = t->norm->norm;
    int channels = t->norm->x->map.channels, padded = map_padded(channels);
    size_t count = 2 * (size_t)padded;
    t->sums = op_doubles(e, (size_t)t->cut.pieces * count);
    t->room = op_doubles(e, (size_t)thread_pool_threads(e->pool) * count);
    if (t->sums == NULL || t->room == NULL)
        return false;
    (void)op_run(e, region_sums_task, t, t->cut.pieces);
    for (int piece = 1; piece < t->cut.pieces; piece++)
        for (size_t i = 0; i < count; i++)
            t->sums[i] += t->sums[(size_t)piece * count + i];
    bool add;
    real *dgain = weight_wants(e, norm->gain) ? weight_open(norm->gain, true, &add) : NULL;
    real *dbias = weight_wants(e, norm->bias) ? weight_open(norm->bias, true, &add) : NULL;
    for (int c = 0; c < channels; c++) {
        if (dgain != NULL)
            dgain[c] += (real)t->sums[padded + c];
        if (dbias != NULL)
            dbias[c] += (real)t->sums[c];
    }
    return true;
}

/* Returns the region of the result's gradient, joined with the whole image n->only: the gradient through the batch's
 * statistics reaches every position of this image. Sets the gradient to 0 at the added positions. NULL after a
 * failure. */
static struct region *with_image(struct exec *e, const struct norm_back_region *n)
{
    struct tensor *out = n->out;
    struct region *wide = region_unite(e, out->where, region_image(e, &out->map, n->only));
    if (wide != NULL)
        region_clear(e, &out->map, out->grad, wide, out->where);
    return wide;
}

static void norm_backward_region(struct exec *e, const struct norm_back_region *n)
{
    struct tensor *x = n->x, *out = n->out;
    const struct map_shape *shape = &x->map;
    struct norm_region_task task = {.kernels = e->kernels, .norm = n, .region = out->where, .call = *n->call};
    bool into = x->grad_ready;
    task.cut = region_cut(e, task.region, PIECE, PIECES);
    if (task.cut.cut == NULL)
        return;
    if ((n->batch || weight_wants(e, n->norm->gain) || weight_wants(e, n->norm->bias)) && !take_sums(e, &task))
        return;
    if (!x->wants_grad ||
        !norm_coefficients(e, shape->channels, n->batch, task.sums, (double)shape->height * shape->width, &task.call))
        return;
    if (n->batch && n->only != NORM_ELSEWHERE) {
        out->where = with_image(e, n);
        task.region = out->where;
        task.cut = task.region == NULL ? task.cut : region_cut(e, task.region, PIECE, PIECES);
        if (task.region == NULL || task.cut.cut == NULL)
            return;
    }
    task.dx = into ? grad_open_region(e, x, out->where, &task.add) : out->grad;
    if (task.dx == NULL)
        return;
    (void)op_run(e, region_dx_task, &task, task.cut.pieces);
    if (!into)
        grad_pass(e, out, x);
}

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
    if (status) {
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
    if (x == NULL || e->error.code)
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
