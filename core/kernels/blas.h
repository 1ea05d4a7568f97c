/* OpenBLAS, single-threaded, for products that are too thin for our own kernels, and which of its kernel sets they
 * take.
 *
 * OpenBLAS picks its kernels by processor family, and each set rounds in another way: the same training would end with
 * other weights on another machine. So every processor that can takes the same set. OpenBLAS reads the variable
 * OPENBLAS_CORETYPE once, when it is loaded. Whoever owns the process compares blas_core() with blas_best_core() at
 * start, and if they differ sets the variable and executes itself again, once. */
#ifndef MOTIF_CORE_KERNELS_BLAS_H
#define MOTIF_CORE_KERNELS_BLAS_H

#include "core/kernels/kernels.h"

/* One thread, whatever the environment says: parallelism is the pool's. Call before the first product. */
void blas_init(void);
/* Name of the kernel set in use ("Haswell"), as OPENBLAS_CORETYPE would spell it. */
const char *blas_core(void);
/* Name of the set to be used; NULL: leave the choice to OpenBLAS. */
const char *blas_best_core(void);
/* Version and build options, for reports. */
const char *blas_config(void);

/* The product of kernels.h by cblas_sgemm. */
void blas_gemm(const struct gemm_call *call);

#endif
