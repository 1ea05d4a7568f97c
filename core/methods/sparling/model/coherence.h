/* Coherence of g's convolutions: as a metric, as a penalty, and as dictionaries for others to use. */
#ifndef MOTIF_CORE_METHODS_SPARLING_MODEL_COHERENCE_H
#define MOTIF_CORE_METHODS_SPARLING_MODEL_COHERENCE_H

#include "core/methods/method.h"
#include "core/methods/sparling/model/network.h"

enum { COHERENCE_LAYERS = 2 + 2 * NETWORK_UNITS };

/* The convolutions from the input up: g.first, g.units.I.conv1 and conv2, g.last. Returns how many. */
size_t network_convolutions(const struct network *network, struct method_convolution *out, size_t room);
/* Mutual coherence of a convolution as a dictionary. NaN without memory. */
double convolution_coherence(const struct method_convolution *convolution);
/* Of the 3x3 convolutions: the mean and the largest. A 1x1 convolution of one channel is coherent by nature. */
void network_coherence(const struct network *network, double *mean, double *largest);

#endif
