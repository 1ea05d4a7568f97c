/* A circulant-banded dictionary A (Definition 2.1 of the paper): its columns are `filters` local filters at every
 * position of a circle (or torus) of positions. The matrix is never formed: the struct holds the filters and two tables
 * made of them.
 *
 * Layouts. A signal x^(l-1) is a map [height][width][inputs], a code x^(l) a map [height][width][filters]: entry
 * (position, filter) of a code is the coefficient of the column of A that has that filter at that position. In the
 * paper's terms, the stride s_l is `inputs`, and the filter length m_l is inputs * extent. Columns have unit Euclidean
 * norm.
 *
 * Every product with A or its transpose is a sum of stamps. A stamp is a block of numbers that is multiplied by a
 * factor and added to a map, with wrap-around. For A x, each spike of the code adds its filter to the signal. For A^T A
 * x, it adds its row of the Gram matrix to a code. For A^T y, each entry of the signal adds to the code the entries of
 * all filters that cover it. For sparse codes, stamps are by far the fastest way. Dense signals are analysed by FFT or
 * directly, whichever is cheaper for the shape.
 *
 * A dictionary is immutable once created: any number of threads may use one. */
#ifndef MOTIF_CORE_CODING_DICTIONARY_H
#define MOTIF_CORE_CODING_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"
#include "core/kernels/kernels.h"

struct dictionary_shape {
    int height, width;      /* number of positions in each direction; height is 1 in one dimension */
    int inputs, filters;    /* numbers of channels of the signal and of the code; n_(l-1) and n_l in the paper */
    int extent_h, extent_w; /* extent of a filter in positions, at most height and width */
};

struct spectrum; /* the Fourier transforms of the filters (transform.h) */

struct dictionary {
    struct dictionary_shape shape;
    bool hadamard;  /* the dictionary is [I, H / sqrt m], with one position; it stores no filters */
    float *filters; /* [filters][extent_h][extent_w][inputs] */
    /* [inputs][extent_h][extent_w][filters] mirrored filters: what one entry of a signal adds to A^T signal. */
    float *rows;
    float *gram;        /* [filters][gram_h][gram_w][filters]: what one non-zero of a code x adds to A^T A x */
    int gram_h, gram_w; /* in each direction: 2 extent - 1, or the number of positions if that is smaller; shifts that
                           coincide are added up */
    float *bands; /* in one dimension: the Gram rows with zeros before and behind, for dictionary_correlate_draws() */
    struct spectrum *spectrum; /* NULL: direct correlation is as fast, or the length does not suit the FFT */
    double coherence;          /* mu(A) */
    const struct kernels *kernels;
};

enum dictionary_family { FAMILY_GAUSS, FAMILY_SIGNS, FAMILY_SPARSE };

/* Number of entries of the filters and of the Gram table, for limits and estimates. */
double dictionary_taps(const struct dictionary_shape *shape);
double dictionary_gram_size(const struct dictionary_shape *shape);
/* Whether dictionary_correlate_draws() is available. It needs one dimension, and rows of the Gram table that overlap at
 * most one end of a tile. */
bool dictionary_shape_bands(const struct dictionary_shape *shape);
/* For estimates. dictionary_shape_bytes(): bytes of a dictionary of this shape. dictionary_draw_bytes(): further bytes
 * that dictionary_draw() needs until it returns. dictionary_shape_scratch(): the number of floats of
 * dictionary_scratch(). */
double dictionary_shape_bytes(const struct dictionary_shape *shape);
double dictionary_draw_bytes(const struct dictionary_shape *shape);
double dictionary_shape_scratch(const struct dictionary_shape *shape);

/* Copies filters (layout as in the struct) and scales them to unit norm. STATUS_INVALID for a filter that is zero or
 * not finite, STATUS_CANCELLED when `pool` is stopped (NULL: never). */
enum status dictionary_create(const struct dictionary_shape *shape, const float *filters, const struct kernels *kernels,
                              struct thread_pool *pool, struct dictionary *out, struct error *err);
/* Draws random filters as a function of (seed, stream): Gaussian, +-1, or `nonzeros` entries of +-1 each. */
enum status dictionary_draw(const struct dictionary_shape *shape, enum dictionary_family family, int nonzeros,
                            uint64_t seed, uint32_t stream, const struct kernels *kernels, struct thread_pool *pool,
                            struct dictionary *out, struct error *err);
/* Creates [I, H / sqrt m] for m a power of two; mu = 1 / sqrt m. */
enum status dictionary_hadamard(int m, const struct kernels *kernels, struct dictionary *out, struct error *err);
void dictionary_close(struct dictionary *dictionary);
uint64_t dictionary_bytes(const struct dictionary *dictionary);

size_t dictionary_signal_size(const struct dictionary *dictionary); /* inputs * positions */
size_t dictionary_code_size(const struct dictionary *dictionary);   /* filters * positions */

/* A sparse vector: the non-zeros of a map, at ascending indices. */
struct spikes {
    int count;
    int32_t *at;
    float *value;
};

/* signal = A x. */
void dictionary_synthesise(const struct dictionary *d, const struct spikes *x, float *signal);
/* code += A^T A x. */
void dictionary_correlate(const struct dictionary *d, const struct spikes *x, float *code);
/* dictionary_correlate_draws() computes A^T A D x for BANDED_ROWS draws of the random signs D at once. It stores no
 * whole code, but passes the result tile by tile to the function `tile`: [BANDED_ROWS][BANDED_WIDTH] entries, from
 * index 0 on. The last tile may have fewer entries. Not available if the dictionary's `bands` is NULL. */
struct correlation {
    const struct spikes *x;
    const uint8_t *flips;      /* [x->count] bit r of entry i: draw r changes the sign of non-zero i of x */
    const float *added;        /* added to every draw: A^T v, or NULL */
    struct banded_term *terms; /* scratch: [2 * x->count] */
    void *context;
    void (*tile)(void *context, size_t first, size_t entries, float *tile);
};
void dictionary_correlate_draws(const struct dictionary *d, const struct correlation *correlation);
/* code += A^T y for a sparse signal y. */
void dictionary_analyse_sparse(const struct dictionary *d, const struct spikes *y, float *code);
/* code = A^T y for any signal. `scratch`: dictionary_scratch() floats. */
void dictionary_analyse(const struct dictionary *d, const float *signal, float *code, float *scratch);
size_t dictionary_scratch(const struct dictionary *d);
/* Analyses like dictionary_analyse(), but always by direct correlation and never by FFT. For tests and measurements. */
void dictionary_analyse_directly(const struct dictionary *d, const float *signal, float *code, float *scratch);

/* sums[k] = sum over spikes j other than k of weight_j |<a_k, a_j>|^power, power 1 or 2, for the bounds. */
void dictionary_interference(const struct dictionary *d, const struct spikes *weights, int power, double *sums);
/* <a_k, a_j> of one pair of columns. */
double dictionary_inner(const struct dictionary *d, int64_t k, int64_t j);

#endif
