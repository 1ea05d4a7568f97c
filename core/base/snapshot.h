/* The self-describing byte stream in which a model and its training state are kept.
 *
 *   "MOTIFPK1" | u32 entries | u32 reserved | u64 data_bytes
 *   entries × { char name[96]; u8 type; u8 role; u8 rank; u8 pad[5]; u64 dim[4]; u64 offset; u64 bytes }
 *   zeros up to the next multiple of 64 bytes
 *   data, little endian: the weights one after another without gaps, then each other entry at the
 *   next multiple of 64 bytes. Dimensions from `rank` on are 1.
 *
 * Weights come first and lie together, in the order added, so that a service can hand them out as
 * one range of the stored bytes (the safetensors format allows no holes). All declared first, then written in order:
 * memory stays bounded by the caller's own, whatever the size of the checkpoint. */
#ifndef MOTIF_CORE_BASE_SNAPSHOT_H
#define MOTIF_CORE_BASE_SNAPSHOT_H

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
    int rank; /* 0..4 */
    uint64_t dim[4];
    uint64_t offset, bytes; /* offset from the start of the data section */
    void *bytes_at;         /* writer: source; reader of a struct snapshot: destination, or NULL */
};

/* Where bytes go, and where they come from. Both return a status; `read` fills exactly `count`
 * bytes from absolute position `offset` of the stream or fails. */
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

enum status snapshot_create(struct snapshot **snapshot, struct error *err);
void snapshot_destroy(struct snapshot *snapshot);

/* Adds an entry whose bytes are at `at` (not copied; must stay valid until written or read).
 * Entries must be added in the order weight, optimiser, state. Names are unique. */
enum status snapshot_add(struct snapshot *snapshot, enum snapshot_role role, enum snapshot_type type, const char *name,
                         int rank, const uint64_t *dim, void *at, struct error *err);
/* One number, for states: at points at an int64_t, uint64_t or double. */
enum status snapshot_add_i64(struct snapshot *snapshot, const char *name, int64_t *at, struct error *err);
enum status snapshot_add_u64(struct snapshot *snapshot, const char *name, uint64_t *at, struct error *err);
enum status snapshot_add_f64(struct snapshot *snapshot, const char *name, double *at, struct error *err);

/* A list of them, each an integer or a real. */
struct snapshot_number {
    const char *name;
    int64_t *integer;
    double *real; /* where integer is NULL */
};
enum status snapshot_add_numbers(struct snapshot *snapshot, const struct snapshot_number *numbers, size_t count,
                                 struct error *err);

uint64_t snapshot_bytes(const struct snapshot *snapshot); /* length of the whole stream */
enum status snapshot_write(const struct snapshot *snapshot, const struct snapshot_writer *to, struct error *err);

/* Reads a stream into the memory of the declared entries: every entry of a wanted role must be
 * there with the same type and shape (STATUS_CORRUPT names the first that is not). Roles are a bit
 * set: 1 << SNAPSHOT_WEIGHT | ... . Entries of the stream that were not declared are ignored. */
enum status snapshot_read(const struct snapshot *snapshot, const struct snapshot_reader *from, unsigned roles,
                          struct error *err);

/* What is saved is declared once: a function that adds every entry of `owner`. It serves saving and loading. */
typedef enum status snapshot_declare(void *owner, struct snapshot *snapshot, struct error *err);
enum status snapshot_save(snapshot_declare *declare, void *owner, const struct snapshot_writer *to, uint64_t *bytes,
                          struct error *err);
enum { SNAPSHOT_ALL = 1 << SNAPSHOT_WEIGHT | 1 << SNAPSHOT_OPTIMISER | 1 << SNAPSHOT_STATE };
enum status snapshot_load(snapshot_declare *declare, void *owner, const struct snapshot_reader *from, unsigned roles,
                          struct error *err);

/* The table of contents alone, for services: *entries is malloc'ed (free() it), offsets are
 * absolute in the stream, bytes_at is NULL. Every bound is checked: the bytes may be hostile. */
enum status snapshot_contents(const struct snapshot_reader *from, struct snapshot_entry **entries, size_t *count,
                              struct error *err);

size_t snapshot_type_bytes(enum snapshot_type type);

#endif
