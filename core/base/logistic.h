/* The logistic function and its integral, without overflow at any finite argument. */
#ifndef MOTIF_CORE_BASE_LOGISTIC_H
#define MOTIF_CORE_BASE_LOGISTIC_H

#include <math.h>

/* Returns 1 / (1 + exp(-x)). */
static inline double logistic(double x)
{
    return x > 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* Returns log(1 + exp(x)), the negative logarithm of logistic(-x). */
static inline double soft_plus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

#endif
