/* The reference kernels in plain C; ref.c lists them in a table. They define what the vector kernels must compute.
 * Private to this folder. */
#ifndef MOTIF_CORE_KERNELS_REF_REF_H
#define MOTIF_CORE_KERNELS_REF_REF_H

#include "core/kernels/kernels.h"

void ref_conv_forward(const struct conv_call *call);
void ref_conv_gradient(const struct conv_gradient_call *call);
void ref_planar_forward(const struct planar_call *call);
void ref_planar_gradient(const struct planar_call *call);
void ref_sites_forward(const struct sites_call *call);
void ref_sites_gradient(const struct sites_call *call);
void ref_sum_rows(const struct sum_rows_call *call);

void ref_map_moments(int blocks, int rows, int width, struct map_strip x, double *moments);
void ref_map_affine(const struct affine_call *call);
void ref_norm_sums(const struct norm_call *call);
void ref_norm_backward(const struct norm_call *call);
void ref_map_sums(int blocks, int rows, int width, struct map_strip x, double *sums);
void ref_map_add(int blocks, int rows, int width, struct map_strip x, struct map_strip y);
void ref_map_threshold(const struct threshold_call *call);
void ref_map_mask(int blocks, int rows, int width, struct map_strip y, struct map_strip dy, struct map_strip dx);

void ref_kth_block(const struct kth_set *set, int block, int64_t k, real *out, void *scratch);
real ref_kth_all(const struct kth_set *set, int64_t k, void *scratch);
void ref_collect_above(const struct above_call *call);

void ref_max_pool_forward(const struct max_pool_call *call);
void ref_max_pool_backward(const struct max_pool_call *call);
void ref_embed_max_pool_forward(const struct embed_call *call);
void ref_embed_max_pool_backward(const struct embed_call *call);

void ref_gemm(const struct gemm_call *call);
void ref_gemm_bf16(const struct gemm_call *call);
void ref_bias_add(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x);
void ref_bias_relu(int rows, int columns, const real *bias, real *x, ptrdiff_t ld_x);
void ref_relu_backward(size_t count, const real *y, const real *dy, real *dx);
void ref_column_sums(int rows, int columns, const real *x, ptrdiff_t ld_x, real *sums);
void ref_add(size_t count, const real *x, real *y);
void ref_scale(size_t count, real factor, real *x);
void ref_axpy(size_t count, real factor, const real *x, real *y);
real ref_dot(size_t count, const real *x, const real *y);
void ref_arc_forward(const struct arc_call *call);
void ref_arc_backward(const struct arc_call *call);
void ref_banded_sum(const struct banded_call *call);
void ref_row_peaks(int rows, int columns, const real *x, ptrdiff_t ld_x, real *peaks);
void ref_add_periodic(int rows, int columns, int first, int divisor, int period, const real *table, const real *x,
                      real *y);

void ref_softmax_forward(const struct softmax_call *call);
void ref_softmax_backward(const struct softmax_call *call);
void ref_layer_norm_forward(const struct layer_norm_call *call);
void ref_layer_norm_backward(const struct layer_norm_call *call);
void ref_dropout(const struct dropout_call *call);
void ref_lstm_forward(const struct lstm_call *call);
void ref_lstm_backward(const struct lstm_call *call);
void ref_cross_entropy(const struct cross_entropy_call *call);
void ref_gather(int rows, int columns, const int32_t *index, const real *table, real *y, ptrdiff_t ld_y);
void ref_scatter_add(int rows, int columns, const int32_t *index, const real *dy, ptrdiff_t ld_dy, real *dtable);

void ref_vector_exp(size_t count, const real *x, real *y);
void ref_vector_tanh(size_t count, const real *x, real *y);
void ref_vector_sigmoid(size_t count, const real *x, real *y);

void ref_sparse_gemm(const struct sparse_call *call);
int ref_nonzeros(int count, const real *x, int32_t first, int32_t *index, real *value);
void ref_multiply(size_t count, const real *x, real *y);
void ref_hadamard_rows(int rows, int n, real *x, ptrdiff_t ld);
void ref_hadamard_columns(int n, int columns, real *x, ptrdiff_t ld);

void ref_adam(const struct adam_call *call);
double ref_sum_squares(size_t count, const real *x);
bool ref_all_finite(size_t count, const real *x);

extern const struct kernels kernels_ref;

#endif
