/* Dropout of whole channels of a map (Tompson et al., CVPR 2015). Neighbouring positions of a channel have similar
 * values, so dropping single positions would hide little. */
#include <string.h>

#include "core/autodiff/tape_int.h"
#include "core/base/random/philox.h"

struct drop_node {
    struct node node;
    struct tensor *x;
    real *factor; /* [images][padded channels] 0 or 1 / (1 - share) */
};

struct drop_task {
    const struct map_shape *shape;
    const real *x, *factor;
    real *y;
};

/* Multiplies one block of channels of one image, halo included. */
static void drop_task(void *context, int chunk, int worker)
{
    const struct drop_task *t = context;
    ptrdiff_t size = map_block_stride(t->shape), at = chunk * size;
    const real *factor = t->factor + (ptrdiff_t)chunk * MAP_LANES;
    (void)worker;
    for (ptrdiff_t i = 0; i < size; i += MAP_LANES)
        for (int lane = 0; lane < MAP_LANES; lane++)
            t->y[at + i + lane] = t->x[at + i + lane] * factor[lane];
}

static void drop_run(struct exec *e, const struct drop_node *n, const real *x, real *y)
{
    struct drop_task task = {.shape = &n->x->map, .x = x, .factor = n->factor, .y = y};
    (void)op_run(e, drop_task, &task, n->x->map.images * map_blocks(n->x->map.channels));
}

static void drop_backward(struct exec *e, struct node *node)
{
    struct drop_node *n = (struct drop_node *)node;
    drop_run(e, n, node->out->grad, node->out->grad);
    grad_pass(e, node->out, n->x);
}

struct tensor *op_drop_channels(struct exec *e, struct tensor *x, double share)
{
    double since = op_clock(e);
    if (share <= 0 || !e->training || x == NULL || e->error.code)
        return x;
    if (x->kind != TENSOR_MAP) {
        op_fail(e, STATUS_INTERNAL, "drop_channels: shapes do not fit");
        return NULL;
    }
    int images = x->map.images, padded = map_padded(x->map.channels);
    struct tensor *out = op_out_map(e, &x->map, x->wants_grad);
    struct drop_node *n = op_alloc(e, sizeof *n);
    real *factor = op_reals(e, (size_t)images * (size_t)padded);
    if (out == NULL || n == NULL || factor == NULL)
        return NULL;
    struct philox from = philox_stream(e->seed, op_stream(e), e->step);
    uint64_t before = op_before(e, (uint64_t)images * (uint64_t)padded);
    for (size_t i = 0; i < (size_t)images * (size_t)padded; i++)
        factor[i] = (double)philox_uniform(&from, before + i) < share ? R(0.0) : (real)(1 / (1 - share));
    n->x = x;
    n->factor = factor;
    drop_run(e, n, x->data, out->data);
    return op_done(e, &n->node, "drop_channels", drop_backward, out, since);
}
