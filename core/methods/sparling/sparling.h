/* SPARLING learns motif maps from labels alone by lowering the density of activations during training. */
#ifndef MOTIF_CORE_METHODS_SPARLING_SPARLING_H
#define MOTIF_CORE_METHODS_SPARLING_SPARLING_H

#include "core/methods/method.h"

extern const struct method sparling_method;

#endif
