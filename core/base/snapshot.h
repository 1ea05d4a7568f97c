/* Snapshot: the self-describing byte stream that stores a model and its training state.
 *
 *   "MOTIFPK1" | u32 entries | u32 reserved | u64 data_bytes
 *   entries × { char name[96]; u8 type; u8 role; u8 rank; u8 pad[5]; u64 dim[4]; u64 offset; u64 bytes }
 *   zeros up to the next multiple of 64 bytes
 *   data, little endian: the weights one after another without gaps, then each other entry at the
 *   next multiple of 64 bytes. Dimensions from `rank` on are 1.
 *
 * Weights come first and without gaps, in the order in which they were added, so that a server can send them as one
 * range of the stored bytes (the safetensors format allows no gaps). A `struct snapshot` lists the entries and points
 * at the caller's arrays; writing and reading need no copy of the data. One thread at a time may use a snapshot. */
#ifndef MOTIF_CORE_BASE_SNAPSHOT_H
#define MOTIF_CORE_BASE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum snapshot_type { SNAPSHOT_F32 = 1, SNAPSHOT_F64, SNAPSHOT_I64, SNAPSHOT_U64, SNAPSHOT_U8 };
enum snapshot_role { SNAPSHOT_WEIGHT = 1, SNAPSHOT_OPTIMISER, SNAPSHOT_STATE };

#define SNAPSHOT_NAME 96

struct snapshot_entry {
    char name[SNAPSHOT_NAME];
    enum snapshot_type type;
    enum snapshot_role role;
    int rank; /* number of dimensions, 0 to 4 */
    uint64_t dim[4];
    uint64_t offset, bytes; /* offset: from the start of the data section; bytes: size of the entry */
    size_t stride;          /* as in struct snapshot_row */
    bool optional;          /* whether a stream may lack the entry */
    void *bytes_at;         /* the caller's memory, which a write reads and a read fills; NULL in the entries of
                               snapshot_contents() */
};

/* A snapshot_writer is the destination of a stream: `write` appends `count` bytes. A snapshot_reader is the source of a
 * stream: `read` reads exactly `count` bytes from absolute position `offset` of the stream, or fails. */
struct snapshot_writer {
    void *context;
    enum status (*write)(void *context, const void *bytes, size_t count, struct error *err);
};
struct snapshot_reader {
    void *context;
    uint64_t total_bytes;
    enum status (*read)(void *context, uint64_t offset, void *bytes, size_t count, struct error *err);
};

struct snapshot; /* a list of entries that point at the caller's memory */

/* Creates an empty list. STATUS_NO_MEMORY. snapshot_destroy() accepts NULL. */
enum status snapshot_create(struct snapshot **snapshot, struct error *err);
void snapshot_destroy(struct snapshot *snapshot);

/* Adds an entry whose bytes are at `at`. The bytes are not copied, so they must stay valid until the snapshot was
 * written or read. Entries must be added in the order weight, optimiser, state. Names must be unique, printable and
 * shorter than SNAPSHOT_NAME. Errors: STATUS_INTERNAL for an entry that breaks these rules, STATUS_LIMIT,
 * STATUS_NO_MEMORY. */
enum status snapshot_add(struct snapshot *snapshot, enum snapshot_role role, enum snapshot_type type, const char *name,
                         int rank, const uint64_t *dim, void *at, struct error *err);
/* Makes the entries optional whose names begin with `prefix`: a read does not change the memory of those that the
 * stream lacks. */
void snapshot_optional(struct snapshot *snapshot, const char *prefix);

/* A table of saved numbers has one row for each entry, and the same table serves writing and reading. The macros below
 * write a row; the type of the entry is that of the memory. */
struct snapshot_row {
    const char *name; /* NULL: the row is left out */
    enum snapshot_type type;
    void *at; /* the memory, as for snapshot_add() */
    int rank;
    uint64_t dim[4];
    size_t stride; /* bytes from one element of the first dimension to the next in memory; 0: without gaps. A stream
                      has no gaps. */
};
#ifdef float /* a build in which double replaces float (tests/support/pch/all_double.h) */
#define SNAPSHOT_FLOAT
#else
#define SNAPSHOT_FLOAT float * : SNAPSHOT_F32,
#endif
/* x: a number, or a pointer to numbers */
/* clang-format off */
#define SNAPSHOT_TYPE(x)                                                                                               \
    _Generic((x), SNAPSHOT_FLOAT                                                                                       \
             double: SNAPSHOT_F64,                                                                                     \
             double *: SNAPSHOT_F64,                                                                                   \
             int64_t: SNAPSHOT_I64,                                                                                    \
             int64_t *: SNAPSHOT_I64,                                                                                  \
             uint64_t *: SNAPSHOT_U64,                                                                                 \
             unsigned char *: SNAPSHOT_U8)
