/* Reverse-mode differentiation over a fixed set of operations.
 *
 * Define-by-run: an operation (ops.h) computes its result at once into the step arena and, in
 * training, leaves a node on the tape; tape_backward() walks the nodes in reverse. Nothing is
 * allocated in a step after the first few: the arena is reset, not freed, and gradient buffers that
 * are done with are handed to the next tensor of the same size.
 *
 * Failure is sticky. The first operation that cannot go on (no memory, shapes that do not fit)
 * fills `exec.error` and returns NULL; every operation given a NULL tensor returns NULL. So a network is
 * composed without looking, and whoever runs the step asks exec_status() once.
 *
 * Results are the same bits for any number of threads: work is cut into chunks by its shape alone,
 * partial sums are added in chunk order. One exec belongs to one thread at a time; weights may be
 * shared by any number of evaluating execs. */
#ifndef MOTIF_CORE_AUTODIFF_TAPE_H
#define MOTIF_CORE_AUTODIFF_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/comm.h"
#include "core/base/error.h"
#include "core/base/thread_pool.h"
#include "core/base/real.h"
#include "core/kernels/kernels.h"
#include "core/kernels/map.h"

/* A trained array. It lives in the blocks of nn/params.h; operations read `value` and, when `grad`
 * is not NULL, leave the gradient there: the first writer of a step assigns, later ones add. */
struct weight {
    real *value;
    real *grad;      /* NULL: frozen, or evaluation only */
    bool grad_ready; /* something has been written in this step */
    int rank;
    int dim[4];
    size_t count;
};

struct norm_sums; /* private to the operations */
struct region;    /* likewise: some positions of a map */

enum tensor_kind {
    TENSOR_ROWS, /* data: [rows][cols], row-major */
    TENSOR_MAP   /* data: the blocked layout of kernels/map.h */
};

struct tensor {
    enum tensor_kind kind;
    bool wants_grad;        /* a gradient must flow through it */
    bool grad_ready;        /* `grad` holds what has arrived so far */
    int rows, cols;         /* TENSOR_ROWS */
    struct map_shape map;   /* TENSOR_MAP */
    real *data;             /* NULL: a batch norm that its only reader computes on the way in, from `norm` */
    real *grad;             /* NULL until the backward pass reaches it */
    size_t count;           /* numbers in `data`, halo and padding included */
    double *moments;        /* of a map just written by a convolution: per piece [2][padded channels], or NULL */
    int moment_pieces;      /* how it was cut */
    struct norm_sums *norm; /* of a map made by a batch norm: what its backward pass will want to know */
    struct region *active;  /* of a map made by a threshold: where it is not zero; NULL when those are too many.
                               Elsewhere  its maker drops whatever gradient arrives */
    struct region
        *where; /* positions outside which the gradient is zero (and `grad` undefined); NULL: all may differ */
};

/* Time by operation, for `bench` and for whoever tunes; off unless exec.profile is set. */
struct exec_profile {
    struct exec_profile_entry {
        const char *name;
        double forward_seconds, backward_seconds;
        int64_t calls;
    } entries[48];
    int count;
    bool processor_time; /* of all threads together, instead of wall time */
};

struct tape; /* nodes of the step, free gradient buffers */

/* Whether backward passes follow the active positions behind a threshold alone: never, always, or wherever that
 * is predicted to be faster (from the positions, so that results do not depend on clocks or threads). */
enum exec_sparse { EXEC_DENSE, EXEC_SPARSE, EXEC_SPARSE_AUTO };

struct exec {
    const struct kernels *kernels;
    struct thread_pool *pool;
    struct arena *arena; /* the step arena; exec_begin() resets it */
    uint64_t seed;       /* of dropout */
    enum exec_sparse sparse;
    bool bf16;         /* linear layers and LSTMs round what they multiply to bf16 (kernels.h, gemm_bf16) */
    struct comm *comm; /* ranks that share each batch of training; NULL: one */
    /* Told, in the backward pass, where exec_done_from() stood in the forward pass. NULL: nobody asks. */
    void (*done_from)(void *context, const struct weight *first);
    void *done_context;
    bool hold; /* the gradient of batch norms' statistics goes to one image only (ops.h): others stay sparse */
    /* Set by exec_begin(). */
    bool training;    /* record; dropout on; batch statistics; thresholds move */
    uint64_t step;    /* counts optimiser updates: a dropout mask is a function of (seed, stream, step, index) */
    uint32_t streams; /* dropout call sites met so far in this step: the stream of the next one */
    struct exec_share {
        int first, count,
            total; /* samples [first, first + count) of the batch's `total` are here; count 0: all, however many */
    } share;
    struct error error; /* first failure of the step */
    struct tape *tape;
    struct exec_profile *profile; /* borrowed; NULL: no clock is read */
};

/* Plain fields are copied; nothing is allocated. The same pool may serve other execs in turn. */
void exec_init(struct exec *exec, const struct kernels *kernels, struct thread_pool *pool, struct arena *arena,
               uint64_t seed);
/* Resets the arena and the tape: every tensor of the step before is gone. */
void exec_begin(struct exec *exec, bool training, uint64_t step);
enum status exec_status(const struct exec *exec, struct error *err);

/* After exec_begin(): this step's tensors hold `count` samples from `first` on of a batch of `total`; the other ranks
 * of exec.comm have the others. In training what is a sum over the batch then is over all of it: statistics of batch
 * norms and their gradients, quantiles, means and losses. Random numbers are those of the sample's place in the whole
 * batch. Gradients of weights stay each rank's own part, to be added up (nn/gradients.h). In evaluation nothing but the
 * random numbers is shared. */
void exec_set_share(struct exec *exec, int64_t first, int64_t count, int64_t total);
/* Between operations: weights that were declared with or after `first` take no part in what was done so far. So in the
 * backward pass, when all that follows has been gone through, their gradients are complete, and exec.done_from says so.
 */
void exec_done_from(struct exec *exec, const struct weight *first);
/* Time of work beside the operations: exec_clock() before it (0 without a profile), and its entry afterwards. */
double exec_clock(const struct exec *exec);
void exec_profiled(struct exec *exec, const char *name, double since);

/* Uninitialised tensors in the step arena. A map's halo is zero; its padding channels are to be, like its values, by
 * whoever writes it. */
struct tensor *tensor_rows(struct exec *exec, int rows, int cols);
struct tensor *tensor_map(struct exec *exec, const struct map_shape *shape);
/* A tensor over the caller's memory (which outlives the step), in training with gradient if asked. */
struct tensor *tensor_wrap_rows(struct exec *exec, real *data, int rows, int cols, bool wants_grad);
/* Planes [image][channel][height][width] into a new map, and back (`planes` has no halo). */
struct tensor *tensor_from_planes(struct exec *exec, const real *planes, const struct map_shape *shape,
                                  bool wants_grad);
void tensor_to_planes(const struct tensor *map, real *planes);
void tensor_grad_to_planes(const struct tensor *map, real *planes); /* zeros where no gradient came */

/* Runs the recorded nodes in reverse. `seed` is the gradient of `root`, laid out as its data; NULL
 * means 1 everywhere, as for a loss. Gradients of weights are in weight.grad afterwards; those of
 * tensors made by tensor_wrap_rows() and tensor_from_planes() stay readable until exec_begin(). */
enum status tape_backward(struct exec *exec, struct tensor *root, const real *seed, struct error *err);

#endif
