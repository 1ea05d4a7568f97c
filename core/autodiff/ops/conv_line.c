/* Convolution along the rows of maps of height 1 ("lines"). The kernel has any odd number of elements (taps) and any
 * dilation. A line is processed in pieces that fit into the cache. The kernel reads `reach` pixels on either side of
 * a piece. A map has a halo of only 1, so pieces at the ends of a line are copied to a scratch line with zeros
 * around them. Each task computes one image, because the batch norm that follows needs the moments of each
 * image. */
#include <string.h>

#include "core/autodiff/tape_int.h"

enum { PIECE = LINE_PIECE };

struct line_node {
    struct node node;
    struct tensor *x, *residual;
    struct weight *w, *b;
    int dilation;
};

/* The input of a pass: a map, and each worker's scratch line for the ends of a line. */
struct line_source {
    const struct map_shape *shape;
    const real *data;
    int reach;
    real *scratch; /* [workers][blocks][scratch_width()][16] */
};

static size_t scratch_width(const struct line_source *s)
{
    return (size_t)(s->shape->width < PIECE ? s->shape->width : PIECE) + 2 * (size_t)s->reach;
}

static size_t scratch_size(const struct line_source *s)
{
    return (size_t)map_padded(s->shape->channels) * scratch_width(s);
}

/* Returns the `width` pixels of an image that begin at column `at`. The caller may also read `reach` pixels on either
 * side of them. */
static struct map_strip line_read(const struct line_source *s, int image, int at, int width, int worker)
{
    struct map_strip strip = map_strip_at(s->shape, s->data, image, 0);
    const int halo = s->shape->halo_w;
    int from = at - s->reach, to = at + width + s->reach;
    if (from >= -halo && to <= s->shape->width + halo) {
        strip.at += (ptrdiff_t)at * MAP_LANES;
        return strip;
    }
    real *scratch = s->scratch + (size_t)worker * scratch_size(s);
    ptrdiff_t line = (ptrdiff_t)scratch_width(s) * MAP_LANES;
    int first = from > 0 ? from : 0, end = to < s->shape->width ? to : s->shape->width;
    size_t before = (size_t)(first - from) * MAP_LANES, inside = (size_t)(end - first) * MAP_LANES;
    for (int block = 0; block < map_blocks(s->shape->channels); block++) {
        real *row = scratch + block * line;
        memset(row, 0, before * sizeof *row);
        memcpy(row + before, strip.at + block * strip.block + (ptrdiff_t)first * MAP_LANES, inside * sizeof *row);
        memset(row + before + inside, 0, (size_t)(to - end) * MAP_LANES * sizeof *row);
    }
    return (struct map_strip){scratch + (ptrdiff_t)s->reach * MAP_LANES, line, line};
}

static bool make_scratch(struct exec *e, struct line_source *s)
{
    s->scratch = op_reals(e, scratch_size(s) * (size_t)thread_pool_threads(e->pool));
    return s->scratch != NULL;
}

static struct map_strip line_at(const struct map_shape *shape, const real *data, int image, int at)
{
    struct map_strip strip = map_strip_at(shape, data, image, 0);
    strip.at += (ptrdiff_t)at * MAP_LANES;
    return strip;
}

struct line_task {
    const struct kernels *kernels;
    struct line_source x;
    struct conv_call call;
    const struct tensor *add;
    struct tensor *out;
    double *moments; /* [images][2][padded] moments of the result */
};

static void forward_task(void *context, int image, int worker)
{
    const struct line_task *t = context;
    const struct map_shape *shape = &t->out->map;
    struct conv_call call = t->call;
    for (int at = 0; at < shape->width; at += PIECE) {
        call.width = shape->width - at < PIECE ? shape->width - at : PIECE;
        call.in = line_read(&t->x, image, at, call.width, worker);
        call.out = line_at(shape, t->out->data, image, at);
        if (t->add != NULL)
            call.add = line_at(shape, t->add->data, image, at);
        t->kernels->conv_forward(&call);
    }
    if (t->moments != NULL)
        t->kernels->map_moments(call.out_blocks, 1, shape->width, map_strip_at(shape, t->out->data, image, 0),
                                t->moments + (size_t)image * 2 * (size_t)map_padded(shape->channels));
}

struct line_back {
    const struct kernels *kernels;
    struct line_source x, dy;
    struct conv_gradient_call weights;
    struct conv_call input;
    const struct tensor *out;
    const struct map_shape *in;
    real *dx; /* NULL: the input needs no gradient */
    bool add;
    real *partials; /* [images][partial] gradients of the weights and the bias; NULL: not needed */
    size_t partial, packed;
};

static void backward_task(void *context, int image, int worker)
{
    const struct line_back *t = context;
    const struct map_shape *shape = &t->out->map;
    struct conv_gradient_call weights = t->weights;
    struct conv_call input = t->input;
    if (t->partials != NULL) {
        weights.dweights = t->partials + (size_t)image * t->partial;
        memset(weights.dweights, 0, t->partial * sizeof *weights.dweights);
        weights.dbias = weights.dweights + t->packed;
    }
    for (int at = 0; at < shape->width; at += PIECE) {
        weights.width = input.width = shape->width - at < PIECE ? shape->width - at : PIECE;
        if (t->partials != NULL) {
            weights.dout = line_at(shape, t->out->grad, image, at);
            weights.in = line_read(&t->x, image, at, weights.width, worker);
            t->kernels->conv_gradient(&weights);
        }
        if (t->dx != NULL) {
            input.in = line_read(&t->dy, image, at, input.width, worker);
            input.out = line_at(t->in, t->dx, image, at);
            if (t->add)
                input.add = input.out;
            t->kernels->conv_forward(&input);
        }
    }
}

