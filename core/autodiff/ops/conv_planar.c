/* The first convolution of a network: 1x1, from the planes of the data to the blocked layout. */
#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

struct planar_node {
    struct node node;
    const real *planes;
    int in;
    struct weight *w, *b;
};

struct planar_task {
    const struct kernels *kernels;
    struct map_split split;
    struct planar_call call;
    const real *planes;
    struct tensor *out;
    double *moments;
    real *partials;              /* backward: [chunks][padded][in + 1] gradients of the weights and the bias */
    const struct region *region; /* backward: the region of the gradient, or NULL */
    struct region_cut cut;
};

static void planar_task(void *context, int chunk, int worker)
{
    const struct planar_task *task = context;
    const struct map_shape *shape = &task->out->map;
    struct map_piece piece = map_piece(&task->split, shape, chunk);
    struct planar_call call = task->call;
    size_t padded = (size_t)map_padded(shape->channels), in = (size_t)call.channels;
    call.rows = piece.rows;
    call.in = task->planes + (ptrdiff_t)piece.image * call.channels * call.in_plane + piece.row * call.in_row;
    if (task->partials == NULL) {
        call.out = map_strip_at(shape, task->out->data, piece.image, piece.row);
        call.moments = task->moments == NULL ? NULL : task->moments + (size_t)chunk * 2 * padded;
        task->kernels->planar_forward(&call);
        return;
    }
    call.out = map_strip_at(shape, task->out->grad, piece.image, piece.row);
    call.dweights = task->partials + (size_t)chunk * padded * (in + 1);
    call.dbias = call.dweights + padded * in;
    task->kernels->planar_gradient(&call);
}

/* Computes the partial weight gradient of some boxes of the region. */
static void planar_region_task(void *context, int piece, int worker)
{
    const struct planar_task *task = context;
    const struct map_shape *shape = &task->out->map;
    struct planar_call call = task->call;
    size_t padded = (size_t)map_padded(shape->channels), in = (size_t)call.channels;
    call.dweights = task->partials + (size_t)piece * padded * (in + 1);
    call.dbias = call.dweights + padded * in;
    for (int i = task->cut.cut[piece]; i < task->cut.cut[piece + 1]; i++) {
        const struct box *box = &task->region->box[i];
        call.rows = box->rows;
        call.width = box->cols;
        call.in =
            task->planes + (ptrdiff_t)box->image * call.channels * call.in_plane + box->row * call.in_row + box->col;
        call.out = region_strip(shape, task->out->grad, box);
        task->kernels->planar_gradient(&call);
    }
}

static struct planar_task planar_prepare(struct exec *e, const real *planes, int in, struct tensor *out)
{
    const struct map_shape *s = &out->map;
    struct planar_task task = {.kernels = e->kernels, .split = map_split(s, 16), .planes = planes, .out = out};
    task.call = (struct planar_call){.channels = in,
                                     .out_blocks = map_blocks(s->channels),
                                     .width = s->width,
                                     .in_plane = (ptrdiff_t)s->height * s->width,
                                     .in_row = s->width};
    return task;
}

static void planar_backward(struct exec *e, struct node *node)
{
    struct planar_node *p = (struct planar_node *)node;
    struct tensor *out = node->out;
    size_t padded = (size_t)map_padded(out->map.channels), in = (size_t)p->in;
    struct planar_task task = planar_prepare(e, p->planes, p->in, out);
    int chunks = task.split.chunks;
    task.region = out->where;
    if (task.region != NULL) {
        task.cut = region_cut(e, task.region, 1024, task.split.chunks);
        chunks = task.cut.pieces;
    }
    task.partials = op_zeros(e, (size_t)chunks * padded * (in + 1));
    if (task.partials == NULL || (task.region != NULL && task.cut.cut == NULL))
        return;
    (void)op_run(e, task.region != NULL ? planar_region_task : planar_task, &task, chunks);
    bool add;
    real *dw = weight_wants(e, p->w) ? weight_open(p->w, true, &add) : NULL;
    real *db = weight_wants(e, p->b) ? weight_open(p->b, true, &add) : NULL;
    for (int chunk = 0; chunk < chunks; chunk++) {
        const real *partial = task.partials + (size_t)chunk * padded * (in + 1);
        if (dw != NULL)
            unpad_rows_add(partial, p->in, dw, out->map.channels, p->in);
        if (db != NULL)
            unpad_rows_add(partial + padded * in, (int)padded, db, 1, out->map.channels);
    }
}

struct tensor *op_conv_planar(struct exec *e, const real *planes, int images, int in, int height, int width, int halo_h,
                              struct weight *w, struct weight *b)
{
    double since = op_clock(e);
    if (e->error.code != STATUS_OK)
        return NULL;
    int channels = w->dim[0], padded = map_padded(channels);
    if (w->count != (size_t)channels * (size_t)in || b->count != (size_t)channels) {
        op_fail(e, STATUS_INTERNAL, "first convolution: shapes do not fit");
        return NULL;
    }
    struct map_shape shape = {images, channels, height, width, halo_h, 1};
    struct tensor *out = op_out_map(e, &shape, weight_wants(e, w) || weight_wants(e, b));
    struct planar_node *p = op_alloc(e, sizeof(*p));
    real *weights = op_zeros(e, (size_t)padded * (size_t)in), *bias = op_zeros(e, (size_t)padded);
    if (out == NULL || p == NULL || weights == NULL || bias == NULL)
        return NULL;
    pad_rows(w->value, channels, in, weights, padded, in);
    pad_rows(b->value, 1, channels, bias, 1, padded);
    struct planar_task task = planar_prepare(e, planes, in, out);
    task.call.weights = weights;
    task.call.bias = bias;
    if (e->training)
        task.moments = op_doubles(e, (size_t)task.split.chunks * 2 * (size_t)padded);
    (void)op_run(e, planar_task, &task, task.split.chunks);
    out->moments = task.moments;
    out->moment_pieces = 16;
    *p = (struct planar_node){.node.regions = true, .planes = planes, .in = in, .w = w, .b = b};
    return op_done(e, &p->node, "conv_planar", planar_backward, out, since);
}
