/* Counts the allocations of a program for the job of the calling thread (job_memory.h). The linker redirects the calls
 * of the program's own object files to this file (--wrap). A block counts with the size that the C library reserves for
 * it. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "trainer/job_memory.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *at);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *at);

static bool may(size_t bytes)
{
    if (job_memory_ask(bytes))
        return true;
    errno = ENOMEM;
    return false;
}

static void *counted(void *at)
{
    if (at != NULL)
        job_memory_change((int64_t)malloc_usable_size(at));
    return at;
}

void *__wrap_malloc(size_t bytes)
{
    return may(bytes) ? counted(__real_malloc(bytes)) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    size_t all;
    bool fits = !__builtin_mul_overflow(count, bytes, &all);
    return may(fits ? all : SIZE_MAX) ? counted(__real_calloc(count, bytes)) : NULL;
}

void *__wrap_realloc(void *at, size_t bytes)
{
    size_t before = malloc_usable_size(at);
    if (bytes > before && !may(bytes - before))
        return NULL;
    void *now = __real_realloc(at, bytes);
    if (now != NULL)
        job_memory_change((int64_t)malloc_usable_size(now) - (int64_t)before);
    else if (bytes == 0)
        job_memory_change(-(int64_t)before);
    return now;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return may(bytes) ? counted(__real_aligned_alloc(alignment, bytes)) : NULL;
}

void __wrap_free(void *at)
{
    if (at != NULL)
        job_memory_change(-(int64_t)malloc_usable_size(at));
    __real_free(at);
}
