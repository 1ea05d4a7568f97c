/* Element-wise operations: the sparse layer's threshold, ReLU and sigmoid. The threshold also lists the active
 * positions. */
#include <string.h>

#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

struct point_node {
    struct node node;
    struct tensor *x;
};

struct point_task {
    const struct kernels *kernels;
    const struct map_shape *shape;
    struct map_split split;
    const real *x, *dy;
    real *y;
    const real *threshold, *scale;
    int64_t *active; /* [chunks][padded] number of active elements */
    size_t count;    /* number of elements, for the tasks that treat a tensor as a flat array */
};

static void threshold_task(void *context, int chunk, int worker)
{
    const struct point_task *task = context;
    struct map_piece piece = map_piece(&task->split, task->shape, chunk);
    int blocks = map_blocks(task->shape->channels);
    struct threshold_call call = {.blocks = blocks,
                                  .rows = piece.rows,
                                  .width = task->shape->width,
                                  .x = map_strip_at(task->shape, task->x, piece.image, piece.row),
                                  .y = map_strip_at(task->shape, task->y, piece.image, piece.row),
                                  .threshold = task->threshold};
    if (task->active != NULL)
        call.active = task->active + (size_t)chunk * (size_t)(blocks * MAP_LANES);
    task->kernels->map_threshold(&call);
}

static void shift_task(void *context, int chunk, int worker)
{
    const struct point_task *task = context;
    struct map_piece piece = map_piece(&task->split, task->shape, chunk);
    struct affine_call call = {.blocks = map_blocks(task->shape->channels),
                               .rows = piece.rows,
                               .width = task->shape->width,
                               .x = map_strip_at(task->shape, task->x, piece.image, piece.row),
                               .y = map_strip_at(task->shape, task->y, piece.image, piece.row),
                               .scale = task->scale,
                               .shift = task->threshold};
    task->kernels->map_affine(&call);
}

/* Sets dy to 0 where y <= 0, over the whole buffer. Halo and padding of y are zero, so dy becomes 0 there too. */
static void mask_task(void *context, int chunk, int worker)
{
    const struct point_task *task = context;
    size_t at = (size_t)chunk * FLAT_CHUNK;
    task->kernels->relu_backward(flat_count(task->count, chunk), task->x + at, task->dy + at, task->y + at);
}

static void mask_backward(struct exec *e, struct node *node)
{
    struct tensor *out = node->out;
    struct point_task task = {
        .kernels = e->kernels, .x = out->data, .dy = out->grad, .y = out->grad, .count = out->count};
    (void)op_run(e, mask_task, &task, flat_chunks(out->count));
    grad_pass(e, out, ((struct point_node *)node)->x);
}

/* --- active positions ---------------------------------------------------------------------------- */

enum { ACTIVE_SHARE = 8 }; /* if more than one in 8 positions is active, no list is made */

struct active_task {
    const struct map_shape *shape;
    struct map_split split;
    const real *y;
    /* [chunks] number of active elements of each chunk; a chunk has no more spans than active elements */
    const int64_t *counts;
    struct span *span; /* the spans of all chunks; chunk i begins at index counts[0] + ... + counts[i - 1] */
    int *made;         /* [images * height] number of spans in each row */
};

static bool position_active(const struct map_shape *s, const real *at)
{
    bool active = false;
    for (int block = 0; block < map_blocks(s->channels); block++, at += map_block_stride(s))
        for (int lane = 0; lane < MAP_LANES; lane++)
            active |= at[lane] > 0;
    return active;
}

static void active_task(void *context, int chunk, int worker)
{
    const struct active_task *t = context;
    const struct map_shape *s = t->shape;
    struct map_piece piece = map_piece(&t->split, s, chunk);
    struct span *to = t->span;
    for (int i = 0; i < chunk; i++)
        to += t->counts[i];
    for (int row = piece.row; row < piece.row + piece.rows && t->counts[chunk] > 0; row++) {
        const real *at = t->y + map_offset(s, piece.image, 0, row, 0);
        int *made = &t->made[piece.image * s->height + row];
        for (int col = 0; col < s->width; col++, at += MAP_LANES) {
            if (!position_active(s, at))
                continue;
            if (*made > 0 && to[-1].to == col)
                to[-1].to++;
            else {
                *to++ = (struct span){col, col + 1};
                ++*made;
            }
        }
    }
}

