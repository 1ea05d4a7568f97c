/* Reverse-mode differentiation over a fixed set of operations.
 *
 * An operation (ops.h) computes its result at once into the step arena. In training it also records a node on the
 * tape, and tape_backward() runs the nodes in reverse. After the first few steps, steps no longer call malloc(): the
 * arena is reset, not freed, and gradient buffers are reused for the next tensor of the same size.
 *
 * The first operation that fails (no memory, wrong shapes) fills `exec.error` and returns NULL. Every operation
 * returns NULL if an input is NULL. A network is therefore composed without checks, and the caller checks
 * exec_status() once at the end of the step.
 *
 * Results have the same bits for any number of threads: work is cut into chunks by shape only, and partial sums are
 * added in chunk order. One thread at a time may use an exec. Any number of execs that evaluate may share weights. */
#ifndef MOTIF_CORE_AUTODIFF_TAPE_H
#define MOTIF_CORE_AUTODIFF_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/parallel/comm.h"
#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"
#include "core/base/real.h"
#include "core/kernels/kernels.h"
#include "core/kernels/map.h"

/* A trained array in the blocks of nn/params.h. Operations read `value`. If `grad` is not NULL, their backward passes
 * write the gradient there: the first writer of a step assigns, later writers add. */
struct weight {
    real *value;
    real *grad;      /* NULL: frozen, or the model only evaluates */
    bool grad_ready; /* the gradient was written in this step */
    int rank;
    int dim[4];
    size_t count;
};

struct norm_sums; /* private to the operations: sums for the backward pass of a batch norm */
struct region;    /* private to the operations: a set of positions of a map (region.h) */

enum tensor_kind {
    TENSOR_ROWS, /* data: [rows][cols], row-major */
    TENSOR_MAP   /* data: a map in the blocked layout of kernels/map.h */
};

struct tensor {
    enum tensor_kind kind;
    bool wants_grad;      /* the backward pass must compute this tensor's gradient */
    bool grad_ready;      /* `grad` contains the gradients received so far */
    int rows, cols;       /* for TENSOR_ROWS */
    struct map_shape map; /* for TENSOR_MAP */
    /* NULL for a shape-only tensor, which stands for the result of a batch norm: the convolution that reads the tensor
     * computes the values itself, from `norm`. */
    real *data;
    real *grad;             /* NULL until the backward pass reaches this tensor */
    size_t count;           /* number of reals in `data`, including halo and padding */
    double *moments;        /* for a convolution's result: sums from which a batch norm gets the mean and variance,
                             * [2][padded channels] for each piece of the map; else NULL */
    int moment_pieces;      /* the argument `least` with which map_split() cuts the map into the pieces of `moments` */
    struct norm_sums *norm; /* for a batch norm's result: the sums that its backward pass needs */
    /* Result of a threshold: the positions that are not zero; NULL if they are too many for a list. The threshold
     * discards gradients at other positions. */
    struct region *active;
    /* The gradient is zero, and `grad` undefined, outside this region. NULL: the gradient is defined everywhere. */
    struct region *where;
};

/* The time of each operation, for benchmarks and tuning; recorded if exec.profile is set. */
struct exec_profile {
    struct exec_profile_entry {
        const char *name;
        double forward_seconds, backward_seconds;
        int64_t calls;
    } entries[48];
    int count;
    bool processor_time; /* processor time of all threads together, instead of wall time */
};

struct tape; /* contains the nodes of the step, and spare gradient buffers */

/* Whether backward passes compute gradients only at the positions that a threshold left active: never, always, or where
 * a cost model predicts that this is faster. The model uses the positions only, so results do not depend on clocks or
 * threads. */
enum exec_sparse { EXEC_DENSE, EXEC_SPARSE, EXEC_SPARSE_AUTO };