static bool prepare_weights(struct exec *e, const struct line_node *n, struct line_back *t)
{
    const struct map_shape *in = t->in, *out = &n->node.out->map;
    t->packed = conv_packed_size(out->channels, in->channels, 1, n->w->dim[3]);
    t->partial = t->packed + (size_t)map_padded(out->channels);
    t->partials = op_reals(e, t->partial * (size_t)out->images);
    t->x = (struct line_source){.shape = in, .data = n->x->data, .reach = n->w->dim[3] / 2 * n->dilation};
    t->weights = (struct conv_gradient_call){.in_blocks = map_blocks(in->channels),
                                             .out_blocks = map_blocks(out->channels),
                                             .kernel_h = 1,
                                             .kernel_w = n->w->dim[3],
                                             .rows = 1,
                                             .dilation = n->dilation};
    return t->partials != NULL && make_scratch(e, &t->x);
}

static bool prepare_input(struct exec *e, const struct line_node *n, struct line_back *t)
{
    const struct map_shape *out = &n->node.out->map;
    t->dx = grad_open(e, n->x, &t->add);
    if (t->dx == NULL)
        return false;
    t->dy = (struct line_source){.shape = out, .data = n->node.out->grad, .reach = n->w->dim[3] / 2 * n->dilation};
    t->input = (struct conv_call){.rows = 1, .dilation = n->dilation};
    if (!conv_weights_prepare(e, n->w, true, &t->input))
        return false;
    return make_scratch(e, &t->dy);
}

static void line_backward(struct exec *e, struct node *node)
{
    struct line_node *n = (struct line_node *)node;
    struct line_back task = {.kernels = e->kernels, .out = node->out, .in = &n->x->map};
    if ((weight_wants(e, n->w) || weight_wants(e, n->b)) && !prepare_weights(e, n, &task))
        return;
    if (n->x->wants_grad && !prepare_input(e, n, &task))
        return;
    (void)op_run(e, backward_task, &task, node->out->map.images);
    if (task.partials != NULL)
        conv_weights_collect(e, task.partials, node->out->map.images, task.partial, n->w, n->b);
    grad_pass(e, node->out, n->residual);
}

static bool line_fits(struct exec *e, const struct tensor *x, const struct weight *w, const struct weight *b,
                      const struct tensor *residual, int dilation)
{
    bool fits = x->kind == TENSOR_MAP && x->data != NULL && x->map.height == 1 && x->map.halo_h == 0 && w->rank == 4 &&
                w->dim[1] == x->map.channels && w->dim[2] == 1 && w->dim[3] % 2 == 1 && dilation >= 1 &&
                (b == NULL || b->count == (size_t)w->dim[0]);
    if (fits && residual != NULL) {
        struct tensor like = {.kind = TENSOR_MAP, .map = x->map};
        like.map.channels = w->dim[0];
        fits = tensor_same(residual, &like);
    }
    if (!fits)
        op_fail(e, STATUS_INTERNAL, "convolution along a line: shapes do not fit");
    return fits;
}

struct tensor *op_conv_line(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, int dilation,
                            struct tensor *residual)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code || !line_fits(e, x, w, b, residual, dilation))
        return NULL;
    struct map_shape shape = x->map;
    shape.channels = w->dim[0];
    int taps = w->dim[3], padded = map_padded(shape.channels);
    bool wants =
        x->wants_grad || weight_wants(e, w) || weight_wants(e, b) || (residual != NULL && residual->wants_grad);
    struct tensor *out = op_out_map(e, &shape, wants);
    struct line_node *n = op_alloc(e, sizeof *n);
    real *bias = op_zeros(e, (size_t)padded);
    struct line_task task = {.kernels = e->kernels, .add = residual, .out = out};
    task.x = (struct line_source){.shape = &x->map, .data = x->data, .reach = taps / 2 * dilation};
    if (out == NULL || n == NULL || bias == NULL || !make_scratch(e, &task.x))
        return NULL;
    if (b != NULL)
        pad_rows(b->value, 1, shape.channels, bias, 1, padded);
    task.call = (struct conv_call){.rows = 1, .bias = bias, .dilation = dilation};
    if (!conv_weights_prepare(e, w, false, &task.call))
        return NULL;
    if (e->training)
        task.moments = op_doubles(e, (size_t)shape.images * 2 * (size_t)padded);
    (void)op_run(e, forward_task, &task, shape.images);
    out->moments = task.moments;
    out->moment_pieces = 1;
    *n = (struct line_node){.x = x, .residual = residual, .w = w, .b = b, .dilation = dilation};
    return op_done(e, &n->node, "conv_line", line_backward, out, since);
}
