/* The factors method: the Sparse VAE (Moran, Sridhar, Wang and Blei, TMLR 2022, arXiv:2110.10804) and the models that
 * the paper compares it with. */
#ifndef MOTIF_CORE_METHODS_FACTORS_FACTORS_H
#define MOTIF_CORE_METHODS_FACTORS_FACTORS_H

#include "core/methods/method.h"

extern const struct method factors_method;

#endif