/* clang-format on */
/* A single number at address `at`. */
#define SNAPSHOT_NUMBER(name, at)                                                                                      \
    {                                                                                                                  \
        name, SNAPSHOT_TYPE(at), at, 0, {0}, 0                                                                         \
    }
/* An array; the arguments after `at` are its dimensions. */
#define SNAPSHOT_ARRAY(name, at, ...)                                                                                  \
    {                                                                                                                  \
        name, SNAPSHOT_TYPE(at), at, (int)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)), {__VA_ARGS__}, 0     \
    }
/* A member of `count` structs, list[0] to list[count - 1]: [count] for a number of 8 bytes, [count][n] for an array of
 * such numbers. */
#define SNAPSHOT_COLUMN(name, list, count, member)                                                                     \
    {                                                                                                                  \
        name, SNAPSHOT_TYPE((list)->member), &(list)->member, sizeof(list)->member > sizeof(int64_t) ? 2 : 1,          \
            {(uint64_t)(count), sizeof(list)->member / sizeof(int64_t)}, sizeof *(list)                                \
    }
/* All members from `first` up to `end`, without `end`, of `count` structs: [count][n]. They have one type of 8 bytes.
 */
#define SNAPSHOT_COLUMNS(name, list, count, first, end)                                                                \
    {                                                                                                                  \
        name, SNAPSHOT_TYPE((list)->first), &(list)->first, 2,                                                         \
            {(uint64_t)(count),                                                                                        \
             (uint64_t)((const char *)&(list)->end - (const char *)&(list)->first) / sizeof(int64_t)},                 \
            sizeof *(list)                                                                                             \
    }
/* An array of rows as the two arguments `rows` and `count`. */
#define SNAPSHOT_ROWS(rows) rows, sizeof rows / sizeof rows[0]

/* Adds the rows in their order. The name of each entry is that of its row behind `prefix`. Errors: as snapshot_add().
 */
enum status snapshot_add_rows(struct snapshot *snapshot, enum snapshot_role role, const char *prefix,
                              const struct snapshot_row *rows, size_t count, struct error *err);

/* Returns whether numbers that were read are possible counts: 0 to 10^15, so that additions cannot overflow. */
bool snapshot_counts_sound(const int64_t *counts, size_t count);

/* Writes the beginning of the stream: everything before the first byte of data. */
enum status snapshot_write_head(const struct snapshot *snapshot, const struct snapshot_writer *to, struct error *err);
/* snapshot_bytes() returns the length of the whole stream. snapshot_write() writes the stream from front to back. */
uint64_t snapshot_bytes(const struct snapshot *snapshot);
enum status snapshot_write(const struct snapshot *snapshot, const struct snapshot_writer *to, struct error *err);

/* Reads a stream into the memory of the declared entries. `roles` is a bit set, 1 << SNAPSHOT_WEIGHT | ...: only
 * entries of these roles are read. Each of them that is not optional must be in the stream with the same type and
 * shape; otherwise the result is STATUS_CORRUPT, and the message names the first entry that does not fit. All entries
 * are checked before the first byte is read. Other entries of the stream are ignored. */
enum status snapshot_read(const struct snapshot *snapshot, const struct snapshot_reader *from, unsigned roles,
                          struct error *err);

/* Checks what snapshot_read() checks and reads no bytes, so the entries need no memory: their `at` may be NULL. */
enum status snapshot_fits(const struct snapshot *snapshot, const struct snapshot_reader *from, unsigned roles,
                          struct error *err);

/* Reads some numbers of the role state from a stream. Errors: as snapshot_add() and snapshot_read(). */
enum status snapshot_read_rows(const struct snapshot_reader *from, const struct snapshot_row *rows, size_t count,
                               struct error *err);

/* snapshot_save() and snapshot_load() save and load an object; both call a function that adds all entries of the object
 * to a snapshot. snapshot_save() sets *bytes to the stream's length. */
typedef enum status snapshot_declare(void *owner, struct snapshot *snapshot, struct error *err);
enum status snapshot_save(snapshot_declare *declare, void *owner, const struct snapshot_writer *to, uint64_t *bytes,
                          struct error *err);
enum { SNAPSHOT_ALL = 1 << SNAPSHOT_WEIGHT | 1 << SNAPSHOT_OPTIMISER | 1 << SNAPSHOT_STATE };
enum status snapshot_load(snapshot_declare *declare, void *owner, const struct snapshot_reader *from, unsigned roles,
                          struct error *err);

/* Reads the table of contents only. The caller frees *entries with free(). Offsets are absolute positions in the
 * stream. The bytes may come from an attacker, so every bound is checked; STATUS_CORRUPT if one is wrong. */
enum status snapshot_contents(const struct snapshot_reader *from, struct snapshot_entry **entries, size_t *count,
                              struct error *err);

/* The size of one element in bytes; 0 for an unknown type. */
size_t snapshot_type_bytes(enum snapshot_type type);

#endif
