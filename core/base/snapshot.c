/* Writes and reads snapshots.
 *
 * The reader loads and checks the whole table of contents before it reads data, so a stream that does not fit leaves
 * the caller's memory unchanged. The checks accept only what the writer produces: names padded with zeros, roles in
 * ascending order, every offset at its place. Entries therefore cannot overlap, and sizes cannot overflow. */
#include "core/base/snapshot.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"

#define MAGIC "MOTIFPK1"
#define HEADER_BYTES 24
#define ENTRY_BYTES 152
#define ALIGNMENT 64
#define MAX_ENTRIES 65536

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are stored in the machine's order");

struct snapshot {
    struct snapshot_entry *entries;
    size_t count;
    uint64_t data_bytes;
};

static void put_u32(unsigned char *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}
static void put_u64(unsigned char *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

static uint32_t get_u32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t get_u64(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

size_t snapshot_type_bytes(enum snapshot_type type)
{
    switch (type) {
    case SNAPSHOT_F32:
        return 4;
    case SNAPSHOT_F64:
    case SNAPSHOT_I64:
    case SNAPSHOT_U64:
        return 8;
    case SNAPSHOT_U8:
        return 1;
    }
    return 0;
}

/* The next multiple of ALIGNMENT; count <= UINT64_MAX - 63. */
static uint64_t aligned(uint64_t count)
{
    return (count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Offset of the data in a stream of `count` entries. */
static uint64_t data_start(uint64_t count)
{
    return aligned(HEADER_BYTES + count * ENTRY_BYTES);
}

/* Computes the size of an entry in bytes; false if it overflows. */
static bool entry_bytes(enum snapshot_type type, int rank, const uint64_t *dim, uint64_t *out)
{
    uint64_t bytes = snapshot_type_bytes(type);
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        empty = empty || dim[i] == 0;
        if (dim[i] > INT64_MAX || (dim[i] > 0 && bytes > INT64_MAX / dim[i]))
            return false;
        bytes *= dim[i] > 0 ? dim[i] : 1;
    }
    *out = empty ? 0 : bytes;
    return true;
}

/* Returns the offset of an entry that follows `end` bytes of data. Weights have no gaps between them; other entries
 * begin at a multiple of ALIGNMENT. */
static uint64_t snapshot_place(enum snapshot_role role, uint64_t end)
{
    return role == SNAPSHOT_WEIGHT ? end : aligned(end);
}

/* Names are printable ASCII that needs no escape in JSON. */
static bool name_fits(const char *name)
{
    size_t length = strnlen(name, SNAPSHOT_NAME);
    for (size_t i = 0; i < length; i++)
        if (name[i] <= ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\')
            return false;
    return length > 0 && length < SNAPSHOT_NAME;
}

enum status snapshot_create(struct snapshot **snapshot, struct error *err)
{
    *snapshot = calloc(1, sizeof **snapshot);
    return *snapshot != NULL ? STATUS_OK : error_memory(err, "a snapshot");
}

void snapshot_destroy(struct snapshot *snapshot)
{
    if (snapshot != NULL) {
        free(snapshot->entries);
        free(snapshot);
    }
}

static enum status add_row(struct snapshot *snapshot, enum snapshot_role role, const char *name,
                           const struct snapshot_row *row, struct error *err)
{
    uint64_t bytes;
    if (!name_fits(name) || row->rank < 0 || row->rank > 4 || snapshot_type_bytes(row->type) == 0 ||
        role < SNAPSHOT_WEIGHT || role > SNAPSHOT_STATE || !entry_bytes(row->type, row->rank, row->dim, &bytes))
        return error_set(err, STATUS_INTERNAL, NULL, "snapshot entry %.95s: invalid name, type or shape", name);
    if (snapshot->count > 0 && snapshot->entries[snapshot->count - 1].role > role) {
        return error_set(err, STATUS_INTERNAL, NULL, "snapshot entry %s: add weights first, then optimiser, then state",
                         name);
    }
    for (size_t i = 0; i < snapshot->count; i++)
        if (strcmp(snapshot->entries[i].name, name) == 0)
            return error_set(err, STATUS_INTERNAL, NULL, "snapshot entry %s was added twice", name);
    if (snapshot->count >= MAX_ENTRIES)
        return error_set(err, STATUS_LIMIT, NULL, "a snapshot has at most %d entries", MAX_ENTRIES);
    struct snapshot_entry *entries = grown(snapshot->entries, snapshot->count, sizeof *entries);
    if (entries == NULL)
        return error_memory(err, "a snapshot");
    snapshot->entries = entries;
    uint64_t offset = snapshot_place(role, snapshot->data_bytes);
    if (bytes > INT64_MAX / 2 || offset > INT64_MAX / 2 - bytes)
        return error_set(err, STATUS_LIMIT, NULL, "snapshot entry %s is too large", name);
    struct snapshot_entry *entry = &snapshot->entries[snapshot->count++];
    *entry = (struct snapshot_entry){.type = row->type,
                                     .role = role,
                                     .rank = row->rank,
                                     .offset = offset,
                                     .bytes = bytes,
                                     .stride = row->stride,
                                     .bytes_at = row->at};
    memcpy(entry->name, name, strlen(name));
    for (int i = 0; i < 4; i++)
        entry->dim[i] = i < row->rank ? row->dim[i] : 1;
    snapshot->data_bytes = offset + bytes;
    return STATUS_OK;
}

enum status snapshot_add(struct snapshot *snapshot, enum snapshot_role role, enum snapshot_type type, const char *name,
                         int rank, const uint64_t *dim, void *at, struct error *err)
{
    struct snapshot_row row = {name, type, at, rank, {0}, 0};
    for (int i = 0; rank <= 4 && i < rank; i++) /* add_row() refuses a larger rank */
        row.dim[i] = dim[i];
    return add_row(snapshot, role, name, &row, err);
}

enum status snapshot_add_rows(struct snapshot *snapshot, enum snapshot_role role, const char *prefix,
                              const struct snapshot_row *rows, size_t count, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && !status; i++) {
        char name[2 * SNAPSHOT_NAME];
        if (rows[i].name == NULL)
            continue;
        snprintf(name, sizeof name, "%s%s", prefix, rows[i].name);
        status = add_row(snapshot, role, name, &rows[i], err);
    }
    return status;
}

void snapshot_optional(struct snapshot *snapshot, const char *prefix)
{
    for (size_t i = 0; i < snapshot->count; i++)
        snapshot->entries[i].optional |= strncmp(snapshot->entries[i].name, prefix, strlen(prefix)) == 0;
}

bool snapshot_counts_sound(const int64_t *counts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (counts[i] < 0 || counts[i] > INT64_C(1000000000000000))
            return false;
    return true;
}

uint64_t snapshot_bytes(const struct snapshot *snapshot)
{
    return data_start(snapshot->count) + snapshot->data_bytes;
}

static void encode_entry(const struct snapshot_entry *entry, unsigned char *out)
{
    memset(out, 0, ENTRY_BYTES);
    memcpy(out, entry->name, strlen(entry->name));
    out[96] = (unsigned char)entry->type;
    out[97] = (unsigned char)entry->role;
    out[98] = (unsigned char)entry->rank;
    for (int i = 0; i < 4; i++)
        put_u64(out + 104 + 8 * i, entry->dim[i]);
    put_u64(out + 136, entry->offset);
    put_u64(out + 144, entry->bytes);
}

enum status snapshot_write_head(const struct snapshot *snapshot, const struct snapshot_writer *to, struct error *err)
{
    size_t bytes = (size_t)data_start(snapshot->count);
    unsigned char *table = calloc(1, bytes);
    if (table == NULL)
        return error_memory(err, "a table of contents");
    memcpy(table, MAGIC, 8);
    put_u32(table + 8, (uint32_t)snapshot->count);
    put_u64(table + 16, snapshot->data_bytes);
    for (size_t i = 0; i < snapshot->count; i++)
        encode_entry(&snapshot->entries[i], table + HEADER_BYTES + i * ENTRY_BYTES);
    enum status status = to->write(to->context, table, bytes, err);
    free(table);
    return status;
}

/* Copies the elements of an entry with gaps to `packed`, or back with `unpack`. */
static void copy_elements(const struct snapshot_entry *entry, unsigned char *packed, bool unpack)
{
    size_t bytes = (size_t)(entry->bytes / entry->dim[0]);
    for (size_t i = 0; i < entry->dim[0]; i++) {
        unsigned char *at = (unsigned char *)entry->bytes_at + i * entry->stride;
        memcpy(unpack ? at : packed + i * bytes, unpack ? packed + i * bytes : at, bytes);
    }
}

static enum status write_entry(const struct snapshot_entry *entry, const struct snapshot_writer *to, struct error *err)
{
    if (entry->bytes == 0)
        return STATUS_OK;
    if (entry->stride == 0)
        return to->write(to->context, entry->bytes_at, (size_t)entry->bytes, err);
    unsigned char *packed = malloc((size_t)entry->bytes);
    if (packed == NULL)
        return error_memory(err, "a table of numbers");
    copy_elements(entry, packed, false);
    enum status status = to->write(to->context, packed, (size_t)entry->bytes, err);
    free(packed);
    return status;
}

enum status snapshot_write(const struct snapshot *snapshot, const struct snapshot_writer *to, struct error *err)
{
    static const unsigned char zeros[ALIGNMENT];
    enum status status = snapshot_write_head(snapshot, to, err);
    uint64_t written = 0;
    for (size_t i = 0; i < snapshot->count && !status; i++) {
        const struct snapshot_entry *entry = &snapshot->entries[i];
        if (entry->offset > written)
            status = to->write(to->context, zeros, (size_t)(entry->offset - written), err);
        if (!status)
            status = write_entry(entry, to, err);
        written = entry->offset + entry->bytes;
    }
    return status;
}

static bool all_zero(const unsigned char *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (at[i] != 0)
            return false;
    return true;
}

/* Decodes one entry of a stream; false if snapshot_write() could not have written it at this place. */
static bool decode_entry(const unsigned char *in, enum snapshot_role last_role, uint64_t end,
                         struct snapshot_entry *out)
{
    *out =
        (struct snapshot_entry){.type = (enum snapshot_type)in[96], .role = (enum snapshot_role)in[97], .rank = in[98]};
    memcpy(out->name, in, SNAPSHOT_NAME);
    for (int i = 0; i < 4; i++)
        out->dim[i] = get_u64(in + 104 + 8 * i);
    out->offset = get_u64(in + 136);
    out->bytes = get_u64(in + 144);
    size_t length = strnlen(out->name, SNAPSHOT_NAME);
    if (!name_fits(out->name) || !all_zero(in + length, SNAPSHOT_NAME - length) || !all_zero(in + 99, 5) ||
        snapshot_type_bytes(out->type) == 0 || out->role < last_role || out->role > SNAPSHOT_STATE || out->rank > 4)
        return false;
    for (int i = out->rank; i < 4; i++)
        if (out->dim[i] != 1)
            return false;
    uint64_t bytes;
    return entry_bytes(out->type, out->rank, out->dim, &bytes) && bytes == out->bytes &&
           out->offset == snapshot_place(out->role, end);
}

static int compare_names(const void *a, const void *b)
{
    const struct snapshot_entry *const *first = a, *const *second = b;
    return strcmp((*first)->name, (*second)->name);
}

/* Pointers to the entries, sorted by name; the caller frees the array. NULL if there is no memory. */
static const struct snapshot_entry **by_name(const struct snapshot_entry *entries, size_t count)
{
    const struct snapshot_entry **sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted != NULL) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = &entries[i];
        qsort(sorted, count, sizeof *sorted, compare_names);
    }
    return sorted;
}

static enum status decode_table(const unsigned char *table, uint64_t data_bytes, struct snapshot_entry *entries,
                                size_t count, struct error *err)
{
    enum snapshot_role role = SNAPSHOT_WEIGHT;
    uint64_t end = 0; /* end of the data so far; at most data_bytes, which read_header() has checked against the
                       * stream's length */
    for (size_t i = 0; i < count; i++) {
        if (!decode_entry(table + i * ENTRY_BYTES, role, end, &entries[i]) || entries[i].offset > data_bytes ||
            entries[i].bytes > data_bytes - entries[i].offset)
            return error_set(err, STATUS_CORRUPT, NULL, "entry %zu of the table of contents is damaged", i);
        role = entries[i].role;
        end = entries[i].offset + entries[i].bytes;
    }
    if (end != data_bytes)
        return error_set(err, STATUS_CORRUPT, NULL, "the entries do not cover all the data");
    const struct snapshot_entry **sorted = by_name(entries, count);
    if (sorted == NULL)
        return error_memory(err, "a table of contents");
    enum status status = STATUS_OK;
    for (size_t i = 1; i < count && !status; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            status = error_set(err, STATUS_CORRUPT, NULL, "entry %s occurs twice", sorted[i]->name);
    free(sorted);
    return status;
}

/* Reads the number of entries and data bytes, and checks both against the stream's length. */
static enum status read_header(const struct snapshot_reader *from, size_t *count, uint64_t *data_bytes,
                               struct error *err)
{
    unsigned char header[HEADER_BYTES];
    if (from->total_bytes < HEADER_BYTES)
        return error_set(err, STATUS_CORRUPT, NULL, "too short for a snapshot");
    enum status status = from->read(from->context, 0, header, sizeof header, err);
    if (status)
        return status;
    if (memcmp(header, MAGIC, 8) != 0 || get_u32(header + 12) != 0)
        return error_set(err, STATUS_CORRUPT, NULL, "not a snapshot: the first bytes are not " MAGIC);
    *count = get_u32(header + 8);
    *data_bytes = get_u64(header + 16);
    if (*count > MAX_ENTRIES || data_start(*count) > from->total_bytes ||
        *data_bytes != from->total_bytes - data_start(*count))
        return error_set(err, STATUS_CORRUPT, NULL, "the length of the stream does not match its header");
    return STATUS_OK;
}

enum status snapshot_contents(const struct snapshot_reader *from, struct snapshot_entry **entries, size_t *count,
                              struct error *err)
{
    *entries = NULL;
    *count = 0;
    size_t found = 0;
    uint64_t data_bytes = 0;
    enum status status = read_header(from, &found, &data_bytes, err);
    if (status)
        return status;
    unsigned char *table = malloc(found * ENTRY_BYTES + 1);
    struct snapshot_entry *list = calloc(found + 1, sizeof *list);
    if (table == NULL || list == NULL)
        status = error_memory(err, "a table of contents");
    if (!status && found > 0)
        status = from->read(from->context, HEADER_BYTES, table, found * ENTRY_BYTES, err);
    if (!status)
        status = decode_table(table, data_bytes, list, found, err);
    free(table);
    if (status) {
        free(list);
        return status;
    }
    for (size_t i = 0; i < found; i++)
        list[i].offset += data_start(found);
    *entries = list;
    *count = found;
    return STATUS_OK;
}

static const struct snapshot_entry *snapshot_find(const struct snapshot_entry **sorted, size_t count,
                                                  const struct snapshot_entry *wanted)
{
    const struct snapshot_entry **found = bsearch(&wanted, sorted, count, sizeof *sorted, compare_names);
    return found != NULL ? *found : NULL;
}

static bool same_shape(const struct snapshot_entry *a, const struct snapshot_entry *b)
{
    return a->type == b->type && a->role == b->role && a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

static enum status read_entry(const struct snapshot_entry *entry, uint64_t offset, const struct snapshot_reader *from,
                              struct error *err)
{
    if (entry->bytes == 0)
        return STATUS_OK;
    if (entry->stride == 0)
        return from->read(from->context, offset, entry->bytes_at, (size_t)entry->bytes, err);
    unsigned char *packed = malloc((size_t)entry->bytes);
    if (packed == NULL)
        return error_memory(err, "a table of numbers");
    enum status status = from->read(from->context, offset, packed, (size_t)entry->bytes, err);
    if (!status)
        copy_elements(entry, packed, true);
    free(packed);
    return status;
}

/* Goes once through the declared entries and checks that the stream contains each of them with the same type and shape.
 * With `fill`, also reads their bytes. */
static enum status match(const struct snapshot *snapshot, const struct snapshot_reader *from, unsigned roles,
                         const struct snapshot_entry **sorted, size_t count, bool fill, struct error *err)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct snapshot_entry *wanted = &snapshot->entries[i];
        if ((roles >> wanted->role & 1U) == 0)
            continue;
        const struct snapshot_entry *found = snapshot_find(sorted, count, wanted);
        if (found == NULL && wanted->optional)
            continue;
        if (found == NULL)
            return error_set(err, STATUS_CORRUPT, NULL, "entry %s is missing", wanted->name);
        if (!same_shape(found, wanted))
            return error_set(err, STATUS_CORRUPT, NULL, "entry %s has another type or shape", wanted->name);
        enum status status = fill ? read_entry(wanted, found->offset, from, err) : STATUS_OK;
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* Compares the declared entries with the table of contents of a stream and, with `fill`, reads their bytes. */
static enum status snapshot_take(const struct snapshot *snapshot, const struct snapshot_reader *from, unsigned roles,
                                 bool fill, struct error *err)
{
    struct snapshot_entry *entries;
    size_t count;
    enum status status = snapshot_contents(from, &entries, &count, err);
    if (status)
        return status;
    const struct snapshot_entry **sorted = by_name(entries, count);
    if (sorted == NULL) {
        status = error_memory(err, "a table of contents");
    } else {
        status = match(snapshot, from, roles, sorted, count, false, err);
        if (!status && fill)
            status = match(snapshot, from, roles, sorted, count, true, err);
    }
    free(sorted);
    free(entries);
    return status;
}

enum status snapshot_read(const struct snapshot *snapshot, const struct snapshot_reader *from, unsigned roles,
                          struct error *err)
{
    return snapshot_take(snapshot, from, roles, true, err);
}

enum status snapshot_fits(const struct snapshot *snapshot, const struct snapshot_reader *from, unsigned roles,
                          struct error *err)
{
    return snapshot_take(snapshot, from, roles, false, err);
}

enum status snapshot_read_rows(const struct snapshot_reader *from, const struct snapshot_row *rows, size_t count,
                               struct error *err)
{
    struct snapshot *snapshot = NULL;
    enum status status = snapshot_create(&snapshot, err);
    if (!status)
        status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", rows, count, err);
    if (!status)
        status = snapshot_read(snapshot, from, 1U << SNAPSHOT_STATE, err);
    snapshot_destroy(snapshot);
    return status;
}

enum status snapshot_save(snapshot_declare *declare, void *owner, const struct snapshot_writer *to, uint64_t *bytes,
                          struct error *err)
{
    struct snapshot *snapshot = NULL;
    enum status status = snapshot_create(&snapshot, err);
    if (!status)
        status = declare(owner, snapshot, err);
    if (!status)
        status = snapshot_write(snapshot, to, err);
    if (!status)
        *bytes = snapshot_bytes(snapshot);
    snapshot_destroy(snapshot);
    return status;
}

enum status snapshot_load(snapshot_declare *declare, void *owner, const struct snapshot_reader *from, unsigned roles,
                          struct error *err)
{
    struct snapshot *snapshot = NULL;
    enum status status = snapshot_create(&snapshot, err);
    if (!status)
        status = declare(owner, snapshot, err);
    if (!status)
        status = snapshot_read(snapshot, from, roles, err);
    snapshot_destroy(snapshot);
    return status;
}
