/* The backward pass of a batch norm (and ReLU) whose result has a gradient only inside a region. The norm treats each
 * position on its own, so the gradient of the input is inside the same region. The only exception is the gradient
 * through the batch's statistics, which reaches every position of one image. */
#include "core/autodiff/region.h"

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

static void sums_task(void *context, int piece, int worker)
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

static void dx_task(void *context, int piece, int worker)
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
    (void)op_run(e, sums_task, t, t->cut.pieces);
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

void norm_backward_region(struct exec *e, const struct norm_back_region *n)
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
    (void)op_run(e, dx_task, &task, task.cut.pieces);
    if (!into)
        grad_pass(e, out, x);
}
