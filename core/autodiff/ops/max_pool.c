/* Max pooling of a map, and the copy of a map to rows. If the map has a list of its active positions (tensor.active),
 * windows without an active position are skipped, because their maximum is 0. */
#include <string.h>

#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

struct max_pool_node {
    struct node node;
    struct tensor *x;
    struct map_shape pooled;
    int ph, pw;
    uint16_t *arg; /* [images][blocks][rows][cols][16] position of each maximum in its window */
    bool *active;  /* [images][rows][cols] whether each window has an active position; NULL: the map has no list of
                      active positions */
};

struct pool_job {
    const struct kernels *kernels;
    const struct max_pool_node *node;
    const real *x, *rows_in;
    real *pooled; /* the result as a map, or in the backward pass its gradient */
    real *rows, *dx;
    bool part; /* backward: the gradient is needed at active positions only */
};

static struct max_pool_call max_pool_image(const struct pool_job *job, int image)
{
    const struct max_pool_node *p = job->node;
    const struct map_shape *s = &p->pooled;
    size_t args = (size_t)map_padded(s->channels) * (size_t)s->height * (size_t)s->width;
    return (struct max_pool_call){.blocks = map_blocks(s->channels),
                                  .rows = s->height,
                                  .width = s->width,
                                  .max_pool_h = p->ph,
                                  .max_pool_w = p->pw,
                                  .arg = p->arg + (size_t)image * args,
                                  .out = map_strip_at(s, job->pooled, image, 0),
                                  .din_rows = p->x->map.height,
                                  .din_width = p->x->map.width};
}

/* Calls the kernel for each active window of an image and each block of channels. */
static void active_windows(const struct pool_job *job, int image, const real *data,
                           void (*kernel)(const struct max_pool_call *call))
{
    const struct max_pool_node *p = job->node;
    const struct map_shape *s = &p->pooled;
    int windows = s->height * s->width;
    struct max_pool_call call = max_pool_image(job, image);
    struct map_strip in = map_strip_at(&p->x->map, data, image, 0), out = call.out;
    uint16_t *arg = call.arg;
    call.rows = call.width = call.blocks = 1;
    call.din_rows = p->ph;
    call.din_width = p->pw;
    for (int window = 0; window < windows; window++) {
        int row = window / s->width, col = window % s->width;
        for (int block = 0; block < map_blocks(s->channels) && p->active[image * windows + window]; block++) {
            call.arg = arg + ((ptrdiff_t)block * windows + window) * MAP_LANES;
            call.in = in;
            call.in.at += block * in.block + (ptrdiff_t)row * p->ph * in.row + (ptrdiff_t)col * p->pw * MAP_LANES;
            call.out = out;
            call.out.at += block * out.block + row * out.row + (ptrdiff_t)col * MAP_LANES;
            kernel(&call);
        }
    }
}

static void max_pool_forward_task(void *context, int image, int worker)
{
    const struct pool_job *job = context;
    const struct map_shape *s = &job->node->pooled;
    struct max_pool_call call = max_pool_image(job, image);
    call.in = map_strip_at(&job->node->x->map, job->x, image, 0);
    if (job->node->active != NULL) {
        memset(job->pooled + image * map_image_stride(s), 0, (size_t)map_image_stride(s) * sizeof *job->pooled);
        active_windows(job, image, job->x, job->kernels->max_pool_forward);
    } else {
        job->kernels->max_pool_forward(&call);
    }
    map_to_rows(s, job->pooled, job->rows + (ptrdiff_t)image * s->height * s->width * s->channels, s->channels, image);
}

static void max_pool_backward_task(void *context, int image, int worker)
{
    const struct pool_job *job = context;
    const struct map_shape *s = &job->node->pooled;
    map_from_rows(s, job->rows_in + (ptrdiff_t)image * s->height * s->width * s->channels, s->channels, job->pooled,
                  image);
    if (job->part) {
        active_windows(job, image, job->dx, job->kernels->max_pool_backward);
        return;
    }
    struct max_pool_call call = max_pool_image(job, image);
    call.in = map_strip_at(&job->node->x->map, job->dx, image, 0);
    job->kernels->max_pool_backward(&call);
}

