/* The table of each method (method.h). registry.c lists them. */
#ifndef MOTIF_CORE_METHODS_REGISTRY_H
#define MOTIF_CORE_METHODS_REGISTRY_H

#include "core/methods/method.h"

/* SPARLING learns motif maps from labels alone by lowering the density of activations during training. */
extern const struct method sparling_method;
/* Recovery of activation pathways in deep convolutional sparse coding (Murray and Tanner). */
extern const struct method pathways_method;
/* The factors method: the Sparse VAE (Moran, Sridhar, Wang and Blei, TMLR 2022, arXiv:2110.10804) and the models that
 * the paper compares it with. */
extern const struct method factors_method;
/* Tree-based regularisation as a method. */
extern const struct method environments_method;
/* The dictionary method as an entry of the registry. */
extern const struct method dictionary_method;
/* The superposition method: the Persian Rug (Cowsik, Dolev, Infanger, arXiv:2410.12101). */
extern const struct method superposition_method;

#endif
