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
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        /* AMD's family 25 with AVX-512 is Zen 4, which runs 512-bit instructions in two halves: the AVX2
         * kernels do as much a cycle there, and were 3 to 5 % faster on all but the smallest products. */
        return __builtin_cpu_is("amdfam19h") ? "Haswell" : "SkylakeX";
#endif
    return NULL;
}

void blas_gemm(const struct gemm_call *c)
{
    cblas_sgemm(CblasRowMajor, c->transpose_a ? CblasTrans : CblasNoTrans, c->transpose_b ? CblasTrans : CblasNoTrans,
                c->m, c->n, c->k, c->alpha, c->a, (int)c->lda, c->b, (int)c->ldb, c->beta, c->c, (int)c->ldc);
}
