/* Tree-based regularisation as a method. */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_ENVIRONMENTS_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_ENVIRONMENTS_H

#include "core/methods/method.h"

extern const struct method environments_method;

#endif
