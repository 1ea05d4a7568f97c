/* Creates tensors and copies maps to and from planes. */
#include <string.h>

#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

static struct tensor *make(struct exec *e, real *data, size_t count)
{
    struct tensor *x = !e->error.code ? op_alloc(e, sizeof(*x)) : NULL;
    if (x == NULL)
        return NULL;
    x->count = count;
    x->data = data != NULL ? data : op_reals(e, count);
    return x->data == NULL ? NULL : x;
}

struct tensor *tensor_rows(struct exec *e, int rows, int cols)
{
    if (rows < 1 || cols < 1) {
        op_fail(e, STATUS_INTERNAL, "a table cannot have %d rows and %d columns", rows, cols);
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

enum { SHARED_HALO = 16384 }; /* minimum number of reals of a halo that threads clear together */

struct halo_task {
    const struct map_shape *shape;
    real *data;
};

static void halo_task(void *context, int image, int worker)
{
    const struct halo_task *task = context;
    map_clear_halo(task->shape, task->data, image);
}

bool op_clear_halo(struct exec *e, const struct map_shape *shape, real *data)
{
    struct halo_task task = {shape, data};
    size_t inside = (size_t)(map_blocks(shape->channels) * MAP_LANES) * (size_t)(shape->height * shape->width);
    if (map_size(shape) - (size_t)shape->images * inside >= SHARED_HALO)
        return op_run(e, halo_task, &task, shape->images);
    for (int image = 0; image < shape->images; image++)
        map_clear_halo(shape, data, image);
    return true;
}

struct tensor *tensor_map(struct exec *e, const struct map_shape *shape)
{
    if (!shape_fits(shape)) {
        op_fail(e, STATUS_INTERNAL, "a map cannot have %d images, %d channels and %d x %d positions", shape->images,
                shape->channels, shape->height, shape->width);
        return NULL;
    }
    struct tensor *x = make(e, NULL, map_size(shape));
    if (x == NULL)
        return NULL;
    x->kind = TENSOR_MAP;
    x->map = *shape;
    return op_clear_halo(e, shape, x->data) ? x : NULL;
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

void tensor_to_planes(const struct tensor *map, real *planes)
{
    const struct map_shape *shape = &map->map;
    size_t image_planes = (size_t)shape->channels * (size_t)shape->height * (size_t)shape->width;
    for (int image = 0; image < shape->images; image++)
        map_to_planar(shape, map->data, planes + (size_t)image * image_planes, image);
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

struct tensor *op_out_shape_only(struct exec *e, const struct map_shape *shape, bool wants)
{
    struct tensor *x = !e->error.code ? op_alloc(e, sizeof(*x)) : NULL;
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
