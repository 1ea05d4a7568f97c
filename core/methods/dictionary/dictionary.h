/* The dictionary method as an entry of the registry. */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_DICTIONARY_H
#define MOTIF_CORE_METHODS_DICTIONARY_DICTIONARY_H

#include "core/methods/method.h"

extern const struct method dictionary_method;

#endif
