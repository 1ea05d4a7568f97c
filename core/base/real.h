/* The number type of the compute core.
 *
 * `real` is float in the product. The tests build the core a second time with MOTIF_REAL_DOUBLE, to compare the
 * gradient of every operation with central differences to 1e-6; that build contains the reference kernels only. Code
 * that uses `real` calls the math functions through the macros below. */
#ifndef MOTIF_CORE_BASE_REAL_H
#define MOTIF_CORE_BASE_REAL_H

#include <math.h>

#ifdef MOTIF_REAL_DOUBLE
typedef double real;
#define R(x) x
#define real_exp exp
#define real_log log
#define real_sqrt sqrt
#define real_tanh tanh
#define real_fabs fabs
#define real_fmax fmax
#else
typedef float real;
#define R(x) x##f
#define real_exp expf
#define real_log logf
#define real_sqrt sqrtf
#define real_tanh tanhf
#define real_fabs fabsf
#define real_fmax fmaxf
#endif

#endif
