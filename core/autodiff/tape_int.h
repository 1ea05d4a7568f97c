/* Functions that operations share: nodes, gradient buffers, cutting of work, sums over ranks. Private to autodiff/.
 *
 * All functions store a failure in exec.error and then return NULL or false. */
#ifndef MOTIF_CORE_AUTODIFF_TAPE_INT_H
#define MOTIF_CORE_AUTODIFF_TAPE_INT_H

#include "core/autodiff/ops.h"
#include "core/autodiff/tape.h"

/* Each operation has a record, which begins with a struct node and ends with the data that the backward pass needs. */
struct node {
    const char *name;
    void (*backward)(struct exec *e, struct node *node);
    struct tensor *out;
    struct node *before;
    bool regions; /* the backward pass supports gradients that are defined in a region only (region.h) */
};

enum { TAPE_SPARES = 64 };

struct tape {
    struct node *last;
    struct { /* gradient buffers that are no longer read */
        real *at;
        size_t count;
    } spare[TAPE_SPARES];
    int spares;
    real *scratch; /* from op_scratch() */
    size_t scratch_count;
};

/* Stores a failure, unless the step has one already. */
void op_fail(struct exec *e, enum status code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Runs a task on the exec's thread pool. Returns false if the pool was stopped; some chunks have then not run, and the
 * step fails with STATUS_CANCELLED. An operation that uses what the task writes as an index or a length must then
 * return. Any other operation may continue: every later operation returns at once, and nobody reads the step's
 * result. */
bool op_run(struct exec *e, thread_pool_task *task, void *context, int chunks);

/* The next four functions allocate memory from the step arena. op_reals() leaves it uninitialised; the others set it to
 * zero. */
void *op_alloc(struct exec *e, size_t bytes);
real *op_reals(struct exec *e, size_t count);
real *op_zeros(struct exec *e, size_t count);
double *op_doubles(struct exec *e, size_t count);
/* Scratch memory [workers][each] for a task with `chunks` chunks, where workers is thread_pool_workers(chunks). All
 * operations of a step share it, so its content is undefined after the next call. */
real *op_scratch(struct exec *e, size_t each, int chunks);

/* The profile's clock in seconds; 0 without a profile. */
double op_clock(const struct exec *e);
/* The profile's entry for an operation, added if it is new. If the table is full, the last entry is used. */
struct exec_profile_entry *op_profile_entry(struct exec_profile *profile, const char *name);
/* Ends an operation: adds its time to the profile and, in training, records the node if `out` wants a gradient. Returns
 * out, or NULL if the step has failed. */
struct tensor *op_done(struct exec *e, struct node *node, const char *name,
                       void (*backward)(struct exec *e, struct node *node), struct tensor *out, double since);

/* Writes zeros to the halo of a new map, because its memory is uninitialised. Several threads clear a large halo,
 * because its lines are far apart in memory and each line causes a cache miss. Returns false if the pool was
 * stopped. */
bool op_clear_halo(struct exec *e, const struct map_shape *shape, real *data);

/* The next functions create the tensor of an operation's result. The tensor wants a gradient if `wants` is true and the
 * step trains. */
struct tensor *op_out_rows(struct exec *e, int rows, int cols, bool wants);
struct tensor *op_out_map(struct exec *e, const struct map_shape *shape, bool wants);
/* A shape-only tensor: a map without data, which its reader computes from other tensors. */
struct tensor *op_out_shape_only(struct exec *e, const struct map_shape *shape, bool wants);
struct tensor *op_out_like(struct exec *e, const struct tensor *x, bool wants);
/* Whether two tensors have the same kind and sizes. */
bool tensor_same(const struct tensor *x, const struct tensor *y);

static inline bool weight_wants(const struct exec *e, const struct weight *w)
{
    return w != NULL && w->grad != NULL && e->training;
}

/* Returns the gradient buffer of x to an operation that computes a gradient. The operation must write to the buffer if
 * *add is false, and add to it if *add is true. NULL if there is no memory. */
real *grad_open(struct exec *e, struct tensor *x, bool *add);
/* grad_buffer() returns a buffer with the size and kind of x, a free one or else a new one; the halo of a map is zero.
 * grad_release() puts a buffer into the list of free buffers (tape.spare). */
real *grad_buffer(struct exec *e, const struct tensor *x);
void grad_release(struct exec *e, real *at, size_t count);
/* Passes the gradient of `from` on to `to`: moves the buffer if `to` has none yet, else adds. `from` has no gradient
 * afterwards. */
void grad_pass(struct exec *e, struct tensor *from, struct tensor *to);
/* Adds `buffer` (in x's layout) to x's gradient, or makes it the gradient if x has none. Takes ownership of the buffer.
 */
void grad_give(struct exec *e, struct tensor *x, real *buffer);

/* Returns the array for the gradient of w. The first operation of a step must write its gradient to the array (*add
 * false), later operations must add to it (*add true). With `zero`, the array is zeroed for the first operation. */
real *weight_open(struct weight *w, bool zero, bool *add);

/* The backward pass of a batch norm begins with two sums over the gradient of its result. The operation that writes
 * this gradient may compute the sums while a strip is in the cache. The batch norm uses these sums only if no other
 * operation wrote to the gradient. */
struct norm_sums {
    struct norm_call call; /* the call of kernels.norm_sums(), in which each operation sets the strips, rows and sums */
    const struct tensor *x;
    double *sums;        /* [chunks][2][padded channels] the sums, or NULL */
    int chunks, writers; /* chunks: length of `sums`; writers: number of operations that have written the gradient so
                          * far */
};

/* Batch norm with ReLU whose result is a shape-only tensor. The convolution that reads the result normalises its own
 * input by tensor.norm (conv_norm in kernels.h). */
struct tensor *norm_deferred(struct exec *e, struct tensor *x, struct batch_norm *norm);

/* --- splitting ---------------------------------------------------------------------------------- */

/* Cuts the images of a map into strips of rows. The aim is `least` strips for all images together. There are fewer if
 * strips would have less than 8 rows, and more if there are more than `least` images. */
struct map_split {
    int strips, rows; /* strips: number of strips of an image; rows: number of rows of a strip; the last strip of an
                         image may have fewer */
    int chunks;       /* number of chunks: images * strips */
};
struct map_split map_split(const struct map_shape *shape, int least);
struct map_piece {
    int image, row, rows;
};
/* Returns the part of the map that the chunk with index `chunk` processes: rows [row, row + rows) of one image. */
struct map_piece map_piece(const struct map_split *split, const struct map_shape *shape, int chunk);

/* Cuts the rows of a table into pieces. The number of rows of a piece is a multiple of 4, because the first random
 * number of a piece must have an index that is a multiple of 4 (dropout_call in kernels.h). */
struct row_split {
    int rows, chunks;
};
struct row_split row_split(int rows, int cols);
static inline int row_split_count(const struct row_split *split, int rows, int chunk)
{
    int left = rows - chunk * split->rows;
    return left < split->rows ? left : split->rows;
}

/* Cuts an array into pieces of FLAT_CHUNK elements. */
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
/* y += x on the thread pool. */
void flat_add(struct exec *e, size_t count, const real *x, real *y);
/* Computes sums[j], the sum over the rows r of x[r][j], in row order, on the thread pool. */
void column_sums(struct exec *e, int rows, int cols, const real *x, ptrdiff_t ld_x, real *sums);

static inline uint32_t op_stream(struct exec *e)
{
    return e->streams++;
}

/* --- ranks (ranks.c) ------------------------------------------------------------------------------ */

/* Whether other ranks have parts of this batch. Sums over the batch must then be added up over ranks. */
static inline bool op_ranked(const struct exec *e)
{
    return e->comm != NULL && e->training;
}
/* op_ranks_sum() replaces each of `count` values by its sum over the ranks, op_ranks_most() by its maximum; with one
 * rank nothing changes. False after a failure. */
bool op_ranks_sum(struct exec *e, double *values, size_t count);
bool op_ranks_most(struct exec *e, double *values, size_t count);
/* op_before() returns how many elements the samples of all lower ranks have together, op_total() how many elements the
 * whole batch has. here: number of elements of this rank's samples. All samples of the batch must have the same number
 * of elements. */
uint64_t op_before(const struct exec *e, uint64_t here);
double op_total(const struct exec *e, double here);
/* The position of the operation's first random number. count: elements of its result on this rank. Fails with
 * STATUS_INVALID if `dropout` is true and the position is not a multiple of 4. */
struct random_at op_random(struct exec *e, uint64_t count, bool dropout);

/* --- weights of convolutions (conv_weights.c) ------------------------------------------------------ */

/* Fills in the sizes and the weights of `call`. w: [out][in][kernel_h][kernel_w]; the function packs it as the kernels
 * read it. transposed: the call will compute the gradient of the convolution's input. Returns false after a failure. */
bool conv_weights_prepare(struct exec *e, const struct weight *w, bool transposed, struct conv_call *call);
/* Adds `count` partial gradients, one after another, to the gradients of w and b. A partial gradient is the packed
 * gradient of w, then that of b with padded channels; the next one begins `stride` reals later. b: NULL if there is
 * none. */
void conv_weights_collect(struct exec *e, const real *partials, int count, size_t stride, struct weight *w,
                          struct weight *b);

/* --- matrix products ---------------------------------------------------------------------------- */

/* A matrix product, and the functions applied to each block of the result while it is in cache. */
struct gemm_job {
    struct gemm_call call;
    const real *bias;    /* [n] added to each row, or NULL */
    bool relu;           /* apply ReLU; requires a bias */
    double dropout;      /* probability of zeroing; 0: no dropout */
    struct random_at at; /* position of the first random number; element (r, j) of the result uses index r * (n rounded
                            up to 4) + j */
};
/* Computes all jobs as one task of the thread pool. The pool computes parts of different jobs at the same time, so no
 * job may read what another one writes. */
void gemm_run(struct exec *e, const struct gemm_job *jobs, int count);

#endif
