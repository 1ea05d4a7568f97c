/* The trained arrays of a model: one block of values, one block of gradients, and a table of names and shapes.
 *
 * Layers declare their arrays with params_add() and keep the `struct weight *`. Then params_seal() allocates the
 * memory, sets the pointers, and returns the first error of the declarations. Numbers and sizes of the arrays are
 * known before params_seal(). Initial values are a function of (seed, name). They do not depend on the order of the
 * declarations, the number of threads or other arrays. In the SPARLING networks all layers of a stack start with
 * equal values: each array of layer i names the array of layer 0 as its `shared_init`. One thread at a time may
 * change a params. */
#ifndef MOTIF_CORE_NN_PARAMS_H
#define MOTIF_CORE_NN_PARAMS_H

#include "core/autodiff/tape.h"
#include "core/base/snapshot.h"

enum init_rule {
    INIT_CONSTANT, /* every element is `scale` */
    INIT_UNIFORM,  /* uniform in [-scale, scale) */
    INIT_NORMAL    /* mean 0, standard deviation scale */
};
struct init {
    enum init_rule rule;
    double scale;
    const char *shared_init; /* name of the array whose initial values are shared (copied); NULL: values of its own */
};

static inline struct init init_constant(double value)
{
    return (struct init){INIT_CONSTANT, value, NULL};
}
struct init init_fan_in(int fan_in); /* uniform with scale 1 / sqrt(fan_in), for weights and biases of layers */
struct init init_xavier(int fan_in, int fan_out); /* uniform with scale sqrt(6 / (fan_in + fan_out)) */
struct init init_normal(double deviation);

struct params;

/* Creates an empty set of arrays. STATUS_NO_MEMORY. params_destroy() accepts NULL and also frees the weights. */
enum status params_create(struct params **params, struct error *err);
void params_destroy(struct params *params);

/* Declares a trained array. name: copied, unique, shorter than SNAPSHOT_NAME; exports use it. Never returns NULL: after
 * a failure it returns a dummy that must not be used, and params_seal() returns the error. */
struct weight *params_add(struct params *params, const char *name, int rank, const int *dim, struct init init);
/* Declares an array that is saved with the weights but not trained: running statistics, thresholds. */
struct weight *params_add_state(struct params *params, const char *name, int count, double value);

/* Allocates zeroed memory. with_grad false: no gradients, for evaluation only. Returns the first error of the
 * declarations (STATUS_INTERNAL) or STATUS_NO_MEMORY. */
enum status params_seal(struct params *params, bool with_grad, struct error *err);
/* Sets all arrays to their initial values for this seed. Ends early when `pool` is stopped (NULL: never); the caller
 * checks the pool. */
void params_init(struct params *params, uint64_t seed, struct thread_pool *pool);

/* Copies values and state from `from`, whose arrays must have the same shapes in the same order. */
void params_copy(struct params *to, const struct params *from);

/* Returns the block of all values, state included, in order of declaration; *reals (may be NULL) becomes its size. */
real *params_values(struct params *params, size_t *reals);

/* Marks all gradients as not yet written. Call it before each step. */
void params_begin_step(struct params *params);
/* Freezes (no gradient, no update) or unfreezes every array whose name starts with `prefix`. */
void params_freeze(struct params *params, const char *prefix, bool frozen);

/* Returns the block of all gradients, in order of declaration, with padding between the arrays. Before, it zeroes the
 * gradients that were not written in this step, among the arrays from `first` on (NULL: the first array) that begin
 * before offset `end` of the block. *from becomes the offset of `first`. Offsets are in reals. */
real *params_gradients(struct params *params, const struct weight *first, size_t end, size_t *from);
/* params_gradient_reals() returns the size of the gradient block in reals, params_arrays() the number of trained
 * arrays. params_array() and params_name() return array `index` in order of declaration, and its name. */
size_t params_gradient_reals(const struct params *params);
size_t params_arrays(const struct params *params);
struct weight *params_array(struct params *params, size_t index);
const char *params_name(const struct params *params, size_t index);
struct weight *params_find(struct params *params, const char *name); /* trained or state array; NULL: not found */
int64_t params_count(const struct params *params);                   /* number of trained numbers */
uint64_t params_bytes(const struct params *params);                  /* memory in bytes */

/* Adds all arrays as SNAPSHOT_WEIGHT entries, first trained arrays, then state. Errors: those of snapshot_add(). */
enum status params_snapshot(struct params *params, struct snapshot *snapshot, struct error *err);
/* Compares the declared arrays with the weights of a stream: each array must be there with the same type and shape.
 * Otherwise the result is STATUS_CORRUPT, and the message names the first array that does not fit. Reads the table of
 * contents only. The arrays need no memory yet, so a model can refuse a stream before params_seal(). */
enum status params_fit(struct params *params, const struct snapshot_reader *from, struct error *err);
/* STATUS_NUMERIC if a value or gradient is not finite; the message names the first such array. */
enum status params_check(const struct params *params, struct error *err);

#endif
