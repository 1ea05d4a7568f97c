/* Arena: a list of memory blocks and the position of the next allocation.
 *
 * Blocks before `current` are in use, blocks after it are empty. An allocation that does not fit into the current block
 * goes to the first later block that is large enough, or else to a new block inserted after the current one. A loop
 * that repeats the same allocations therefore visits the same blocks in every round.
 *
 * Under AddressSanitizer, free memory is poisoned, so that a use after a reset is reported. New memory is filled with
 * NaN, so that a result that depends on uninitialised memory becomes visible. */
#include "core/base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 64
#define HUGE_PAGE ((size_t)2 << 20)
#define DEFAULT_BLOCK ((size_t)64 * 1024)

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif
#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
#define HIDE(at, bytes) __asan_poison_memory_region(at, bytes)
#define SHOW(at, bytes) __asan_unpoison_memory_region(at, bytes)
#define DIRTY(at, bytes) memset(at, 0xff, bytes)
#else
#define HIDE(at, bytes) ((void)(at), (void)(bytes))
#define SHOW(at, bytes) ((void)(at), (void)(bytes))
#define DIRTY(at, bytes) ((void)(at), (void)(bytes))
#endif

struct arena_block {
    _Alignas(ALIGNMENT) struct arena_block *next;
    size_t bytes, used; /* bytes: usable bytes after the header; used: how many of them are allocated */
};

static unsigned char *memory_of(struct arena_block *block)
{
    return (unsigned char *)(block + 1);
}

void arena_init(struct arena *arena, size_t block_bytes, size_t limit_bytes)
{
    *arena = (struct arena){.block_bytes = block_bytes > 0 ? block_bytes : DEFAULT_BLOCK, .limit_bytes = limit_bytes};
}

void arena_close(struct arena *arena)
{
    struct arena_block *block = arena->first;
    while (block != NULL) {
        struct arena_block *next = block->next;
        SHOW(memory_of(block), block->bytes);
        free(block);
        block = next;
    }
    *arena = (struct arena){.block_bytes = arena->block_bytes, .limit_bytes = arena->limit_bytes};
}

static bool round_up(size_t bytes, size_t *out)
{
    if (bytes > SIZE_MAX - (ALIGNMENT - 1))
        return false;
    *out = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return true;
}

/* Whether a block is large. Large blocks consist of whole huge pages, because arrays of several megabytes cause many
 * TLB misses on small pages. */
static bool is_large(size_t bytes)
{
    return bytes >= 2 * HUGE_PAGE;
}

static void *get_block(size_t bytes)
{
    if (!is_large(bytes))
        return aligned_alloc(ALIGNMENT, bytes);
    void *at = aligned_alloc(HUGE_PAGE, bytes);
    if (at != NULL)
        (void)madvise(at, bytes, MADV_HUGEPAGE);
    return at;
}

/* The size of a block, with its header, that has at least `bytes` usable bytes. */
static size_t whole_block(size_t bytes)
{
    size_t whole = sizeof(struct arena_block) + bytes;
    return is_large(whole) ? (whole + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : whole;
}

/* Inserts a new block of at least `needed` bytes after the current one. */
static struct arena_block *add_block(struct arena *arena, size_t needed)
{
    size_t bytes, limit = arena->limit_bytes > 0 ? arena->limit_bytes : SIZE_MAX;
    /* a large block has block_bytes bytes with its header, so that it fills whole huge pages */
    size_t usual = arena->block_bytes - (is_large(arena->block_bytes) ? sizeof(struct arena_block) : 0);
    if (!round_up(needed > usual ? needed : usual, &bytes) || bytes > SIZE_MAX - sizeof(struct arena_block) - HUGE_PAGE)
        return NULL;
    if (bytes > limit - arena->held_bytes) {
        bytes = needed; /* if the arena is near its limit, the block is only as large as needed */
        if (bytes > limit - arena->held_bytes)
            return NULL;
    }
    size_t whole = whole_block(bytes);
    struct arena_block *block = get_block(whole);
    if (block == NULL)
        return NULL;
    if (whole - sizeof *block <= limit - arena->held_bytes)
        bytes = whole - sizeof *block;
    *block = (struct arena_block){.bytes = bytes};
    HIDE(memory_of(block), bytes);
    if (arena->current != NULL) {
        block->next = arena->current->next;
        arena->current->next = block;
    } else {
        arena->first = block;
    }
    arena->held_bytes += bytes;
    return block;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    size_t rounded;
    if (!round_up(bytes > 0 ? bytes : 1, &rounded))
        return NULL;
    struct arena_block *block = arena->current;
    if (block == NULL || rounded > block->bytes - block->used) {
        block = block != NULL ? block->next : arena->first;
        while (block != NULL && block->bytes < rounded)
            block = block->next;
        if (block == NULL) {
            block = add_block(arena, rounded);
            if (block == NULL)
                return NULL;
        }
        block->used = 0;
        arena->current = block;
    }
    unsigned char *at = memory_of(block) + block->used;
    block->used += rounded;
    arena->used_bytes += rounded;
    arena->peak_bytes = arena->used_bytes > arena->peak_bytes ? arena->used_bytes : arena->peak_bytes;
    SHOW(at, bytes);
    DIRTY(at, bytes);
    return at;
}

void *arena_zalloc(struct arena *arena, size_t count, size_t size)
{
    if (size > 0 && count > SIZE_MAX / size)
        return NULL;
    void *at = arena_alloc(arena, count * size);
    if (at != NULL)
        memset(at, 0, count * size);
    return at;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = arena_alloc(arena, bytes);
    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}

struct arena_mark arena_mark(const struct arena *arena)
{
    return (struct arena_mark){.block = arena->current,
                               .offset = arena->current != NULL ? arena->current->used : 0,
                               .used = arena->used_bytes};
}

void arena_release(struct arena *arena, struct arena_mark mark)
{
    struct arena_block *block = mark.block != NULL ? mark.block : arena->first;
    if (block == NULL)
        return;
    block->used = mark.offset;
    HIDE(memory_of(block) + block->used, block->bytes - block->used);
    for (struct arena_block *later = block->next; later != NULL; later = later->next) {
        later->used = 0;
        HIDE(memory_of(later), later->bytes);
    }
    arena->current = block;
    arena->used_bytes = mark.used;
}

void arena_reset(struct arena *arena)
{
    arena_release(arena, (struct arena_mark){.block = arena->first});
}
