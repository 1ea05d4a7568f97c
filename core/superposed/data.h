/* Samples: n independent features, each 0 with probability 1 - p, otherwise uniform in [0, 1).
 *
 * Every feature takes one random word of 32 bits. If the word is below p 2^32, the value is word / (p 2^32), otherwise
 * 0. A sample is a pure function of (seed, stream, index). */
#ifndef MOTIF_CORE_SUPERPOSED_DATA_H
#define MOTIF_CORE_SUPERPOSED_DATA_H

#include <stdint.h>

enum { STREAM_TRAINING = 1, STREAM_TEST = 2, STREAM_QUERY = 3 }; /* each use draws from its own stream */

/* Writes one sample. x: [n]. */
void sample_draw(uint64_t seed, uint32_t stream, int64_t index, double p, int n, float *x);

#endif
