/* What operations share: nodes, gradient buffers, splitting of work. Private to autodiff/. */
#ifndef MOTIF_CORE_AUTODIFF_TAPE_INT_H
#define MOTIF_CORE_AUTODIFF_TAPE_INT_H

#include "core/autodiff/ops.h"
#include "core/autodiff/tape.h"

/* An operation's record begins with its node and holds what its backward pass needs. */
struct node {
    const char *name;
    void (*backward)(struct exec *e, struct node *node);
    struct tensor *out;
    struct node *before;
    bool regions; /* its backward pass knows gradients that are there in a region only (region.h) */
};

enum { TAPE_SPARES = 64 };

struct tape {
    struct node *last;
    struct { /* gradient buffers that nobody reads any more */
        real *at;
        size_t count;
    } spare[TAPE_SPARES];
    int spares;
};

/* Marks the step as failed unless it already is. */
void op_fail(struct exec *e, enum status code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* From the step arena; NULL (and the step failed) when exhausted. op_alloc() zeroes. */
void *op_alloc(struct exec *e, size_t bytes);
real *op_reals(struct exec *e, size_t count);
real *op_zeros(struct exec *e, size_t count);
double *op_doubles(struct exec *e, size_t count); /* zeroed */

/* Seconds of a monotonic clock when a profile is kept, else 0. */
double op_clock(const struct exec *e);
/* The entry of an operation, added if it is new; the last entry takes what no longer fits. */
struct exec_profile_entry *op_profile_entry(struct exec_profile *profile, const char *name);
/* Ends an operation: counts its time, and in training records it if a gradient may come. Returns out. */
struct tensor *op_done(struct exec *e, struct node *node, const char *name,
                       void (*backward)(struct exec *e, struct node *node), struct tensor *out, double since);

/* New result tensors that want a gradient if `wants`. */
struct tensor *op_out_rows(struct exec *e, int rows, int cols, bool wants);
struct tensor *op_out_map(struct exec *e, const struct map_shape *shape, bool wants);
/* A map without data: what stands for it is elsewhere. */
struct tensor *op_out_shape_only(struct exec *e, const struct map_shape *shape, bool wants);
struct tensor *op_out_like(struct exec *e, const struct tensor *x, bool wants);
/* Same kind and sizes. */
bool tensor_same(const struct tensor *x, const struct tensor *y);

static inline bool weight_wants(const struct exec *e, const struct weight *w)
{
    return w != NULL && w->grad != NULL && e->training;
}

/* The gradient buffer of x, to be written (*add false) or added to (*add true). NULL when memory is out. */
real *grad_open(struct exec *e, struct tensor *x, bool *add);
/* A spare or new buffer of the size and kind of x; a map's halo is zero. */
real *grad_buffer(struct exec *e, const struct tensor *x);
void grad_release(struct exec *e, real *at, size_t count);
/* The gradient of `from` is also that of `to`: handed over when `to` has none yet, else added; either way `from`
 * has none afterwards. */
void grad_pass(struct exec *e, struct tensor *from, struct tensor *to);
/* Adds `buffer` (of x's layout) to x's gradient, or makes it that gradient. The buffer is given away. */
void grad_give(struct exec *e, struct tensor *x, real *buffer);

/* Gradient of a weight, zeroed first if this is the first writer and `zero`; *add says whether there is
 * something to be added to. */
real *weight_open(struct weight *w, bool zero, bool *add);

/* The backward pass of a batch norm begins with two sums over the gradient of its result. An operation that writes
 * this gradient may take them along while a strip is in cache: it fills `sums`, and they count if nobody
 * else wrote. */
struct norm_sums {
    struct norm_call call; /* all but strips, rows and sums */
    const struct tensor *x;
    double *sums;        /* [chunks][2][padded channels], or NULL */
    int chunks, writers; /* writers: of the gradient, so far */
};

/* Batch norm with ReLU for the one operation that reads it by way of `norm` (conv_norm in kernels.h): its result has no
 * data. */
struct tensor *norm_deferred(struct exec *e, struct tensor *x, struct batch_norm *norm);

/* --- splitting ---------------------------------------------------------------------------------- */

/* Images of a map cut into strips of rows, so that there are about `least` pieces or more. */
struct map_split {
    int strips, rows; /* a strip has `rows` rows, the last of an image perhaps fewer */
    int chunks;       /* images * strips */
};
struct map_split map_split(const struct map_shape *shape, int least);
struct map_piece {
    int image, row, rows;
};
struct map_piece map_piece(const struct map_split *split, const struct map_shape *shape, int chunk);

/* Rows of a table in pieces of a multiple of 4 rows (dropout's index rule). */
struct row_split {
    int rows, chunks;
};
struct row_split row_split(int rows, int cols);
static inline int row_split_count(const struct row_split *split, int rows, int chunk)
{
    int left = rows - chunk * split->rows;
    return left < split->rows ? left : split->rows;
}

/* A flat range in pieces. */
enum { FLAT_CHUNK = 32768 };
static inline int flat_chunks(size_t count)
{
    return (int)((count + FLAT_CHUNK - 1) / FLAT_CHUNK);
}
static inline size_t flat_count(size_t count, int chunk)
{
    size_t left = count - (size_t)chunk * FLAT_CHUNK;
    return left < FLAT_CHUNK ? left : FLAT_CHUNK;
}
/* y += x over the pool. */
void flat_add(struct exec *e, size_t count, const real *x, real *y);
/* sums[j] = sum over rows, in order, of x[r][j]. */
void column_sums(struct exec *e, int rows, int cols, const real *x, ptrdiff_t ld_x, real *sums);

static inline uint32_t op_stream(struct exec *e)
{
    return e->streams++;
}

/* --- ranks (ranks.c) ------------------------------------------------------------------------------ */

/* Whether sums over this batch are to be completed by other ranks. */
static inline bool op_ranked(const struct exec *e)
{
    return e->comm != NULL && e->training;
}
/* Completes them, in place; nothing to do with one rank. False after a failure. */
bool op_ranks_sum(struct exec *e, double *values, size_t count);
bool op_ranks_most(struct exec *e, double *values, size_t count);
/* Of something that has `here` on this rank's samples, as many for each: before this rank's, and of the whole batch. */
uint64_t op_before(const struct exec *e, uint64_t here);
double op_total(const struct exec *e, double here);
/* Where this op's random numbers begin, its result having `count` elements on this rank. Dropout wants it to be a
 * multiple of 4. */
struct random_at op_random(struct exec *e, uint64_t count, bool dropout);

/* --- matrix products ---------------------------------------------------------------------------- */

/* A product cut into blocks by its sizes, with what is done to each block while it is in cache. */
struct gemm_job {
    struct gemm_call call;
    const real *bias;    /* [n] or NULL */
    bool relu;           /* needs a bias */
    double dropout;      /* 0: none */
    struct random_at at; /* row r, column j: index r * (n rounded up to 4) + j */
};
/* Runs all jobs in one go; they must not depend on one another. */
void gemm_run(struct exec *e, const struct gemm_job *jobs, int count);

#endif
