/* Bytes as they come: from memory, a file, a member of an archive, or an upload that is still arriving. A parser pulls;
 * it never knows how many there will be. One thread at a time. */
#ifndef MOTIF_CORE_FORMATS_BYTE_SOURCE_H
#define MOTIF_CORE_FORMATS_BYTE_SOURCE_H

#include <stddef.h>

#include "core/base/error.h"

struct source {
    void *context;
    /* At most `most` (> 0) bytes to `to`; *got 0 is the end. May wait for them. */
    enum status (*read)(void *context, void *to, size_t most, size_t *got, struct error *err);
};

/* Exactly `count` bytes. STATUS_CORRUPT ("ends inside WHAT") when there are fewer. */
enum status source_exactly(const struct source *from, void *to, size_t count, const char *what, struct error *err);
/* STATUS_CORRUPT when something follows WHAT. */
enum status source_end(const struct source *from, const char *what, struct error *err);
/* All that is left, malloc'ed; STATUS_LIMIT when it is more than `most` bytes. */
enum status source_all(const struct source *from, size_t most, char **bytes, size_t *size, struct error *err);

/* Bytes in memory, at most `step` at a time (0: as many as are asked for). Borrowed. */
struct source_memory {
    const unsigned char *at;
    size_t left, step;
};
struct source source_of_memory(struct source_memory *memory);

#endif
