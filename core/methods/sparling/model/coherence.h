/* The convolutions of g and their mutual coherence. Pure functions of a network; any thread. */
#ifndef MOTIF_CORE_METHODS_SPARLING_MODEL_COHERENCE_H
#define MOTIF_CORE_METHODS_SPARLING_MODEL_COHERENCE_H

#include "core/methods/method.h"
#include "core/methods/sparling/model/network.h"

enum { COHERENCE_LAYERS = 2 + 2 * NETWORK_UNITS };

/* Lists the convolutions from the input up: g.first, g.units.I.conv1 and conv2, g.narrow.I.conv1 and conv2, g.last.
 * Writes the first `room` of them to `out` and returns the number of all. The network owns the weights. */
size_t network_convolutions(const struct network *network, struct method_convolution *out, size_t room);
/* Mutual coherence of a convolution, taken as a dictionary (core/nn/coherence.h). NaN if there is not enough memory. If
 * `pool` (may be NULL) was stopped, the result has no meaning. */
double convolution_coherence(const struct method_convolution *convolution, struct thread_pool *pool);
/* Mean and largest coherence of the convolutions in residual units. The 1x1 convolutions at both ends do not count: one
 * with a single input channel always has coherence 1. */
void network_coherence(const struct network *network, struct thread_pool *pool, double *mean, double *largest);

#endif
