/* Blocks of block x block pixels as positions of a smaller map. op_space_to_depth() makes a pixel of a block a channel,
 * so a convolution over blocks reads every pixel. op_spread() puts the value of each block back to one pixel. Blocks at
 * the right and lower edges may have fewer pixels. */
#include <string.h>

#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

int blocks_of(int size, int block)
{
    return (size + block - 1) / block;
}

int block_pixel(int size, int block)
{
    int last = (size - 1) % block, middle = (block - 1) / 2;
    return last < middle ? last : middle;
}

/* ---- pixels to channels ------------------------------------------------------------------------ */

struct depth_task {
    const real *planes;
    real *out;
    int height, width, block, high, wide; /* high, wide: number of blocks along each axis */
};

/* Writes the block * block planes of one plane's blocks; `pixel` counts the pixels of a block. */
static void depth_task(void *context, int plane, int worker)
{
    (void)worker;
    const struct depth_task *t = context;
    int pixels = t->block * t->block;
    const real *from = t->planes + (ptrdiff_t)plane * t->height * t->width;
    real *to = t->out + (ptrdiff_t)plane * pixels * t->high * t->wide;
    for (int pixel = 0; pixel < pixels; pixel++)
        for (int r = 0; r < t->high; r++)
            for (int c = 0; c < t->wide; c++) {
                int row = r * t->block + pixel / t->block, col = c * t->block + pixel % t->block;
                *to++ = row < t->height && col < t->width ? from[(ptrdiff_t)row * t->width + col] : R(0.0);
            }
}

const real *op_space_to_depth(struct exec *e, const real *planes, int count, int height, int width, int block)
{
    if (e->error.code || block == 1)
        return e->error.code ? NULL : planes;
    struct depth_task t = {.planes = planes, .height = height, .width = width, .block = block};
    t.high = blocks_of(height, block);
    t.wide = blocks_of(width, block);
    t.out = op_reals(e, (size_t)count * (size_t)(block * block) * (size_t)t.high * (size_t)t.wide);
    return t.out != NULL && op_run(e, depth_task, &t, count) ? t.out : NULL;
}

/* ---- values to pixels -------------------------------------------------------------------------- */

struct spread_node {
    struct node node;
    struct tensor *x;
    int block;
};

struct spread_task {
    const struct tensor *x, *out;
    int block, down, right; /* down, right: the pixel of a block that gets its value */
    real fill, *dx;
    bool add;
};

static struct spread_task spread_between(const struct tensor *x, const struct tensor *out, int block)
{
    return (struct spread_task){.x = x,
                                .out = out,
                                .block = block,
                                .down = block_pixel(out->map.height, block),
                                .right = block_pixel(out->map.width, block)};
}

/* The positions of the result that belong to the row `row` of channel block `block` of an image of x. */
static ptrdiff_t spread_offset(const struct spread_task *t, int image, int block, int row)
{
    return map_offset(&t->out->map, image, block, row * t->block + t->down, t->right);
}

/* Writes one block of channels of one image. Channels of padding stay zero. */
static void spread_task(void *context, int chunk, int worker)
{
    (void)worker;
    const struct spread_task *t = context;
    const struct map_shape *s = &t->out->map, *small = &t->x->map;
    int block = chunk % map_blocks(s->channels), image = chunk / map_blocks(s->channels);
    int lanes = block + 1 < map_blocks(s->channels) ? MAP_LANES : map_lanes(s->channels);
    for (int row = 0; row < s->height; row++) {
        real *to = t->out->data + map_offset(s, image, block, row, 0);
        memset(to, 0, (size_t)s->width * MAP_LANES * sizeof *to);
        for (int i = 0; t->fill != R(0.0) && i < s->width * MAP_LANES; i++)
            to[i] = i % MAP_LANES < lanes ? t->fill : R(0.0);
    }
    for (int row = 0; row < small->height; row++) {
        const real *from = t->x->data + map_offset(small, image, block, row, 0);
        real *to = t->out->data + spread_offset(t, image, block, row);
        for (int col = 0; col < small->width; col++)
            memcpy(to + (ptrdiff_t)col * t->block * MAP_LANES, from + (ptrdiff_t)col * MAP_LANES,
                   MAP_LANES * sizeof *to);
    }
}

