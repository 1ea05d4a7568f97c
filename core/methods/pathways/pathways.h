/* Recovery of activation pathways in deep convolutional sparse coding (Murray and Tanner). */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_PATHWAYS_H
#define MOTIF_CORE_METHODS_PATHWAYS_PATHWAYS_H

#include "core/methods/method.h"

extern const struct method pathways_method;

#endif