static void max_pool_backward(struct exec *e, struct node *node)
{
    struct max_pool_node *p = (struct max_pool_node *)node;
    struct pool_job job = {.kernels = e->kernels, .node = p, .rows_in = node->out->grad};
    job.pooled = op_reals(e, map_size(&p->pooled));
    job.dx = grad_buffer(e, p->x);
    if (job.pooled == NULL || job.dx == NULL)
        return;
    job.part = p->active != NULL && e->sparse != EXEC_DENSE;
    (void)op_run(e, max_pool_backward_task, &job, p->pooled.images);
    if (!job.part) {
        grad_give(e, p->x, job.dx);
        return;
    }
    region_clear_rest(p->x->active, p->ph, p->pw, &p->x->map, job.dx);
    grad_give_region(e, p->x, job.dx, p->x->active);
}

struct tensor *op_max_pool_rows(struct exec *e, struct tensor *x, int ph, int pw)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_MAP || ph < 1 || pw < 1 || x->map.height < ph || x->map.width < pw || ph * pw > UINT16_MAX) {
        op_fail(e, STATUS_INTERNAL, "max pooling: the map is smaller than a window of %d x %d positions", ph, pw);
        return NULL;
    }
    struct map_shape s = x->map;
    s.height /= ph;
    s.width /= pw;
    struct max_pool_node *p = op_alloc(e, sizeof(*p));
    size_t args = (size_t)s.images * (size_t)map_padded(s.channels) * (size_t)s.height * (size_t)s.width;
    uint16_t *arg = op_alloc(e, args * sizeof(*arg));
    real *pooled = op_reals(e, map_size(&s));
    struct tensor *out = op_out_rows(e, s.images * s.height * s.width, s.channels, x->wants_grad);
    if (p == NULL || arg == NULL || pooled == NULL || out == NULL)
        return NULL;
    *p = (struct max_pool_node){.x = x, .pooled = s, .ph = ph, .pw = pw, .arg = arg};
    if (x->active != NULL)
        p->active = region_sites(e, x->active, ph, pw);
    struct pool_job job = {.kernels = e->kernels, .node = p, .x = x->data, .pooled = pooled, .rows = out->data};
    (void)op_run(e, max_pool_forward_task, &job, s.images);
    return op_done(e, &p->node, "max_pool", max_pool_backward, out, since);
}

/* --- a map as rows ------------------------------------------------------------------------------ */

struct rows_job {
    const struct map_shape *shape;
    const real *from;
    real *to;
};

static void to_rows_task(void *context, int image, int worker)
{
    const struct rows_job *job = context;
    const struct map_shape *s = job->shape;
    map_to_rows(s, job->from, job->to + (ptrdiff_t)image * s->height * s->width * s->channels, s->channels, image);
}

static void from_rows_task(void *context, int image, int worker)
{
    const struct rows_job *job = context;
    const struct map_shape *s = job->shape;
    map_from_rows(s, job->from + (ptrdiff_t)image * s->height * s->width * s->channels, s->channels, job->to, image);
}

static void rows_backward(struct exec *e, struct node *node)
{
    struct tensor *x = ((struct max_pool_node *)node)->x;
    struct rows_job job = {&x->map, node->out->grad, grad_buffer(e, x)};
    if (job.to == NULL)
        return;
    (void)op_run(e, from_rows_task, &job, x->map.images);
    grad_give(e, x, job.to);
}

struct tensor *op_map_rows(struct exec *e, struct tensor *x)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    struct max_pool_node *p = op_alloc(e, sizeof(*p));
    struct tensor *out = op_out_rows(e, x->map.images * x->map.height * x->map.width, x->map.channels, x->wants_grad);
    if (p == NULL || out == NULL)
        return NULL;
    p->x = x;
    struct rows_job job = {&x->map, x->data, out->data};
    (void)op_run(e, to_rows_task, &job, x->map.images);
    return op_done(e, &p->node, "map_rows", rows_backward, out, since);
}
