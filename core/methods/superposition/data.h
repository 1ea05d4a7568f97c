/* Samples: n independent features, each 0 with probability 1 - p, else uniform in [0, 1).
 *
 * One random word a feature: below p 2^32 it is the value, scaled. A sample is a pure function of (seed, stream,
 * index). */
#ifndef MOTIF_CORE_METHODS_SUPERPOSITION_DATA_H
#define MOTIF_CORE_METHODS_SUPERPOSITION_DATA_H

#include <stdint.h>

enum { STREAM_TRAINING = 1, STREAM_TEST = 2, STREAM_QUERY = 3 }; /* shared with nothing else of this method */

/* x: [n]. */
void sample_draw(uint64_t seed, uint32_t stream, int64_t index, double p, int n, float *x);

#endif
