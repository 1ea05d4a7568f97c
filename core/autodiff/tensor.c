/* Making tensors, and cutting them into pieces of work. */
#include <string.h>

#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

static struct tensor *make(struct exec *e, real *data, size_t count)
{
    struct tensor *x = e->error.code == STATUS_OK ? op_alloc(e, sizeof(*x)) : NULL;
    if (x == NULL)
        return NULL;
    x->count = count;
    x->data = data != NULL ? data : op_reals(e, count);
    return x->data == NULL ? NULL : x;
}

struct tensor *tensor_rows(struct exec *e, int rows, int cols)
{
    if (rows < 1 || cols < 1) {
        op_fail(e, STATUS_INTERNAL, "a table of %d rows and %d columns", rows, cols);
        return NULL;
    }
    struct tensor *x = make(e, NULL, (size_t)rows * (size_t)cols);
    if (x != NULL) {
        x->rows = rows;
        x->cols = cols;
    }
    return x;
}

static bool shape_fits(const struct map_shape *s)
{
    return s->images > 0 && s->channels > 0 && s->height > 0 && s->width > 0 && s->halo_w == 1 &&
           (s->halo_h == 1 || (s->halo_h == 0 && s->height == 1));
}

struct tensor *tensor_map(struct exec *e, const struct map_shape *shape)
{
    if (!shape_fits(shape)) {
        op_fail(e, STATUS_INTERNAL, "a map of %d images, %d channels, %d x %d", shape->images, shape->channels,
                shape->height, shape->width);
        return NULL;
    }
    struct tensor *x = make(e, NULL, map_size(shape));
    if (x == NULL)
        return NULL;
    x->kind = TENSOR_MAP;
    x->map = *shape;
    for (int image = 0; image < shape->images; image++)
        map_clear_halo(shape, x->data, image);
    return x;
}

struct tensor *tensor_wrap_rows(struct exec *e, real *data, int rows, int cols, bool wants_grad)
{
    struct tensor *x = make(e, data, (size_t)rows * (size_t)cols);
    if (x == NULL)
        return NULL;
    x->rows = rows;
    x->cols = cols;
    x->wants_grad = wants_grad && e->training;
    return x;
}

struct tensor *tensor_from_planes(struct exec *e, const real *planes, const struct map_shape *shape, bool wants_grad)
{
    struct tensor *x = tensor_map(e, shape);
    if (x == NULL)
        return NULL;
    x->wants_grad = wants_grad && e->training;
    size_t image_planes = (size_t)shape->channels * (size_t)shape->height * (size_t)shape->width;
    for (int image = 0; image < shape->images; image++)
        map_from_planar(shape, planes + (size_t)image * image_planes, x->data, image);
    return x;
}

static void to_planes(const struct map_shape *shape, const real *data, real *planes)
{
    size_t image_planes = (size_t)shape->channels * (size_t)shape->height * (size_t)shape->width;
    for (int image = 0; image < shape->images; image++)
        map_to_planar(shape, data, planes + (size_t)image * image_planes, image);
}

void tensor_to_planes(const struct tensor *map, real *planes)
{
    to_planes(&map->map, map->data, planes);
}

void tensor_grad_to_planes(const struct tensor *map, real *planes)
{
    const struct map_shape *s = &map->map;
    if (map->grad_ready)
        to_planes(s, map->grad, planes);
    else
        memset(planes, 0,
               sizeof(real) * (size_t)s->images * (size_t)s->channels * (size_t)s->height * (size_t)s->width);
    if (map->where != NULL)
        region_clear_planes(map->where, s->channels, planes);
}

struct tensor *op_out_rows(struct exec *e, int rows, int cols, bool wants)
{
    struct tensor *out = tensor_rows(e, rows, cols);
    if (out != NULL)
        out->wants_grad = wants && e->training;
    return out;
}

