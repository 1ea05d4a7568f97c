/* The memory of a test of kernels, operations or networks. A page that nobody may touch follows each block, or precedes
 * it, in turn. So a kernel that accesses an element too many ends the program, with the code that users run and without
 * a sanitizer. Freed blocks stay forbidden, and a program that has not freed all of them fails at its end. The linker
 * redirects the allocations of the program's own objects to this file (--wrap). */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *at);
void __real_free(void *at);

#define PAGE ((size_t)4096)
#define SPACE ((size_t)1 << 42) /* addresses, not memory */

/* In the page before the block's first page but one. */
struct head {
    size_t bytes, inner; /* inner: bytes of the block's pages */
};

static char *space;
static atomic_size_t used;
static atomic_uint made;
static atomic_long kept; /* blocks that are not freed */

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

__attribute__((constructor)) static void reserve(void)
{
    space = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        abort();
}

__attribute__((destructor)) static void check(void)
{
    long left = atomic_load(&kept);
    if (left != 0) {
        (void)fprintf(stderr, "%ld blocks of memory were not freed\n", left);
        _exit(1);
    }
}

static struct head *head_of(const void *block)
{
    size_t at = (size_t)((const char *)block - space);
    return (struct head *)(void *)(space + at / PAGE * PAGE - 2 * PAGE);
}

/* A page for the head, a forbidden page, the block's pages, a forbidden page. */
static void *place(size_t alignment, size_t bytes)
{
    size_t padded = round_up(bytes, alignment), inner = round_up(padded + (padded == 0), PAGE);
    size_t at = atomic_fetch_add(&used, inner + 3 * PAGE);
    if (bytes > SPACE || at + inner + 3 * PAGE > SPACE)
        return NULL;
    char *first = space + at + 2 * PAGE;
    struct head *head = (struct head *)(void *)(space + at);
    if (mprotect(head, PAGE, PROT_READ | PROT_WRITE) != 0 || mprotect(first, inner, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    *head = (struct head){bytes, inner};
    atomic_fetch_add(&kept, 1);
    return bytes > 0 && atomic_fetch_add(&made, 1) % 2 == 0 ? first + inner - padded : first;
}

/* malloc's alignment, or less if the block would not end at the page otherwise. */
static size_t alignment_of(size_t bytes)
{
    size_t alignment = 16;
    while (alignment > 1 && bytes % alignment != 0)
        alignment /= 2;
    return alignment;
}

void *__wrap_malloc(size_t bytes)
{
    char *at = place(alignment_of(bytes), bytes);
    if (at != NULL)
        memset(at, 0xA5, bytes); /* as likely to be noticed as what a used heap contains */
    return at;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return bytes > 0 && count > SPACE / bytes ? NULL : place(alignment_of(count * bytes), count * bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    void *at = __wrap_malloc(bytes);
    if (at == NULL || old == NULL)
        return at;
    size_t before = head_of(old)->bytes;
    memcpy(at, old, before < bytes ? before : bytes);
    __wrap_free(old);
    return at;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return place(alignment < PAGE ? alignment : PAGE, bytes);
}

void __wrap_free(void *at)
{
    if (at == NULL)
        return;
    if ((char *)at < space || (char *)at >= space + SPACE) { /* a library allocated it */
        __real_free(at);
        return;
    }
    struct head *head = head_of(at);
    size_t whole = head->inner + 3 * PAGE;
    atomic_fetch_sub(&kept, 1);
    (void)madvise(head, whole, MADV_DONTNEED);
    if (mprotect(head, whole, PROT_NONE) != 0)
        abort();
}
