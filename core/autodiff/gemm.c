/* Matrix products on the thread pool.
 *
 * A product is cut into a grid of blocks. Each block packs its parts of both factors again, so the product takes longer
 * with small or narrow blocks. The grid therefore has few, nearly square blocks, and none with less than about ten
 * microseconds of work. Between pieces of a block that takes long, a thread checks whether the pool was stopped. The
 * sum over the inner dimension is never cut, so its order does not depend on the grid, and the grid may have a block
 * for each thread. Very thin blocks are an exception, because the kernels add their products in another order. A grid
 * that can end with a very thin block is therefore the same for any number of threads. */
#include "core/autodiff/tape_int.h"

/* GEMM_BLOCKS: maximum number of blocks of a product if the pool has at most GEMM_BLOCKS threads. On a larger pool, a
 * product may have a block for each thread. THIN_ROWS, THIN_COLS: the kernels compute blocks with fewer rows or columns
 * in another order (core/kernels/fast/gemm.c). */
enum { THIN_ROWS = 4, THIN_COLS = 8 };
enum { GEMM_BLOCKS = 8, GEMM_JOBS = 8, GEMM_LEAST = 2000000, GEMM_ALIGN = 16 };

struct gemm_grid {
    int rows, cols;   /* rows and columns of a block */
    int down, across; /* down: number of blocks below each other; across: number of blocks side by side */
};

/* Maximum number of multiplications in a piece of a block. They take some tenths of a second. */
static const double GEMM_PIECE = 2e10;

struct gemm_task {
    const struct kernels *kernels;
    struct thread_pool *pool;
    bool bf16;
    const struct gemm_job *jobs;
    struct gemm_grid grid[GEMM_JOBS];
    int first[GEMM_JOBS + 1];
    int count;
};

static int block_side(int size, int parts)
{
    int side = (size + parts - 1) / parts;
    return (side + GEMM_ALIGN - 1) / GEMM_ALIGN * GEMM_ALIGN;
}

static bool may_be_thin(int size, int thin)
{
    return size % GEMM_ALIGN != 0 && size % GEMM_ALIGN < thin;
}

static struct gemm_grid gemm_grid(const struct gemm_call *call, int threads)
{
    double work = (double)call->m * call->n * call->k;
    bool fixed = threads <= GEMM_BLOCKS || may_be_thin(call->m, THIN_ROWS) || may_be_thin(call->n, THIN_COLS);
    int most = fixed ? GEMM_BLOCKS : threads;
    int blocks = work / GEMM_LEAST >= most ? most : (int)(work / GEMM_LEAST) + 1;
    struct gemm_grid grid = {call->m, call->n, 1, 1};
    double best = 0.0;
    for (int down = 1; down <= blocks; down++) {
        int across = blocks / down;
        struct gemm_grid g = {block_side(call->m, down), block_side(call->n, across), 0, 0};
        g.down = (call->m + g.rows - 1) / g.rows;
        g.across = (call->n + g.cols - 1) / g.cols;
        double overhead = 1.0 / g.rows + 1.0 / g.cols;
        double merit = (double)(g.down * g.across) / (1.0 + 8.0 * overhead);
        if (merit > best * 1.001) {
            best = merit;
            grid = g;
        }
    }
    return grid;
}

static void finish_block(const struct kernels *kernels, const struct gemm_job *job, int row, int rows, int col,
                         int cols)
{
    const struct gemm_call *call = &job->call;
    real *c = call->c + row * call->ldc + col;
    if (job->bias != NULL)
        (job->relu ? kernels->bias_relu : kernels->bias_add)(rows, cols, job->bias + col, c, call->ldc);
    if (job->dropout <= 0.0)
        return;
    struct dropout_call drop = {.count = (size_t)cols, .p = job->dropout, .at = job->at};
    uint64_t stride = ((uint64_t)call->n + 3) / 4 * 4;
    for (int r = 0; r < rows; r++) {
        drop.at.index = job->at.index + (uint64_t)(row + r) * stride + (uint64_t)col;
        drop.x = drop.y = c + r * call->ldc;
        kernels->dropout(&drop);
    }
}

/* Computes rows [row, row + call->m) and columns [col, col + call->n) of a product. */
static void gemm_piece(const struct gemm_task *task, const struct gemm_job *job, struct gemm_call call, int row,
                       int col)
{
    call.a += call.transpose_a ? row : row * call.lda;
    call.b += call.transpose_b ? col * call.ldb : col;
    call.c += row * call.ldc + col;
    (task->bf16 ? task->kernels->gemm_bf16 : task->kernels->gemm)(&call);
    finish_block(task->kernels, job, row, call.m, col, call.n);
}

static void gemm_block(void *context, int chunk, int worker)
{
    const struct gemm_task *task = context;
    int which = 0;
    while (chunk >= task->first[which + 1])
        which++;
    const struct gemm_job *job = &task->jobs[which];
    const struct gemm_grid *grid = &task->grid[which];
    int block = chunk - task->first[which];
    int row = block / grid->across * grid->rows, col = block % grid->across * grid->cols;
    struct gemm_call call = job->call;
    int rows = call.m - row < grid->rows ? call.m - row : grid->rows;
    call.n = call.n - col < grid->cols ? call.n - col : grid->cols;
    double most = GEMM_PIECE / ((double)call.n * call.k + 1);
    int piece = most >= rows ? rows : most >= GEMM_ALIGN ? (int)most / GEMM_ALIGN * GEMM_ALIGN : GEMM_ALIGN;
    for (int at = 0; at < rows && (at == 0 || !thread_pool_stopped(task->pool)); at += piece) {
        call.m = rows - at < piece ? rows - at : piece;
        gemm_piece(task, job, call, row + at, col);
    }
}

void gemm_run(struct exec *e, const struct gemm_job *jobs, int count)
{
    struct gemm_task task = {.kernels = e->kernels, .pool = e->pool, .bf16 = e->bf16, .jobs = jobs, .count = count};
    for (int i = 0; i < count; i++) {
        task.grid[i] = gemm_grid(&jobs[i].call, thread_pool_threads(e->pool));
        task.first[i + 1] = task.first[i] + task.grid[i].down * task.grid[i].across;
    }
    (void)op_run(e, gemm_block, &task, task.first[count]);
}
