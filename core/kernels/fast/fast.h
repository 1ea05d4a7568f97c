/* The fast kernels of one instruction set (AVX2 or AVX-512). The name of each kernel begins with the instruction
 * set; table.c puts the kernels into a table. */
#ifndef MOTIF_CORE_KERNELS_FAST_FAST_H
#define MOTIF_CORE_KERNELS_FAST_FAST_H

#include "core/kernels/fast/simd.h"
#include "core/kernels/kernels.h"

void FAST(conv_forward)(const struct conv_call *call);
void FAST(conv_transform)(const struct conv_call *call, int first, int count, real *transformed);
void FAST(conv_gradient)(const struct conv_gradient_call *call);
void FAST(planar_forward)(const struct planar_call *call);
void FAST(planar_gradient)(const struct planar_call *call);
void FAST(sites_forward)(const struct sites_call *call);
void FAST(sites_gradient)(const struct sites_call *call);
void FAST(sum_rows)(const struct sum_rows_call *call);

void FAST(map_moments)(int blocks, int rows, int width, struct map_strip x, double *moments);
void FAST(map_affine)(const struct affine_call *call);
void FAST(norm_sums)(const struct norm_call *call);
void FAST(norm_backward)(const struct norm_call *call);
void FAST(map_sums)(int blocks, int rows, int width, struct map_strip x, double *sums);
void FAST(map_add)(int blocks, int rows, int width, struct map_strip x, struct map_strip y);
void FAST(map_threshold)(const struct threshold_call *call);
void FAST(map_mask)(int blocks, int rows, int width, struct map_strip y, struct map_strip dy, struct map_strip dx);

void FAST(kth_block)(const struct kth_set *set, int block, int64_t k, real *out, void *scratch);
real FAST(kth_all)(const struct kth_set *set, int64_t k, void *scratch);
void FAST(collect_above)(const struct above_call *call);

void FAST(max_pool_forward)(const struct max_pool_call *call);
void FAST(embed_max_pool_forward)(const struct embed_call *call);
void FAST(embed_max_pool_backward)(const struct embed_call *call);

void FAST(gemm)(const struct gemm_call *call);
void FAST(gemm_bf16)(const struct gemm_call *call);
void FAST(gemm_bf16_apart)(const struct gemm_call *call); /* for processors without vdpbf16ps */
void avx512bf16_product(const struct gemm_call *call);    /* for processors with vdpbf16ps */
void FAST(bias_add)(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x);
void FAST(bias_relu)(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x);
void FAST(relu_backward)(size_t count, const real *y, const real *dy, real *dx);
void FAST(column_sums)(int rows, int columns, const real *x, ptrdiff_t ld_x, real *sums);
void FAST(add)(size_t count, const real *x, real *y);
void FAST(scale)(size_t count, real factor, real *x);
void FAST(axpy)(size_t count, real factor, const real *x, real *y);
real FAST(dot)(size_t count, const real *x, const real *y);
void FAST(arc_forward)(const struct arc_call *call);
void FAST(arc_backward)(const struct arc_call *call);
void FAST(banded_sum)(const struct banded_call *call);
void FAST(row_peaks)(int rows, int columns, const real *x, ptrdiff_t ld_x, real *peaks);
void FAST(add_periodic)(int rows, int columns, int first, int divisor, int period, const real *table, const real *x,
                        real *y);

void FAST(softmax_forward)(const struct softmax_call *call);
void FAST(softmax_backward)(const struct softmax_call *call);
void FAST(layer_norm_forward)(const struct layer_norm_call *call);
void FAST(layer_norm_backward)(const struct layer_norm_call *call);
void FAST(dropout)(const struct dropout_call *call);
void FAST(lstm_forward)(const struct lstm_call *call);
void FAST(lstm_backward)(const struct lstm_call *call);
void FAST(cross_entropy)(const struct cross_entropy_call *call);
void FAST(scatter_add)(int rows, int columns, const int32_t *index, const real *dy, ptrdiff_t ld_dy, real *dtable);

void FAST(vector_exp)(size_t count, const real *x, real *y);
void FAST(vector_tanh)(size_t count, const real *x, real *y);
void FAST(vector_sigmoid)(size_t count, const real *x, real *y);

void FAST(sparse_gemm)(const struct sparse_call *call);
int FAST(nonzeros)(int count, const real *x, int32_t first, int32_t *index, real *value);
void FAST(multiply)(size_t count, const real *x, real *y);
void FAST(hadamard_rows)(int rows, int n, real *x, ptrdiff_t ld);
void FAST(hadamard_columns)(int n, int columns, real *x, ptrdiff_t ld);

void FAST(adam)(const struct adam_call *call);
double FAST(sum_squares)(size_t count, const real *x);
bool FAST(all_finite)(size_t count, const real *x);

/* Functions that several files use. fast_row_moments() adds row `y` of a strip to the strip's moments [2][16
 * blocks]; for row 0 it overwrites them. fast_row_sums() adds the sum over `rows` rows of one block to sums[16]. */
#define fast_row_moments FAST(row_moments)
void fast_row_moments(int blocks, int width, const float *row, ptrdiff_t block, double *moments, int y);
#define fast_row_sums FAST(row_sums)
void fast_row_sums(int rows, int width, const float *at, ptrdiff_t row, float *sums);

/* 3x3 convolutions by Winograd's algorithm in tiles of 2x2 (winograd.c): the forward pass, for at most
 * WINOGRAD_BLOCKS blocks of input channels and of output channels; and the gradient of the weights (without bias),
 * for any number of blocks. */
enum { WINOGRAD_BLOCKS = 4 };
#define fast_winograd_forward FAST(winograd_forward)
void fast_winograd_forward(const struct conv_call *call);
#define fast_winograd_gradient FAST(winograd_gradient)
void fast_winograd_gradient(const struct conv_gradient_call *call);
/* 3x3 convolutions in tiles of 4x4 (winograd4.c): the forward pass and the gradient of the weights, both for any number
 * of blocks. */
#define fast_winograd4_forward FAST(winograd4_forward)
void fast_winograd4_forward(const struct conv_call *call);
#define fast_winograd4_gradient FAST(winograd4_gradient)
void fast_winograd4_gradient(const struct conv_gradient_call *call);

extern const struct kernels FAST(kernels);

#endif
