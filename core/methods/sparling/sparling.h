/* SPARLING: motif maps from end-to-end training under an activation density that anneals. */
#ifndef MOTIF_CORE_METHODS_SPARLING_SPARLING_H
#define MOTIF_CORE_METHODS_SPARLING_SPARLING_H

#include "core/methods/method.h"

extern const struct method sparling_method;

#endif
