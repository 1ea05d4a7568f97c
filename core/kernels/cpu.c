/* Selects a kernel table that the processor and the operating system support: the fastest, or the one with a given
 * name. The compiler's built-in check also covers the operating system, because it executes XGETBV. The
 * double-precision build of the core contains the reference table only. */
#include <string.h>

#include "core/kernels/kernels.h"
#include "core/kernels/ref/ref.h"

#if defined(__x86_64__) && !defined(MOTIF_REAL_DOUBLE)
extern const struct kernels avx2_kernels, avx512_kernels;

static bool has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

static const struct kernels *table(int index)
{
    if (index == 0)
        return has_avx512() ? &avx512_kernels : NULL;
    if (index == 1)
        return has_avx2() ? &avx2_kernels : NULL;
    return &kernels_ref;
}
#else
static const struct kernels *table(int index)
{
    return index == 2 ? &kernels_ref : NULL;
}
#endif

const struct kernels *kernels_best(void)
{
    for (int i = 0; i < 2; i++)
        if (table(i))
            return table(i);
    return &kernels_ref;
}

const struct kernels *kernels_named(const char *name)
{
    for (int i = 0; i < 3; i++)
        if (table(i) && strcmp(table(i)->name, name) == 0)
            return table(i);
    return NULL;
}
