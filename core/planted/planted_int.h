/* Private to core/planted: indices of random streams, and the size of a block of work. */
#ifndef MOTIF_CORE_PLANTED_PLANTED_INT_H
#define MOTIF_CORE_PLANTED_PLANTED_INT_H

enum {
    /* streams of the generator itself */
    PLANTED_STREAM_DIRECTIONS = 0x5000,
    PLANTED_STREAM_BIAS,
    PLANTED_STREAM_LOADING,
    PLANTED_STREAM_DEVIATION,
    /* Streams of samples: the caller's stream s uses the PLANTED_SAMPLE_STREAMS streams from PLANTED_SAMPLES + s *
     * PLANTED_SAMPLE_STREAMS on. */
    PLANTED_SAMPLES = 0x5100,
    PLANTED_SAMPLE_STREAMS = 4
};
/* Indices of the PLANTED_SAMPLE_STREAMS streams that draw samples, relative to the first of them. */
enum { SAMPLE_COMMON, SAMPLE_FIRING, SAMPLE_VALUE, SAMPLE_WINNER };

enum { PLANTED_BLOCK = 64 }; /* rows of a chunk of work */

#endif
