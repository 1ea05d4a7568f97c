/* Walsh-Hadamard transforms of long vectors. Rows are transformed in place. Columns are copied in tiles that fit
 * into the first-level cache. A column cannot be transformed in place quickly: its elements are a power of two apart
 * in memory, so they would use the same few cache lines. */
#include "core/kernels/hadamard.h"

#include <string.h>

enum { TILE_REALS = 8192 };

struct job {
    const struct kernels *kernels;
    int rows, cols, tile; /* the vector has rows * cols elements; tile: columns of a tile */
    const real *d;        /* the diagonal between two column transforms, or NULL */
    real *x, *scratch;
};

static struct job plan(const struct kernels *kernels, int n, const real *d, real *x, real *scratch)
{
    struct job j = {.kernels = kernels, .rows = 1, .cols = n, .d = d, .x = x, .scratch = scratch};
    while (j.cols > HADAMARD_ROW) {
        j.cols /= 2;
        j.rows *= 2;
    }
    j.tile = j.rows * 16 > TILE_REALS ? 16 : TILE_REALS / j.rows;
    j.tile = j.tile < j.cols ? j.tile : j.cols;
    return j;
}

static void row_task(void *context, int chunk, int worker)
{
    const struct job *j = context;
    j->kernels->hadamard_rows(1, j->cols, j->x + (ptrdiff_t)chunk * j->cols, j->cols);
}

static void column_task(void *context, int chunk, int worker)
{
    const struct job *j = context;
    size_t bytes = (size_t)j->tile * sizeof(real);
    ptrdiff_t at = (ptrdiff_t)chunk * j->tile;
    real *tile = j->scratch + (ptrdiff_t)worker * j->rows * j->tile;
    for (int r = 0; r < j->rows; r++)
        memcpy(tile + (ptrdiff_t)r * j->tile, j->x + (ptrdiff_t)r * j->cols + at, bytes);
    j->kernels->hadamard_columns(j->rows, j->tile, tile, j->tile);
    if (j->d) {
        for (int r = 0; r < j->rows; r++)
            j->kernels->multiply((size_t)j->tile, j->d + (ptrdiff_t)r * j->cols + at, tile + (ptrdiff_t)r * j->tile);
        j->kernels->hadamard_columns(j->rows, j->tile, tile, j->tile);
    }
    for (int r = 0; r < j->rows; r++)
        memcpy(j->x + (ptrdiff_t)r * j->cols + at, tile + (ptrdiff_t)r * j->tile, bytes);
}

bool hadamard_transform(struct thread_pool *pool, const struct kernels *kernels, int n, real *x, real *scratch)
{
    struct job j = plan(kernels, n, NULL, x, scratch);
    return thread_pool_run(pool, row_task, &j, j.rows) &&
           (j.rows == 1 || thread_pool_run(pool, column_task, &j, j.cols / j.tile));
}

bool hadamard_sandwich(struct thread_pool *pool, const struct kernels *kernels, int n, const real *d, real *x,
                       real *scratch)
{
    struct job j = plan(kernels, n, d, x, scratch);
    if (!thread_pool_run(pool, row_task, &j, j.rows))
        return false;
    if (j.rows == 1)
        kernels->multiply((size_t)n, d, x);
    else if (!thread_pool_run(pool, column_task, &j, j.cols / j.tile))
        return false;
    return thread_pool_run(pool, row_task, &j, j.rows);
}

size_t hadamard_scratch(const struct thread_pool *pool, int n)
{
    struct job j = plan(NULL, n, NULL, NULL, NULL);
    return j.rows > 1 ? (size_t)thread_pool_threads(pool) * (size_t)j.rows * (size_t)j.tile : 0;
}
