/* One code x and its draws of random signs: the work item of the Monte Carlo estimate.
 *
 * The probability in the paper is over the signs D alone, so the same x (support, magnitudes) and the same noise are
 * used with several D. Everything is a function of (seed, case, non-zeros, code number, draw), so any thread may run
 * any item in any order. A layer counts as recovered when the decoder's support equals the true one; a tie counts as a
 * miss. */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_TRIAL_H
#define MOTIF_CORE_METHODS_PATHWAYS_TRIAL_H

#include "core/coding/bounds.h"
#include "core/methods/pathways/config.h"

/* A case with its dictionaries. Immutable; threads share it. */
struct scenario {
    struct pathways_case plan;
    struct dictionary dictionary[PATHWAYS_DEPTH];
    struct thread_pool *pool;         /* trials end early when it is stopped; NULL: never */
    double lipschitz[PATHWAYS_DEPTH]; /* upper estimates of the largest eigenvalue of A^T A, for basis pursuit */
};

/* Creates the dictionaries. filters: the filters of each layer, in the layout of struct dictionary; NULL: draws them
 * from `seed`. pool: as in struct scenario. STATUS_CANCELLED when the pool was stopped. */
enum status scenario_open(const struct pathways_case *plan, uint64_t seed, const float *const *filters,
                          const struct kernels *kernels, struct thread_pool *pool, struct scenario *out,
                          struct error *err);
void scenario_close(struct scenario *scenario);
/* scenario_bytes() returns the largest memory of a case in bytes, over three phases: drawing the dictionaries, the
 * trials with `nonzeros` non-zeros on all threads, and drawing the charts, which needs PATHWAYS_CHART_BYTES. bounds:
 * whether trials compute the guarantees. */
enum { PATHWAYS_CHART_BYTES = 6 << 20 };
double scenario_bytes(const struct pathways_case *plan, double nonzeros, bool bounds, int threads);

/* Scratch of one thread. */
struct trial_space;
/* Creates the scratch. pictures: the caller will also call trial_draw(), which needs more scratch than trial_run(). */
enum status trial_space_create(const struct scenario *scenario, bool pictures, struct trial_space **space,
                               struct error *err);
void trial_space_destroy(struct trial_space *space);

struct trial_request {
    uint64_t seed;
    int64_t nonzeros; /* number of non-zeros of the deepest code */
    int64_t number;   /* number of the code */
    int draws;        /* number of draws of the signs D; 1 for all-plus and for adversarial signs */
    bool pilot;       /* the trial belongs to the pilot, whose random numbers differ from those of the measurement */
    bool bounds;      /* whether to compute the guarantees for the codes of the first draw */
    double delta;
};

struct trial_outcome {
    int draws;                           /* draws that were made */
    int recovered;                       /* draws whose whole pathway was found */
    int layer_recovered[PATHWAYS_DEPTH]; /* draws in which that layer's support was found */
    /* stripe sparsities of the first draw's codes, as local_norm() and local_norm_literal() in core/coding/bounds.h
     * define them */
    double stripe[PATHWAYS_DEPTH], stripe_literal[PATHWAYS_DEPTH];
    /* The guarantees, only with `bounds`. uniform: recovery is certain; theorem, instance: lower bounds of the
     * probability of recovery; uniform_limit, probabilistic_limit: limits of the first layer's stripe sparsity. */
    bool uniform;
    double theorem, instance, uniform_limit, probabilistic_limit;
};

enum status trial_run(const struct scenario *scenario, struct trial_space *space, const struct trial_request *request,
                      struct trial_outcome *out, struct error *err);

/* The true codes of a draw, and the signal that they generate; for queries and tests. codes[l]: the map of x^(l+1). The
 * signs D^(l+1) are not applied to it, because they belong to the dictionary. signal: [M], with noise. The pointers are
 * valid until the next use of the space. */
struct trial_picture {
    const float *codes[PATHWAYS_DEPTH];
    const float *signal;
    const uint32_t *signs[PATHWAYS_DEPTH]; /* bit i % 32 of word i / 32 is 1 if D_ii = -1 */
};
enum status trial_draw(const struct scenario *scenario, struct trial_space *space, const struct trial_request *request,
                       struct trial_picture *out, struct error *err);

#endif
