/* Allocates zeroed and aligned memory with calloc(). Pages that calloc() gets from the kernel are zero already, so
 * calloc() does not write to them. */
#include "core/base/zeroed.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LINE = 64, PAGE = 4096, HUGE_LEAST = 8 << 20 };

/* Requests huge pages for a large array: fewer page faults when it is first used, and less time to free it. */
static void request_huge_pages(void *at, size_t bytes)
{
    uintptr_t from = ((uintptr_t)at + PAGE - 1) / PAGE * PAGE, to = ((uintptr_t)at + bytes) / PAGE * PAGE;
    if (bytes >= HUGE_LEAST)
        (void)madvise((char *)at + (from - (uintptr_t)at), to - from, MADV_HUGEPAGE);
}

void *zeroed_alloc(size_t bytes, void **block)
{
    *block = bytes <= SIZE_MAX - LINE ? calloc(bytes + LINE, 1) : NULL;
    if (*block == NULL)
        return NULL;
    request_huge_pages(*block, bytes);
    size_t past = (uintptr_t)*block % LINE;
    return (char *)*block + (past > 0 ? LINE - past : 0);
}
