/* The self-describing byte stream in which a model and its training state are kept.
 *
 *   "MOTIFPK1" | u32 entries | u32 reserved | u64 data_bytes
 *   entries × { char name[96]; u8 type; u8 role; u8 rank; u8 pad[5]; u64 dim[4]; u64 offset; u64 bytes }
 *   zeros up to the next multiple of 64 bytes
 *   data, little endian: the weights one after another without gaps, then each other entry at the
 *   next multiple of 64 bytes. Dimensions from `rank` on are 1.
 *
 * Weights come first and lie together, in the order added, so that a service can hand them out as
 * one range of the stored bytes (the safetensors format allows no holes). All declared first, then written in order: memory stays bounded
 * by the caller's own, whatever the size of the checkpoint. */
#ifndef MOTIF_CORE_BASE_PACK_H
#define MOTIF_CORE_BASE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum pack_type { PACK_F32 = 1, PACK_F64, PACK_I64, PACK_U64, PACK_U8 };
enum pack_role { PACK_WEIGHT = 1, PACK_OPTIMISER, PACK_STATE };

#define PACK_NAME 96

struct pack_entry {
    char name[PACK_NAME];
    enum pack_type type;
    enum pack_role role;
    int rank;               /* 0..4 */
    uint64_t dim[4];
    uint64_t offset, bytes; /* offset from the start of the data section */
    void *bytes_at;         /* writer: source; reader of a struct pack: destination, or NULL */
};

/* Where bytes go, and where they come from. Both return a status; `read` fills exactly `count`
 * bytes from absolute position `offset` of the stream or fails. */
struct pack_writer {
    void *context;
    enum status (*write)(void *context, const void *bytes, size_t count, struct error *err);
};
struct pack_reader {
    void *context;
    uint64_t total_bytes;
    enum status (*read)(void *context, uint64_t offset, void *bytes, size_t count, struct error *err);
};

struct pack; /* a list of entries that point at the caller's memory */

enum status pack_create(struct pack **pack, struct error *err);
void pack_destroy(struct pack *pack);

/* Adds an entry whose bytes are at `at` (not copied; must stay valid until written or read).
 * Entries must be added in the order weight, optimiser, state. Names are unique. */
enum status pack_add(struct pack *pack, enum pack_role role, enum pack_type type, const char *name, int rank,
                     const uint64_t *dim, void *at, struct error *err);
/* One number, for states: at points at an int64_t, uint64_t or double. */
enum status pack_add_i64(struct pack *pack, const char *name, int64_t *at, struct error *err);
enum status pack_add_u64(struct pack *pack, const char *name, uint64_t *at, struct error *err);
enum status pack_add_f64(struct pack *pack, const char *name, double *at, struct error *err);

/* A list of them, each an integer or a real. */
struct pack_number {
    const char *name;
    int64_t *integer;
    double *real; /* where integer is NULL */
};
enum status pack_add_numbers(struct pack *pack, const struct pack_number *numbers, size_t count, struct error *err);

uint64_t pack_bytes(const struct pack *pack); /* length of the whole stream */
enum status pack_write(const struct pack *pack, const struct pack_writer *to, struct error *err);

/* Reads a stream into the memory of the declared entries: every entry of a wanted role must be
 * there with the same type and shape (STATUS_CORRUPT names the first that is not). Roles are a bit
 * set: 1 << PACK_WEIGHT | ... . Entries of the stream that were not declared are ignored. */
enum status pack_read(const struct pack *pack, const struct pack_reader *from, unsigned roles, struct error *err);

/* What is saved is declared once: a function that adds every entry of `owner`. It serves saving and loading. */
typedef enum status pack_declare(void *owner, struct pack *pack, struct error *err);
enum status pack_save(pack_declare *declare, void *owner, const struct pack_writer *to, uint64_t *bytes,
                      struct error *err);
enum { PACK_ALL = 1 << PACK_WEIGHT | 1 << PACK_OPTIMISER | 1 << PACK_STATE };
enum status pack_load(pack_declare *declare, void *owner, const struct pack_reader *from, unsigned roles,
                      struct error *err);

/* The table of contents alone, for services: *entries is malloc'ed (free() it), offsets are
 * absolute in the stream, bytes_at is NULL. Every bound is checked: the bytes may be hostile. */
enum status pack_contents(const struct pack_reader *from, struct pack_entry **entries, size_t *count,
                          struct error *err);

size_t pack_type_bytes(enum pack_type type);

#endif
