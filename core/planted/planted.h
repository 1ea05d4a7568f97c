/* Data whose true hidden features are known: a sample is a sum of few feature directions.
 *
 *     x = bias + sum over active features i of value_i * direction_i,        x: [inputs]
 *
 * PLANTED_TREES is the generator of SynthSAEBench (version 2, with child scaling). Feature i, counted from 1, has the
 * rate
 *     p_i = least + (most - least) (r_i - r_N) / (r_1 - r_N),        r_i = i^-zipf.
 * The first features form trees, breadth first: `roots` roots, then PLANTED_CHILDREN children of each feature that is
 * less than PLANTED_DEPTH edges below its root. A child is active only if its parent is active, and its value is
 * multiplied by the parent's value over the parent's mean. If several siblings are active, one of them, drawn
 * uniformly, stays active. A child c fires with the probability
 *     p_c / p_parent * (1 + sum over its siblings s of p_s / p_parent), at most 1,
 * so that it stays active at about the rate p_c. A feature fires when its normal number exceeds a threshold. The normal
 * numbers of all features are A e + sqrt(D) eta, where e has PLANTED_RANK dimensions, so they are correlated. The value
 * of an active feature is max(0, mean_i + deviation_i * normal). Directions are unit vectors that a few steps of Adam
 * make nearly orthogonal.
 *
 * PLANTED_EXACTLY has exactly `active` features in each sample, drawn uniformly, with values |normal|, random
 * directions and no bias.
 *
 * PLANTED_UNIFORM is the hidden layer of a toy model: each feature is active with probability `probability` on its own,
 * and its value is uniform in [0, 1) times the length of its vector. The caller gives the vectors. No bias.
 *
 * Sample `index` of `stream` is a function of (seed, stream, index) alone. A struct planted is immutable once created:
 * any number of threads may draw from one. */
#ifndef MOTIF_CORE_PLANTED_PLANTED_H
#define MOTIF_CORE_PLANTED_PLANTED_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"
#include "core/kernels/kernels.h"

enum { PLANTED_CHILDREN = 4, PLANTED_DEPTH = 3, PLANTED_RANK = 25, PLANTED_MOST_ACTIVE = 1024, PLANTED_ROUNDS = 100 };
#define PLANTED_RATE_MOST 0.4
#define PLANTED_RATE_LEAST 5e-4

enum planted_kind { PLANTED_TREES, PLANTED_EXACTLY, PLANTED_UNIFORM };

struct planted_shape {
    enum planted_kind kind;
    int features, inputs; /* N and d */
    uint64_t seed;
    int roots;          /* TREES: number of trees; 0: no hierarchy */
    double zipf;        /* TREES: exponent of the rates */
    int rounds;         /* TREES: steps of Adam that make the directions nearly orthogonal (PLANTED_ROUNDS) */
    int active;         /* EXACTLY: active features of a sample, at most PLANTED_MOST_ACTIVE */
    double probability; /* UNIFORM: in (0, 1]; the mean number of active features is at most PLANTED_MOST_ACTIVE / 2 */
    const float *vectors; /* UNIFORM: [features][inputs] finite numbers; borrowed until planted_create() returns */
};

struct planted {
    struct planted_shape shape;
    float *directions; /* [features][inputs] unit rows */
    float *bias;       /* [inputs] */
    /* TREES only, each [features]: */
    double *rate;            /* p_i */
    int *parent;             /* index of the parent, -1 for roots and features outside the trees */
    float *mean, *deviation; /* mean and deviation of an active feature's value before max(0, .) */
    float *bound;            /* the feature fires if eta (see above) exceeds bound - loading . e */
    float *loading;          /* [features][PLANTED_RANK] A / sqrt(D) */
    float *length;           /* UNIFORM only: [features] lengths of the vectors; `directions` contains their
                              * directions */
    const struct kernels *kernels;
};

/* Creates the generator. Errors: STATUS_INVALID for a shape that is out of range, STATUS_NO_MEMORY, STATUS_CANCELLED
 * when `pool` was stopped. planted_close() frees it and accepts a zeroed struct. */
enum status planted_create(const struct planted_shape *shape, const struct kernels *kernels, struct thread_pool *pool,
                           struct planted *out, struct error *err);
void planted_close(struct planted *planted);
/* Memory of a generator, and floating-point operations of its creation, for estimates. */
int64_t planted_bytes(const struct planted_shape *shape);
double planted_work(const struct planted_shape *shape);
/* TREES: sum of the rates p_i, an upper limit of the mean number of active features. */
double planted_rates(const struct planted_shape *shape);
/* Number of features in the trees, at most `features`. */
int planted_tree_features(const struct planted_shape *shape);

/* The true codes of samples. The active features of row r are index[start[r]] to index[start[r] + count[r] - 1], in
 * ascending order; `value` has their values at the same places. */
struct planted_codes {
    int *start, *count; /* [room] */
    int32_t *index;     /* [room][width] */
    float *value;       /* [room][width] */
    int width;          /* entries per row: the smaller of `features` and PLANTED_MOST_ACTIVE */
    float *scratch;     /* for planted_draw() on `threads` threads */
};
/* Allocates codes of `room` samples. The caller calls planted_codes_close(), after an error too. */
enum status planted_codes_create(const struct planted_shape *shape, int room, int threads, struct planted_codes *out,
                                 struct error *err);
void planted_codes_close(struct planted_codes *codes);

/* Which samples to draw. If `distinct` > 0, sample i equals sample i mod distinct, so training repeats the first
 * `distinct` samples. */
struct planted_samples {
    uint32_t stream;
    int64_t first, distinct;
    int count;
};
/* Memory of the codes of `room` samples. */
int64_t planted_codes_bytes(const struct planted_shape *shape, int room, int threads);
/* Draws samples to x: [count][inputs], and their codes. Returns false if the pool was stopped. A row has room for
 * PLANTED_MOST_ACTIVE active features. With allowed rates, the probability of more active features is below 1e-300; the
 * excess features would be left out of x and of the code. */
bool planted_draw(const struct planted *planted, struct thread_pool *pool, const struct planted_samples *samples,
                  float *x, struct planted_codes *codes);

#endif
