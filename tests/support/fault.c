/* Counts allocations and lets them fail (fault.h). The linker redirects the allocations of the program's own objects to
 * this file (--wrap). */
#include "tests/support/fault.h"

#include <stdlib.h>

#include "tests/support/fault_count.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static struct fault_count places = FAULT_COUNT;
static atomic_size_t asked;

void fault_after(int left)
{
    fault_count_arm(&places, left, false);
}
void fault_from(int left)
{
    fault_count_arm(&places, left, true);
}

void fault_spare_others(bool spare)
{
    atomic_store(&places.others_spared, spare);
}

bool fault_happened(void)
{
    return fault_count_stop(&places);
}

bool fault_now(void)
{
    return fault_count_down(&places);
}

int fault_left(void)
{
    return fault_count_left(&places);
}

size_t fault_bytes(void)
{
    return atomic_load(&asked);
}

static bool fails(size_t bytes)
{
    atomic_fetch_add(&asked, bytes);
    return fault_now();
}

void *__wrap_malloc(size_t bytes)
{
    return fails(bytes) ? NULL : __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails(count * bytes) ? NULL : __real_calloc(count, bytes);
}
void *__wrap_realloc(void *at, size_t bytes)
{
    return fails(bytes) ? NULL : __real_realloc(at, bytes);
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(bytes) ? NULL : __real_aligned_alloc(alignment, bytes);
}
