/* The linker sends allocations of the program's own objects here (--wrap). */
#include "fault.h"

#include <stdatomic.h>
#include <stdlib.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static atomic_int countdown = -1; /* allocations still to succeed; below 0: no fault */
static atomic_bool happened;

void fault_after(int count)
{
    happened = false;
    countdown = count;
}

bool fault_happened(void)
{
    countdown = -1;
    return happened;
}

static bool fails(void)
{
    if (countdown < 0) {
        return false;
    }
    if (atomic_fetch_sub(&countdown, 1) > 0) {
        return false;
    }
    happened = true;
    return true;
}

void *__wrap_malloc(size_t bytes) { return fails() ? NULL : __real_malloc(bytes); }
void *__wrap_calloc(size_t count, size_t bytes) { return fails() ? NULL : __real_calloc(count, bytes); }
void *__wrap_realloc(void *at, size_t bytes) { return fails() ? NULL : __real_realloc(at, bytes); }
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}
