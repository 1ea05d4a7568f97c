/* Large arrays of zeros. */
#ifndef MOTIF_CORE_BASE_ZEROED_H
#define MOTIF_CORE_BASE_ZEROED_H

#include <stddef.h>

/* Returns `bytes` zero bytes (at least one), aligned to a cache line, or NULL without memory. The caller frees *block,
 * not the returned address. For a large array this function writes nothing: the kernel clears each page when it is
 * first used. Several gigabytes therefore cost no time here, and the threads that use them share the work. */
void *zeroed_alloc(size_t bytes, void **block);

#endif
