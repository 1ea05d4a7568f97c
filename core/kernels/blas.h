/* OpenBLAS, single-threaded, for matrix products that are too thin for our own kernels; and the choice of OpenBLAS's
 * kernel set.
 *
 * OpenBLAS selects a set of kernels for the processor family. Each set rounds differently, so the same training
 * would give other weights on another machine. Therefore blas_best_core() names the same set for every processor
 * that can run it. OpenBLAS reads the variable OPENBLAS_CORETYPE once, when it is loaded. At start, the daemon
 * compares blas_core() with blas_best_core(). If they differ, the daemon sets the variable and executes itself
 * again, once. */
#ifndef MOTIF_CORE_KERNELS_BLAS_H
#define MOTIF_CORE_KERNELS_BLAS_H

#include "core/kernels/kernels.h"

/* Limits OpenBLAS to one thread regardless of the environment, because the thread pool provides the parallelism. Call
 * it before the first product. */
void blas_init(void);
/* The static name of the kernel set in use ("Haswell"), as in OPENBLAS_CORETYPE. */
const char *blas_core(void);
/* The static name of the set that this processor should use; NULL: OpenBLAS chooses. */
const char *blas_best_core(void);
/* Version and build options of OpenBLAS, for reports. */
const char *blas_config(void);

/* The product that gemm_call in kernels.h defines, by cblas_sgemm. Any thread. */
void blas_gemm(const struct gemm_call *call);

#endif
