/* The logarithm of the gamma function of a positive number, for any thread. lgamma() writes the sign of the result to a
 * global variable, so threads may not call it at the same time. */
#ifndef MOTIF_CORE_BASE_LOG_GAMMA_H
#define MOTIF_CORE_BASE_LOG_GAMMA_H

#include <math.h>

static inline double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

#endif
