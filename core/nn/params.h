/* The trained arrays of a model: one block of values, one of gradients, a table of names and shapes.
 *
 * Building: layers declare their arrays with params_add() and keep the `struct weight *`, then
 * params_seal() takes the memory and sets the pointers. Failure while declaring is sticky and comes out
 * of params_seal(). Initial values are a function of (seed, name): no order of construction,
 * number of threads or other array changes them. A stack whose layers shall start out equal
 * (facts of the SPARLING networks: all layers are copies of the first) declares each array of layer i with
 * the `shared_init` of layer 0. */
#ifndef MOTIF_CORE_NN_PARAMS_H
#define MOTIF_CORE_NN_PARAMS_H

#include "core/autodiff/tape.h"
#include "core/base/snapshot.h"

enum init_rule {
    INIT_CONSTANT, /* scale everywhere */
    INIT_UNIFORM,  /* uniform in [-scale, scale) */
    INIT_NORMAL    /* mean 0, standard deviation scale */
};
struct init {
    enum init_rule rule;
    double scale;
    const char *shared_init; /* name whose random numbers are used instead of its own; NULL: its own. Copied */
};

static inline struct init init_constant(double value)
{
    return (struct init){INIT_CONSTANT, value, NULL};
}
struct init init_fan_in(int fan_in);              /* uniform, 1 / sqrt(fan_in): convolutions, linear, with bias */
struct init init_xavier(int fan_in, int fan_out); /* uniform, sqrt(6 / (fan_in + fan_out)) */
struct init init_normal(double deviation);

struct params;

enum status params_create(struct params **params, struct error *err);
void params_destroy(struct params *params);

/* A trained array. `name` (copied, unique, under SNAPSHOT_NAME bytes) is what exports carry. Never NULL:
 * after a failure a dummy that must not be used comes back, and params_seal() tells. */
struct weight *params_add(struct params *params, const char *name, int rank, const int *dim, struct init init);
/* An array that belongs to the model and is saved with the weights, but is not trained: running
 * statistics, thresholds. */
struct weight *params_add_state(struct params *params, const char *name, int count, double value);

/* Takes the memory, zeroed. with_grad false: evaluation only. */
enum status params_seal(struct params *params, bool with_grad, struct error *err);
/* Initial values of everything. */
void params_init(struct params *params, uint64_t seed);

/* Values and state of `from`, whose arrays have the same shapes in the same order. */
void params_copy(struct params *to, const struct params *from);

/* No gradient has been written yet: before each step. */
void params_begin_step(struct params *params);
/* Freezes or thaws every array whose name starts with `prefix`: no gradient, no update. */
void params_freeze(struct params *params, const char *prefix, bool frozen);

/* The block of all gradients, in order of declaration, padding between arrays; arrays that nobody has written in this
 * step are zeroed as far as they lie from `first` on (NULL: the first of all) and before the block's `end`. *from:
 * where `first` begins. */
real *params_gradients(struct params *params, const struct weight *first, size_t end, size_t *from);
size_t params_gradient_reals(const struct params *params);
size_t params_arrays(const struct params *params); /* trained ones, in order of declaration */
struct weight *params_array(struct params *params, size_t index);
const char *params_name(const struct params *params, size_t index);
struct weight *params_find(struct params *params, const char *name); /* trained or state; NULL */
int64_t params_count(const struct params *params);                   /* trained numbers */
uint64_t params_bytes(const struct params *params);                  /* memory held */

/* Declares everything as SNAPSHOT_WEIGHT entries, arrays first, then state. */
enum status params_snapshot(struct params *params, struct snapshot *snapshot, struct error *err);
/* STATUS_NUMERIC naming the first array with a value or gradient that is not finite. */
enum status params_check(const struct params *params, struct error *err);

#endif
