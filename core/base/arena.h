/* Arena: memory that is allocated piece by piece and freed all at once.
 *
 * The process, each model, each training step and each request has an arena of its own. Memory comes in blocks.
 * arena_reset() keeps the blocks, so a loop that needs the same amount in every round calls malloc() only in the first
 * round. All allocations are aligned to 64 bytes (a cache line, an AVX-512 register). The arena runs no destructors.
 * One thread at a time may use an arena. */
#ifndef MOTIF_CORE_BASE_ARENA_H
#define MOTIF_CORE_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *first, *current;
    size_t block_bytes; /* minimum size of a new block */
    size_t limit_bytes; /* maximum total size of all blocks; 0: no limit */
    size_t held_bytes;  /* total size of all blocks */
    size_t peak_bytes;  /* maximum of used_bytes so far */
    size_t used_bytes;  /* bytes that are allocated now */
};

struct arena_mark {
    struct arena_block *block;
    size_t offset, used;
};

/* Prepares an empty arena. It takes no memory before the first allocation. block_bytes 0 means 64 KiB. */
void arena_init(struct arena *arena, size_t block_bytes, size_t limit_bytes);
/* Frees all blocks. The arena is empty afterwards and may be used again. */
void arena_close(struct arena *arena);

/* Allocates `bytes`, uninitialised. Returns NULL if the system has no memory or the limit is reached. The memory
 * belongs to the arena and stays valid until a reset, a release to an earlier mark, or arena_close(). */
void *arena_alloc(struct arena *arena, size_t bytes);
/* Allocates count * size bytes, zeroed. Returns NULL also if the product overflows. */
void *arena_zalloc(struct arena *arena, size_t count, size_t size);
/* Copies a string into the arena. Returns NULL as arena_alloc() does. */
char *arena_strdup(struct arena *arena, const char *text);

/* arena_mark() returns the current position. arena_release() frees everything that was allocated after the mark, and
 * arena_reset() frees everything. Both keep the blocks for the next allocations. */
struct arena_mark arena_mark(const struct arena *arena);
void arena_release(struct arena *arena, struct arena_mark mark);
void arena_reset(struct arena *arena);

#endif
