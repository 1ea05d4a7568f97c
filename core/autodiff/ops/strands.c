/* The maximum over both strands of a sequence. A motif of DNA can be on either strand. With this operation one channel
 * finds it on both, and no second channel has to learn the reverse complement. */
#include "core/autodiff/tape_int.h"

struct strand_node {
    struct node node;
    struct tensor *x, *reverse; /* reverse: 1 where the second strand is larger, else 0, in the shape of the result */
};

struct strand_task {
    const struct map_shape *shape; /* of the result */
    const real *x, *dout;
    real *out, *reverse, *dx;
    size_t other; /* distance in reals from the first strand of an image to its second strand */
    bool add;
};

/* Computes one channel block of one image. */
static void forward_task(void *context, int chunk, int worker)
{
    const struct strand_task *t = context;
    const struct map_shape *s = t->shape;
    int blocks = map_blocks(s->channels);
    for (int row = 0; row < s->height; row++) {
        ptrdiff_t at = map_offset(s, chunk / blocks, chunk % blocks, row, 0);
        const real *one = t->x + at, *two = t->x + t->other + at;
        for (int col = 0; col < s->width; col++)
            for (int lane = 0; lane < MAP_LANES; lane++) {
                real plus = one[col * MAP_LANES + lane], minus = two[(s->width - 1 - col) * MAP_LANES + lane];
                t->out[at + col * MAP_LANES + lane] = minus > plus ? minus : plus;
                t->reverse[at + col * MAP_LANES + lane] = minus > plus ? R(1.0) : R(0.0);
            }
    }
}

/* Each element of dx gets the gradient of one element of the result, or nothing. */
static void backward_task(void *context, int chunk, int worker)
{
    const struct strand_task *t = context;
    const struct map_shape *s = t->shape;
    int blocks = map_blocks(s->channels);
    for (int row = 0; row < s->height; row++) {
        ptrdiff_t at = map_offset(s, chunk / blocks, chunk % blocks, row, 0);
        real *one = t->dx + at, *two = t->dx + t->other + at;
        for (int col = 0; col < s->width; col++)
            for (int lane = 0; lane < MAP_LANES; lane++) {
                int here = col * MAP_LANES + lane, there = (s->width - 1 - col) * MAP_LANES + lane;
                real d = t->dout[at + here], minus = t->reverse[at + here];
                one[here] = (t->add ? one[here] : R(0.0)) + (minus > R(0.0) ? R(0.0) : d);
                two[there] = (t->add ? two[there] : R(0.0)) + (minus > R(0.0) ? d : R(0.0));
            }
    }
}

static struct strand_task task_of(const struct strand_node *n, const struct tensor *out)
{
    return (struct strand_task){.shape = &out->map,
                                .x = n->x->data,
                                .out = out->data,
                                .reverse = n->reverse->data,
                                .other = (size_t)out->map.images * (size_t)map_image_stride(&out->map)};
}

static void strand_backward(struct exec *e, struct node *node)
{
    struct strand_node *n = (struct strand_node *)node;
    struct strand_task task = task_of(n, node->out);
    task.dout = node->out->grad;
    task.dx = grad_open(e, n->x, &task.add);
    if (task.dx != NULL)
        (void)op_run(e, backward_task, &task, node->out->map.images * map_blocks(node->out->map.channels));
}

struct tensor *op_strand_max(struct exec *e, struct tensor *x, struct tensor **reverse)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_MAP || x->map.images % 2 != 0) {
        op_fail(e, STATUS_INTERNAL, "strands: the input is not a map with both strands of each image");
        return NULL;
    }
    struct map_shape shape = x->map;
    shape.images /= 2;
    struct strand_node *n = op_alloc(e, sizeof *n);
    struct tensor *out = op_out_map(e, &shape, x->wants_grad), *side = op_out_map(e, &shape, false);
    if (n == NULL || out == NULL || side == NULL)
        return NULL;
    n->x = x;
    n->reverse = side;
    struct strand_task task = task_of(n, out);
    if (!op_run(e, forward_task, &task, shape.images * map_blocks(shape.channels)))
        return NULL;
    if (reverse != NULL)
        *reverse = side;
    return op_done(e, &n->node, "strand_max", strand_backward, out, since);
}