/* The region where y > 0; NULL if it has too many positions for a list. */
static struct region *active_region(struct exec *e, const struct tensor *y, const struct point_task *task)
{
    const struct map_shape *s = &y->map;
    int padded = map_padded(s->channels), chunks = task->split.chunks, rows = s->images * s->height;
    int64_t total = 0, *counts = op_alloc(e, sizeof *counts * (size_t)chunks);
    for (int i = 0; counts != NULL && i < chunks * padded; i++) {
        counts[i / padded] += task->active[i];
        total += task->active[i];
    }
    if (counts == NULL || (e->sparse != EXEC_SPARSE && total > (int64_t)rows * s->width / ACTIVE_SHARE))
        return NULL;
    struct active_task find = {s, task->split, y->data, counts, NULL, NULL};
    find.span = op_alloc(e, ((size_t)total + 1) * sizeof *find.span);
    find.made = op_alloc(e, (size_t)rows * sizeof *find.made);
    int *first = op_alloc(e, ((size_t)rows + 1) * sizeof *first);
    if (find.span == NULL || find.made == NULL || first == NULL)
        return NULL;
    if (!op_run(e, active_task, &find, chunks))
        return NULL;
    struct span *from = find.span;
    for (int chunk = 0; chunk < chunks; from += counts[chunk++]) {
        struct map_piece piece = map_piece(&task->split, s, chunk);
        const struct span *next = from;
        for (int row = piece.image * s->height + piece.row, end = row + piece.rows; row < end; row++) {
            memmove(find.span + first[row], next, (size_t)find.made[row] * sizeof *next);
            next += find.made[row];
            first[row + 1] = first[row] + find.made[row];
        }
    }
    return region_make(e, s, find.span, first);
}

struct active_mask {
    const struct kernels *kernels;
    const struct tensor *out;
    struct region_cut cut;
};

static void active_mask_task(void *context, int piece, int worker)
{
    const struct active_mask *t = context;
    const struct map_shape *s = &t->out->map;
    for (int i = t->cut.cut[piece]; i < t->cut.cut[piece + 1]; i++) {
        const struct box *box = &t->out->active->box[i];
        struct map_strip dy = region_strip(s, t->out->grad, box);
        t->kernels->map_mask(map_blocks(s->channels), box->rows, box->cols, region_strip(s, t->out->data, box), dy, dy);
    }
}

static void threshold_backward(struct exec *e, struct node *node)
{
    struct tensor *out = node->out;
    if (out->active == NULL || e->sparse == EXEC_DENSE) {
        grad_fill(e, out);
        mask_backward(e, node);
        return;
    }
    struct active_mask task = {e->kernels, out, region_cut(e, out->active, 1024, 8)};
    if (task.cut.cut == NULL)
        return;
    if (out->where != out->active)
        grad_fill(e, out);
    (void)op_run(e, active_mask_task, &task, task.cut.pieces);
    out->where = out->active;
    grad_pass(e, out, ((struct point_node *)node)->x);
}

static void pass_backward(struct exec *e, struct node *node)
{
    grad_pass(e, node->out, ((struct point_node *)node)->x);
}

static struct point_node *point_begin(struct exec *e, struct tensor *x, struct tensor **out)
{
    if (x == NULL || e->error.code)
        return NULL;
    struct point_node *p = op_alloc(e, sizeof(*p));
    *out = p == NULL ? NULL : op_out_like(e, x, x->wants_grad);
    if (*out == NULL)
        return NULL;
    p->x = x;
    return p;
}

