/* The superposition method: the Persian Rug (Cowsik, Dolev, Infanger, arXiv:2410.12101). */
#ifndef MOTIF_CORE_METHODS_SUPERPOSITION_SUPERPOSITION_H
#define MOTIF_CORE_METHODS_SUPERPOSITION_SUPERPOSITION_H

#include "core/methods/method.h"

extern const struct method superposition_method;

#endif
