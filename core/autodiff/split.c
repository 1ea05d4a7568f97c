/* Cuts the work of an operation into chunks for the thread pool.
 *
 * The cut depends on sizes alone, never on the number of threads, so sums over chunks have the same bits for any
 * number of threads. */
#include "core/autodiff/tape_int.h"

struct map_split map_split(const struct map_shape *shape, int least)
{
    int strips = (least + shape->images - 1) / shape->images;
    int most = (shape->height + 7) / 8;
    if (strips > most)
        strips = most;
    int rows = ((shape->height + strips - 1) / strips + 3) / 4 * 4; /* a multiple of 4, because convolutions work in
                                                                     * tiles of 4 rows */
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
    (void)op_run(e, flat_add_task, &task, flat_chunks(count));
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
    (void)op_run(e, column_task, &task, (cols + COLUMN_CHUNK - 1) / COLUMN_CHUNK);
}
