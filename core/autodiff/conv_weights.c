/* Brings the weights of a convolution into the order that the kernels read, and adds up partial gradients.
 *
 * With many channels, both steps take a considerable part of a convolution's time, so they run on the thread pool.
 * Sizes alone decide how the work is cut, and partial gradients are added in a fixed order, so results do not depend on
 * the number of threads. */
#include "core/autodiff/tape_int.h"

/* Minimum number of elements of a chunk: PACK_CHUNK for packing weights, COLLECT_CHUNK for adding up partial
 * gradients. */
enum { PACK_CHUNK = 16384, COLLECT_CHUNK = 32768 };

static int at_least_one(size_t x)
{
    return x > 0 ? (int)x : 1;
}

struct pack_task {
    const struct kernels *kernels;
    const struct weight *w;
    bool transposed;
    const struct conv_call *call;
    real *packed, *transformed; /* transformed: the result of the kernel conv_transform(); NULL if the convolution does
                                   not need it */
    int each;                   /* number of blocks of output channels in a chunk */
};

static void pack_task(void *context, int chunk, int worker)
{
    const struct pack_task *t = context;
    const struct weight *w = t->w;
    int first = chunk * t->each, left = t->call->out_blocks - first, count = left < t->each ? left : t->each;
    (t->transposed ? conv_pack_transposed_blocks : conv_pack_blocks)(w->value, w->dim[0], w->dim[1], w->dim[2],
                                                                     w->dim[3], first, count, t->packed);
    if (t->transformed != NULL)
        t->kernels->conv_transform(t->call, first, count, t->transformed);
}

bool conv_weights_prepare(struct exec *e, const struct weight *w, bool transposed, struct conv_call *call)
{
    int out = w->dim[transposed ? 1 : 0], in = w->dim[transposed ? 0 : 1];
    struct pack_task task = {.kernels = e->kernels, .w = w, .transposed = transposed, .call = call};
    size_t block = conv_packed_size(MAP_LANES, in, w->dim[2], w->dim[3]);
    call->in_blocks = map_blocks(in);
    call->out_blocks = map_blocks(out);
    call->in_lanes = map_lanes(in);
    call->out_lanes = map_lanes(out);
    call->kernel_h = w->dim[2];
    call->kernel_w = w->dim[3];
    call->weights = task.packed = op_reals(e, block * (size_t)call->out_blocks);
    if (task.packed == NULL)
        return false;
    if (e->kernels->conv_transform != NULL && call->kernel_h == 3 && call->kernel_w == 3) {
        call->transformed = task.transformed =
            op_reals(e, (size_t)call->out_blocks * (size_t)call->in_blocks * CONV_TRANSFORMED);
        if (task.transformed == NULL)
            return false;
    }
    task.each = at_least_one(PACK_CHUNK / block);
    return op_run(e, pack_task, &task, (call->out_blocks + task.each - 1) / task.each);
}

struct collect_task {
    const real *partials;
    int count;
    size_t stride;
    const struct weight *w;
    real *grad;
    int parts, each;
};

static void collect_task(void *context, int chunk, int worker)
{
    const struct collect_task *t = context;
    const struct weight *w = t->w;
    int first = chunk * t->each, left = t->parts - first;
    conv_unpack_add_parts(t->partials, t->count, t->stride, w->dim[0], w->dim[1], w->dim[2], w->dim[3], first,
                          left < t->each ? left : t->each, t->grad);
}

void conv_weights_collect(struct exec *e, const real *partials, int count, size_t stride, struct weight *w,
                          struct weight *b)
{
    bool add;
    if (w->grad != NULL) {
        struct collect_task task = {.partials = partials,
                                    .count = count,
                                    .stride = stride,
                                    .w = w,
                                    .grad = weight_open(w, true, &add),
                                    .parts = conv_unpack_parts(w->dim[0], w->dim[1])};
        size_t part = conv_packed_size(w->dim[0], w->dim[1], w->dim[2], w->dim[3]) / (size_t)task.parts;
        task.each = at_least_one(COLLECT_CHUNK / (part * (size_t)count + 1));
        (void)op_run(e, collect_task, &task, (task.parts + task.each - 1) / task.each);
    }
    if (b == NULL || b->grad == NULL)
        return;
    real *db = weight_open(b, true, &add);
    size_t packed = conv_packed_size(w->dim[0], w->dim[1], w->dim[2], w->dim[3]);
    for (int chunk = 0; chunk < count; chunk++)
        unpad_rows_add(partials + (size_t)chunk * stride + packed, map_padded(w->dim[0]), db, 1, w->dim[0]);
}
