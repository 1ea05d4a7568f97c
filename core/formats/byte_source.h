/* A byte source: bytes from memory, a file, a member of an archive, or an upload that is still arriving. A parser pulls
 * bytes and does not know in advance how many there are. One thread at a time. */
#ifndef MOTIF_CORE_FORMATS_BYTE_SOURCE_H
#define MOTIF_CORE_FORMATS_BYTE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/work.h"

struct byte_source {
    void *context;
    /* Reads at most `most` (> 0) bytes to `to`; *got == 0 is the end. May block until bytes arrive. */
    enum status (*read)(void *context, void *to, size_t most, size_t *got, struct error *err);
    struct work *work; /* the budget of the work for which the bytes are read; NULL: none */
};

/* Calls read(). STATUS_CANCELLED: the work must end. Work that waits for a place in a queue yields it to others here,
 * so the caller must hold nothing for which they could wait. */
enum status byte_source_read(const struct byte_source *from, void *to, size_t most, size_t *got, struct error *err);

/* Refuses bytes that unpack to far more bytes than real data do: they would take time and space out of proportion to
 * what was sent. packed, unpacked: numbers of bytes so far; what: "the compressed file". STATUS_LIMIT. */
enum { UNPACK_FREE = 256 << 20, UNPACK_RATIO = 200 };
enum status byte_source_ratio(int64_t packed, int64_t unpacked, const char *what, struct error *err);
/* Reads exactly `count` bytes. STATUS_CORRUPT ("end inside WHAT"): there are fewer. */
enum status byte_source_exactly(const struct byte_source *from, void *to, size_t count, const char *what,
                                struct error *err);
/* Expects the end. STATUS_CORRUPT: more bytes follow WHAT. */
enum status byte_source_end(const struct byte_source *from, const char *what, struct error *err);
/* Reads all remaining bytes; the caller frees *bytes. STATUS_LIMIT: there are more than `most`. */
enum status byte_source_all(const struct byte_source *from, size_t most, char **bytes, size_t *size, struct error *err);

/* A source of borrowed bytes in memory. It returns at most `step` bytes in one call (0: no limit), which lets tests
 * exercise partial reads. */
struct byte_source_memory {
    const unsigned char *at;
    size_t left, step;
};
struct byte_source byte_source_of_memory(struct byte_source_memory *memory);

#endif
