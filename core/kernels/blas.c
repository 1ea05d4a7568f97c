/* OpenBLAS: one thread, the kernel set that this processor should use, and the matrix product. */
#include "core/kernels/blas.h"

#include <cblas.h>

void blas_init(void)
{
    openblas_set_num_threads(1);
}

const char *blas_core(void)
{
    return openblas_get_corename();
}

const char *blas_config(void)
{
    return openblas_get_config();
}

const char *blas_best_core(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
#endif
    return NULL;
}

void blas_gemm(const struct gemm_call *c)
{
    cblas_sgemm(CblasRowMajor, c->transpose_a ? CblasTrans : CblasNoTrans, c->transpose_b ? CblasTrans : CblasNoTrans,
                c->m, c->n, c->k, c->alpha, c->a, (int)c->lda, c->b, (int)c->ldb, c->beta, c->c, (int)c->ldc);
}
