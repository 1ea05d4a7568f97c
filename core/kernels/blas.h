/* OpenBLAS, single-threaded, and which of its kernel sets suits this processor.
 *
 * OpenBLAS 0.3.21 picks its kernels by processor family and does not know every AVX-512 part; it reads the
 * variable OPENBLAS_CORETYPE once, when it is loaded. Whoever owns the process compares blas_core() with
 * blas_best_core() at start, and if they differ sets the variable and executes itself again, once. */
#ifndef MOTIF_CORE_KERNELS_BLAS_H
#define MOTIF_CORE_KERNELS_BLAS_H

#include "core/kernels/kernels.h"

/* One thread, whatever the environment says: parallelism is the pool's. Call before the first product. */
void blas_init(void);
/* Name of the kernel set in use ("SkylakeX"), as OPENBLAS_CORETYPE would spell it. */
const char *blas_core(void);
/* Name of the set that is fastest here by measurement (docs/performance.md); NULL: leave the choice to OpenBLAS. */
const char *blas_best_core(void);
/* Version and build options, for reports. */
const char *blas_config(void);

/* The product of kernels.h by cblas_sgemm. */
void blas_gemm(const struct gemm_call *call);

#endif
