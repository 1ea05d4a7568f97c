/* Growth of an array that gets one element at a time. Any thread. */
#ifndef MOTIF_CORE_BASE_GROWN_H
#define MOTIF_CORE_BASE_GROWN_H

#include <stddef.h>
#include <stdlib.h>

/* Makes room for one more element of `bytes` bytes behind `count` elements. The array is full when `count` is 0 or a
 * power of two; then its room doubles. Returns the array, which may have moved; NULL if there is no memory, and the old
 * array stays valid. */
static inline void *grown(void *array, size_t count, size_t bytes)
{
    return (count & (count - 1)) == 0 ? realloc(array, (count > 0 ? 2 * count : 1) * bytes) : array;
}

#endif