struct exec {
    const struct kernels *kernels;
    struct thread_pool *pool;
    struct arena *arena; /* the step arena; exec_begin() resets it */
    uint64_t seed;       /* seed of the random numbers for dropout and noise */
    enum exec_sparse sparse;
    bool bf16;         /* linear layers and LSTMs round the factors of products to bf16 (kernels.h, gemm_bf16) */
    struct comm *comm; /* the ranks that share each training batch; NULL: one rank */
    /* Called in the backward pass at each mark that exec_done_from() set in the forward pass; may be NULL. */
    void (*done_from)(void *context, const struct weight *first);
    void *done_context;
    /* true: the gradient of batch-norm statistics goes to one image only, so that the gradients of the other images
     * stay sparse (ops.h) */
    bool hold;
    /* exec_begin() sets the members from here to `tape`: */
    bool training;    /* true: record nodes, apply dropout, use batch statistics, move thresholds */
    uint64_t step;    /* index of the optimiser update; a dropout mask depends on (seed, stream, step, index) */
    uint32_t streams; /* number of random streams that this step has used; the next operation uses the stream with this
                         index */
    /* This rank has samples [first, first + count) of a batch of `total` samples. count 0: this rank has the whole
     * batch. */
    struct exec_share {
        int first, count, total;
    } share;
    struct error error; /* the first failure of the step */
    struct tape *tape;
    struct exec_profile *profile; /* owned by the caller; NULL: no clock is read */
};

/* Initialises an exec. The caller keeps the ownership of all arguments, which must outlive the exec. Allocates nothing.
 * Several execs may use one pool, but not at the same time. */
void exec_init(struct exec *exec, const struct kernels *kernels, struct thread_pool *pool, struct arena *arena,
               uint64_t seed);
/* Begins a step: resets the arena and the tape. All earlier tensors become invalid. */
void exec_begin(struct exec *exec, bool training, uint64_t step);
/* In an evaluation: frees the tensors and all other memory that operations allocated from the arena after `mark`. */
void exec_release(struct exec *exec, struct arena_mark mark);
/* The first failure of the step, copied to *err; STATUS_OK if there is none. */
enum status exec_status(const struct exec *exec, struct error *err);

/* After exec_begin(): this step's tensors contain `count` samples, from `first` on, of a batch of `total`; the other
 * ranks of exec.comm have the rest. In training, sums over the batch then cover the whole batch: batch-norm statistics
 * and their gradients, quantiles, means and losses. Random numbers depend on a sample's position in the whole batch.
 * Gradients of weights remain each rank's own part; nn/gradients.h adds them up. In evaluation only the random numbers
 * depend on the share. */
void exec_set_share(struct exec *exec, int64_t first, int64_t count, int64_t total);
/* Sets a mark between two operations. The operations before the mark must not use `first` or any weight declared after
 * it. When the backward pass reaches the mark, the gradients of these weights are complete, and tape_backward() calls
 * exec.done_from. */
void exec_done_from(struct exec *exec, const struct weight *first);
/* The next two functions measure work outside the operations. Call exec_clock() before the work (it returns 0 without a
 * profile) and exec_profiled() after it, which adds the elapsed time to the entry `name` (static text). */
double exec_clock(const struct exec *exec);
void exec_profiled(struct exec *exec, const char *name, double since);

/* tensor_rows() and tensor_map() create uninitialised tensors in the step arena; NULL after a failure. The halo of a
 * map is zero; its writer must also write zeros to the padding channels. */
struct tensor *tensor_rows(struct exec *exec, int rows, int cols);
struct tensor *tensor_map(struct exec *exec, const struct map_shape *shape);
/* Creates a tensor over the caller's memory [rows][cols], which must outlive the step. wants_grad: a training step
 * computes the gradient of the tensor. */
struct tensor *tensor_wrap_rows(struct exec *exec, real *data, int rows, int cols, bool wants_grad);
/* tensor_from_planes() copies planes [image][channel][height][width], without halo, to a new map. tensor_to_planes()
 * copies a map to planes. */
struct tensor *tensor_from_planes(struct exec *exec, const real *planes, const struct map_shape *shape,
                                  bool wants_grad);
void tensor_to_planes(const struct tensor *map, real *planes);

/* Runs the recorded nodes in reverse. seed: the gradient of `root`, in the layout of its data; NULL: 1 everywhere, as
 * for a loss. Afterwards weight.grad contains the gradients of weights. The gradients of tensors from
 * tensor_wrap_rows() and tensor_from_planes() stay readable until exec_begin(). Returns the first failure of the step
 * (exec_status()). */
enum status tape_backward(struct exec *exec, struct tensor *root, const real *seed, struct error *err);

#endif