struct tensor *op_threshold(struct exec *e, struct tensor *x, const real *t, bool relu)
{
    double since = op_clock(e);
    struct tensor *out;
    struct point_node *p = point_begin(e, x, &out);
    if (p == NULL)
        return NULL;
    int channels = x->map.channels, padded = map_padded(channels);
    struct point_task task = {
        .kernels = e->kernels, .shape = &x->map, .split = map_split(&x->map, 16), .x = x->data, .y = out->data};
    real *vectors = op_zeros(e, 2 * (size_t)padded);
    if (relu)
        task.active = op_alloc(e, sizeof(int64_t) * (size_t)task.split.chunks * (size_t)padded);
    if (vectors == NULL || e->error.code)
        return NULL;
    for (int c = 0; c < channels; c++) {
        vectors[c] = relu ? t[c] : -t[c];
        vectors[padded + c] = R(1.0);
    }
    task.threshold = vectors;
    task.scale = vectors + padded;
    if (!op_run(e, relu ? threshold_task : shift_task, &task, task.split.chunks))
        return NULL;
    if (relu)
        out->active = active_region(e, out, &task);
    p->node.regions = true;
    return op_done(e, &p->node, "threshold", relu ? threshold_backward : pass_backward, out, since);
}

/* --- flat: maps with their halo, or rows -------------------------------------------------------- */

static void relu_task(void *context, int chunk, int worker)
{
    const struct point_task *task = context;
    size_t at = (size_t)chunk * FLAT_CHUNK;
    task->kernels->relu_backward(flat_count(task->count, chunk), task->x + at, task->x + at, task->y + at);
}

struct tensor *op_relu(struct exec *e, struct tensor *x)
{
    double since = op_clock(e);
    struct tensor *out;
    struct point_node *p = point_begin(e, x, &out);
    if (p == NULL)
        return NULL;
    struct point_task task = {.kernels = e->kernels, .x = x->data, .y = out->data, .count = x->count};
    (void)op_run(e, relu_task, &task, flat_chunks(x->count));
    return op_done(e, &p->node, "relu", mask_backward, out, since);
}

static void sigmoid_task(void *context, int chunk, int worker)
{
    const struct point_task *task = context;
    size_t at = (size_t)chunk * FLAT_CHUNK;
    task->kernels->vector_sigmoid(flat_count(task->count, chunk), task->x + at, task->y + at);
}

static void sigmoid_backward_task(void *context, int chunk, int worker)
{
    const struct point_task *task = context;
    size_t at = (size_t)chunk * FLAT_CHUNK, count = flat_count(task->count, chunk);
    for (size_t i = at; i < at + count; i++)
        task->y[i] = task->dy[i] * task->x[i] * (R(1.0) - task->x[i]);
}

static void sigmoid_backward(struct exec *e, struct node *node)
{
    struct tensor *out = node->out;
    struct point_task task = {
        .kernels = e->kernels, .x = out->data, .dy = out->grad, .y = out->grad, .count = out->count};
    (void)op_run(e, sigmoid_backward_task, &task, flat_chunks(out->count));
    grad_pass(e, out, ((struct point_node *)node)->x);
}

/* Writes zeros to the halo and the padding channels after a sigmoid, because sigmoid(0) is not 0. */
static void clear_outside(struct tensor *x)
{
    const struct map_shape *s = &x->map;
    int used = s->channels - (map_blocks(s->channels) - 1) * MAP_LANES;
    for (int image = 0; image < s->images; image++) {
        map_clear_halo(s, x->data, image);
        for (int row = 0; row < s->height && used < MAP_LANES; row++)
            for (int col = 0; col < s->width; col++)
                for (int lane = used; lane < MAP_LANES; lane++)
                    x->data[map_offset(s, image, map_blocks(s->channels) - 1, row, col) + lane] = R(0.0);
    }
}

struct tensor *op_sigmoid(struct exec *e, struct tensor *x)
{
    double since = op_clock(e);
    struct tensor *out;
    struct point_node *p = point_begin(e, x, &out);
    if (p == NULL)
        return NULL;
    struct point_task task = {.kernels = e->kernels, .x = x->data, .y = out->data, .count = x->count};
    (void)op_run(e, sigmoid_task, &task, flat_chunks(x->count));
    if (x->kind == TENSOR_MAP)
        clear_outside(out);
    return op_done(e, &p->node, "sigmoid", sigmoid_backward, out, since);
}