/* Collects the gradient of one block of channels of one image. */
static void gather_task(void *context, int chunk, int worker)
{
    (void)worker;
    const struct spread_task *t = context;
    const struct map_shape *s = &t->out->map, *small = &t->x->map;
    const struct region *where = t->out->where;
    int block = chunk % map_blocks(s->channels), image = chunk / map_blocks(s->channels);
    for (int row = 0; row < small->height; row++) {
        real *dx = t->dx + map_offset(small, image, block, row, 0);
        const real *dout = t->out->grad + spread_offset(t, image, block, row);
        int line = image * s->height + row * t->block + t->down, all = t->right + (small->width - 1) * t->block + 1;
        const struct span whole = {0, all}, *span = where == NULL ? &whole : where->span + where->first[line];
        const struct span *end = where == NULL ? &whole + 1 : where->span + where->first[line + 1];
        if (!t->add)
            memset(dx, 0, (size_t)small->width * MAP_LANES * sizeof *dx);
        for (; span < end; span++) {
            int col = span->from <= t->right ? 0 : (span->from - t->right + t->block - 1) / t->block;
            for (; col < small->width && col * t->block + t->right < span->to; col++)
                for (int lane = 0; lane < MAP_LANES; lane++)
                    dx[col * MAP_LANES + lane] += dout[(ptrdiff_t)col * t->block * MAP_LANES + lane];
        }
    }
}

static void spread_backward(struct exec *e, struct node *node)
{
    struct spread_node *n = (struct spread_node *)node;
    struct spread_task task = spread_between(n->x, node->out, n->block);
    task.dx = grad_open(e, n->x, &task.add);
    if (task.dx != NULL)
        (void)op_run(e, gather_task, &task, n->x->map.images * map_blocks(n->x->map.channels));
}

/* The active positions of the result; NULL if x has no list of active positions. */
static struct region *spread_active(struct exec *e, const struct spread_task *t)
{
    const struct region *from = t->x->active;
    const struct map_shape *s = &t->out->map, *small = &t->x->map;
    if (from == NULL)
        return NULL;
    int rows = s->images * s->height, spans = 0;
    struct span *span = op_alloc(e, ((size_t)from->positions + 1) * sizeof *span);
    int *first = op_alloc(e, ((size_t)rows + 1) * sizeof *first);
    if (span == NULL || first == NULL)
        return NULL;
    for (int line = 0; line < rows; line++) {
        int above = line % s->height - t->down, row = line / s->height * small->height + above / t->block;
        bool own = above >= 0 && above % t->block == 0 && above / t->block < small->height;
        for (int i = own ? from->first[row] : 0; own && i < from->first[row + 1]; i++)
            for (int col = from->span[i].from; col < from->span[i].to; col++) {
                int at = col * t->block + t->right;
                span[spans++] = (struct span){at, at + 1};
            }
        first[line + 1] = spans;
    }
    return region_make(e, s, span, first);
}

struct tensor *op_spread(struct exec *e, struct tensor *x, int height, int width, int block, double fill)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_MAP || block < 1 || blocks_of(height, block) != x->map.height ||
        blocks_of(width, block) != x->map.width) {
        op_fail(e, STATUS_INTERNAL, "spread: the map does not have one position for each block of %d x %d pixels",
                block, block);
        return NULL;
    }
    if (block == 1)
        return x;
    struct map_shape shape = x->map;
    shape.height = height;
    shape.width = width;
    struct spread_node *n = op_alloc(e, sizeof *n);
    struct tensor *out = op_out_map(e, &shape, x->wants_grad);
    if (n == NULL || out == NULL)
        return NULL;
    *n = (struct spread_node){.node.regions = true, .x = x, .block = block};
    struct spread_task task = spread_between(x, out, block);
    task.fill = (real)fill;
    if (!op_run(e, spread_task, &task, shape.images * map_blocks(shape.channels)))
        return NULL;
    out->active = spread_active(e, &task);
    return op_done(e, &n->node, "spread", spread_backward, out, since);
}