struct tensor *op_out_map(struct exec *e, const struct map_shape *shape, bool wants)
{
    struct tensor *out = tensor_map(e, shape);
    if (out != NULL)
        out->wants_grad = wants && e->training;
    return out;
}

struct tensor *op_out_outline(struct exec *e, const struct map_shape *shape, bool wants)
{
    struct tensor *x = e->error.code == STATUS_OK ? op_alloc(e, sizeof(*x)) : NULL;
    if (x != NULL)
        *x = (struct tensor){
            .kind = TENSOR_MAP, .map = *shape, .count = map_size(shape), .wants_grad = wants && e->training};
    return x;
}

struct tensor *op_out_like(struct exec *e, const struct tensor *x, bool wants)
{
    return x->kind == TENSOR_MAP ? op_out_map(e, &x->map, wants) : op_out_rows(e, x->rows, x->cols, wants);
}

bool tensor_same(const struct tensor *x, const struct tensor *y)
{
    if (x->kind != y->kind)
        return false;
    if (x->kind == TENSOR_ROWS)
        return x->rows == y->rows && x->cols == y->cols;
    const struct map_shape *a = &x->map, *b = &y->map;
    return a->images == b->images && a->channels == b->channels && a->height == b->height && a->width == b->width &&
           a->halo_h == b->halo_h && a->halo_w == b->halo_w;
}

/* --- splitting ---------------------------------------------------------------------------------- */

struct map_split map_split(const struct map_shape *shape, int least)
{
    int strips = (least + shape->images - 1) / shape->images;
    int most = (shape->height + 7) / 8;
    if (strips > most)
        strips = most;
    int rows = ((shape->height + strips - 1) / strips + 3) / 4 * 4; /* convolutions work in tiles of 4 rows */
    strips = (shape->height + rows - 1) / rows;
    return (struct map_split){.strips = strips, .rows = rows, .chunks = shape->images * strips};
}

struct map_piece map_piece(const struct map_split *split, const struct map_shape *shape, int chunk)
{
    int row = chunk % split->strips * split->rows;
    int left = shape->height - row;
    return (struct map_piece){chunk / split->strips, row, left < split->rows ? left : split->rows};
}

struct row_split row_split(int rows, int cols)
{
    int each = FLAT_CHUNK / cols;
    each = each < 4 ? 4 : (each + 3) / 4 * 4;
    return (struct row_split){each, (rows + each - 1) / each};
}

struct flat_task {
    const struct kernels *kernels;
    size_t count;
    const real *x;
    real *y;
};

static void flat_add_task(void *context, int chunk, int worker)
{
    const struct flat_task *task = context;
    size_t at = (size_t)chunk * FLAT_CHUNK;
    task->kernels->add(flat_count(task->count, chunk), task->x + at, task->y + at);
}

void flat_add(struct exec *e, size_t count, const real *x, real *y)
{
    struct flat_task task = {e->kernels, count, x, y};
    thread_pool_run(e->pool, flat_add_task, &task, flat_chunks(count));
}

enum { COLUMN_CHUNK = 128 };

struct column_task {
    const struct kernels *kernels;
    int rows, cols;
    const real *x;
    ptrdiff_t ld_x;
    real *sums;
};

static void column_task(void *context, int chunk, int worker)
{
    const struct column_task *task = context;
    int col = chunk * COLUMN_CHUNK, cols = task->cols - col < COLUMN_CHUNK ? task->cols - col : COLUMN_CHUNK;
    for (int j = col; j < col + cols; j++)
        task->sums[j] = R(0.0);
    task->kernels->column_sums(task->rows, cols, task->x + col, task->ld_x, task->sums + col);
}

void column_sums(struct exec *e, int rows, int cols, const real *x, ptrdiff_t ld_x, real *sums)
{
    struct column_task task = {e->kernels, rows, cols, x, ld_x, sums};
    thread_pool_run(e->pool, column_task, &task, (cols + COLUMN_CHUNK - 1) / COLUMN_CHUNK);
}
