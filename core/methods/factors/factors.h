/* The factors method: the Sparse VAE (Moran, Sridhar, Wang, Blei, TMLR 2022) and its rivals. */
#ifndef MOTIF_CORE_METHODS_FACTORS_FACTORS_H
#define MOTIF_CORE_METHODS_FACTORS_FACTORS_H

#include "core/methods/method.h"

extern const struct method factors_method;

#endif
