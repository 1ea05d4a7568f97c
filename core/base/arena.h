/* A growing region from which things are taken one after another and given back all at once.
 *
 * Process, model, job step and request each have one. Memory comes in blocks; arena_reset() keeps
 * the blocks, so that a loop which needs the same amount every time allocates only in its first
 * round. Everything is aligned to 64 bytes (a cache line, an AVX-512 register). The arena does not
 * run destructors. Thread rule: one thread at a time. */
#ifndef MOTIF_CORE_BASE_ARENA_H
#define MOTIF_CORE_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *first, *current;
    size_t block_bytes; /* least size of a new block */
    size_t limit_bytes; /* total that may be held; 0: no limit */
    size_t held_bytes;  /* total of all blocks */
    size_t peak_bytes;  /* most that was ever in use */
    size_t used_bytes;  /* in use now */
};

struct arena_mark {
    struct arena_block *block;
    size_t offset, used;
};

/* No memory is taken before the first allocation. */
void arena_init(struct arena *arena, size_t block_bytes, size_t limit_bytes);
void arena_close(struct arena *arena);

/* NULL when memory or the limit is exhausted. Contents are undefined. */
void *arena_alloc(struct arena *arena, size_t bytes);
/* Same, zeroed; `count * size` is checked for overflow. */
void *arena_zalloc(struct arena *arena, size_t count, size_t size);
/* A copy of a string; NULL when exhausted. */
char *arena_strdup(struct arena *arena, const char *text);

/* Everything taken since the mark is given back (blocks are kept). */
struct arena_mark arena_mark(const struct arena *arena);
void arena_release(struct arena *arena, struct arena_mark mark);
void arena_reset(struct arena *arena);

#endif
