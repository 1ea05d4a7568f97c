/* The mean of all elements of a tensor, as a loss; and a loss that the caller has computed. */
#include <string.h>

#include "core/autodiff/tape_int.h"

struct mean_node {
    struct node node;
    struct tensor *x;
    double factor;
};

struct sum_task {
    const struct kernels *kernels;
    const struct tensor *x;
    struct map_split split;
    double *sums; /* partial sums: [chunks][padded channels] for a map, [chunks] for rows */
};

static void sum_map_task(void *context, int chunk, int worker)
{
    const struct sum_task *task = context;
    const struct map_shape *s = &task->x->map;
    struct map_piece piece = map_piece(&task->split, s, chunk);
    task->kernels->map_sums(map_blocks(s->channels), piece.rows, s->width,
                            map_strip_at(s, task->x->data, piece.image, piece.row),
                            task->sums + (size_t)chunk * (size_t)map_padded(s->channels));
}

static void sum_rows_task(void *context, int chunk, int worker)
{
    const struct sum_task *task = context;
    const real *x = task->x->data + (size_t)chunk * FLAT_CHUNK;
    double sum = 0.0;
    for (size_t i = 0; i < flat_count(task->x->count, chunk); i++)
        sum += (double)x[i];
    task->sums[chunk] = sum;
}

static double sum_all(struct exec *e, const struct tensor *x)
{
    struct sum_task task = {.kernels = e->kernels, .x = x};
    bool map = x->kind == TENSOR_MAP;
    int chunks = flat_chunks(x->count), each = 1, used = 1;
    if (map) {
        task.split = map_split(&x->map, 16);
        chunks = task.split.chunks;
        each = map_padded(x->map.channels);
        used = x->map.channels;
    }
    task.sums = op_doubles(e, (size_t)chunks * (size_t)each);
    if (task.sums == NULL)
        return 0.0;
    (void)op_run(e, map ? sum_map_task : sum_rows_task, &task, chunks);
    double sum = 0.0;
    for (int chunk = 0; chunk < chunks; chunk++)
        for (int c = 0; c < used; c++)
            sum += task.sums[(size_t)chunk * (size_t)each + (size_t)c];
    return sum;
}

static void fill_map(const struct map_shape *s, real *data, real value)
{
    memset(data, 0, sizeof(real) * map_size(s));
    for (int image = 0; image < s->images; image++)
        for (int c = 0; c < s->channels; c++)
            for (int row = 0; row < s->height; row++) {
                real *at = data + map_offset(s, image, c / MAP_LANES, row, 0) + c % MAP_LANES;
                for (int col = 0; col < s->width; col++)
                    at[(ptrdiff_t)col * MAP_LANES] = value;
            }
}

static void mean_backward(struct exec *e, struct node *node)
{
    struct mean_node *n = (struct mean_node *)node;
    real value = (real)(n->factor * (double)node->out->grad[0]);
    real *buffer = grad_buffer(e, n->x);
    if (buffer == NULL)
        return;
    if (n->x->kind == TENSOR_MAP)
        fill_map(&n->x->map, buffer, value);
    for (size_t i = 0; i < n->x->count && n->x->kind == TENSOR_ROWS; i++)
        buffer[i] = value;
    grad_give(e, n->x, buffer);
}

struct tensor *op_mean(struct exec *e, struct tensor *x)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    double count = x->kind == TENSOR_ROWS ? (double)x->count
                                          : (double)x->map.images * x->map.channels * x->map.height * x->map.width;
    struct tensor *out = op_out_rows(e, 1, 1, x->wants_grad);
    struct mean_node *n = op_alloc(e, sizeof(*n));
    if (out == NULL || n == NULL)
        return NULL;
    n->x = x;
    n->factor = 1.0 / op_total(e, count);
    double all = sum_all(e, x);
    op_ranks_sum(e, &all, 1);
    out->data[0] = (real)(n->factor * all);
    return op_done(e, &n->node, "mean", mean_backward, out, since);
}

/* ---- a loss that the caller has computed ------------------------------------------------------------ */

struct known_node {
    struct node node;
    struct tensor *x;
    const real *gradient;
};

static void known_backward(struct exec *e, struct node *node)
{
    struct known_node *n = (struct known_node *)node;
    real *buffer = grad_buffer(e, n->x);
    if (buffer == NULL)
        return;
    memset(buffer, 0, n->x->count * sizeof *buffer);
    e->kernels->axpy(n->x->count, node->out->grad[0], n->gradient, buffer);
    grad_give(e, n->x, buffer);
}

struct tensor *op_known(struct exec *e, struct tensor *x, double value, const real *gradient)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    struct tensor *out = op_out_rows(e, 1, 1, x->wants_grad);
    struct known_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    n->x = x;
    n->gradient = gradient;
    out->data[0] = (real)value;
    return op_done(e, &n->node, "known", known_backward, out, since);
}
