/* Reads a stored checkpoint as a safetensors file. The header is built when the file is opened. For each tensor, a
 * struct piece contains the offsets of the tensor's data in the file and in the stored stream. */
#include "api/formats/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/json_sink.h"

#define HEADER_MAX (16u << 20)

struct piece { /* one tensor: its offsets in the data of the file and in the stream */
    uint64_t at, bytes, stored_at;
};

struct safetensors {
    struct snapshot_reader from;
    struct buf header; /* the length and the JSON */
    struct piece *pieces;
    size_t count;
    uint64_t data_bytes;
};

static const char *type_name(enum snapshot_type type)
{
    switch (type) {
    case SNAPSHOT_F32:
        return "F32";
    case SNAPSHOT_F64:
        return "F64";
    case SNAPSHOT_I64:
        return "I64";
    case SNAPSHOT_U64:
        return "U64";
    case SNAPSHOT_U8:
        return "U8";
    default:
        return NULL;
    }
}

static void write_tensor(const struct sink *out, const struct snapshot_entry *entry, uint64_t at)
{
    sink_begin_object(out, entry->name);
    sink_text(out, "dtype", type_name(entry->type));
    sink_begin_list(out, "shape");
    for (int d = 0; d < entry->rank; d++)
        sink_integer(out, NULL, (int64_t)entry->dim[d]);
    sink_end_list(out);
    sink_begin_list(out, "data_offsets");
    sink_integer(out, NULL, (int64_t)at);
    sink_integer(out, NULL, (int64_t)(at + entry->bytes));
    sink_end_list(out);
    sink_end_object(out);
}

enum status safetensors_head(const struct snapshot_entry *entries, size_t count, const struct safetensors_note *notes,
                             size_t note_count, struct buf *head, struct error *err)
{
    struct json_sink json;
    uint64_t at = 0;
    buf_append(head, "\0\0\0\0\0\0\0\0", 8);
    json_sink_init(&json, head);
    const struct sink *out = &json.sink;
    sink_begin_object(out, NULL);
    sink_begin_object(out, "__metadata__");
    for (size_t i = 0; i < note_count; i++)
        sink_text(out, notes[i].name, notes[i].value);
    sink_end_object(out);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].role != SNAPSHOT_WEIGHT)
            continue;
        if (type_name(entries[i].type) == NULL || strcmp(entries[i].name, "__metadata__") == 0) {
            return error_set(err, STATUS_CORRUPT, NULL, "weight '%.60s' has a type that safetensors lacks",
                             entries[i].name);
        }
        write_tensor(out, &entries[i], at);
        at += entries[i].bytes;
    }
    sink_end_object(out);
    if (!json_sink_done(&json))
        return error_set(err, STATUS_NO_MEMORY, NULL, "the table of tensors is too large");
    while (head->size % 8 != 0)
        buf_append(head, " ", 1);
    if (head->failed)
        return error_memory(err, "a table of tensors");
    uint64_t length = head->size - 8;
    for (int i = 0; i < 8; i++)
        head->data[i] = (char)(length >> (8 * i));
    return STATUS_OK;
}

static void find_pieces(struct safetensors *file, const struct snapshot_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (entries[i].role == SNAPSHOT_WEIGHT) {
            file->pieces[file->count++] = (struct piece){file->data_bytes, entries[i].bytes, entries[i].offset};
            file->data_bytes += entries[i].bytes;
        }
    }
}

enum status safetensors_open(const struct snapshot_reader *from, const struct safetensors_note *notes,
                             size_t note_count, struct safetensors **out, struct error *err)
{
    *out = NULL;
    struct snapshot_entry *entries;
    size_t count;
    enum status status = snapshot_contents(from, &entries, &count, err);
    if (status)
        return status;
    struct safetensors *file = calloc(1, sizeof *file);
    struct piece *pieces = calloc(count + 1, sizeof *pieces);
    if (file == NULL || pieces == NULL) {
        free(file);
        free(pieces);
        free(entries);
        return error_memory(err, "a table of tensors");
    }
    file->from = *from;
    file->pieces = pieces;
    buf_init(&file->header, HEADER_MAX);
    find_pieces(file, entries, count);
    status = safetensors_head(entries, count, notes, note_count, &file->header, err);
    free(entries);
    if (status) {
        safetensors_close(file);
        return status;
    }
    *out = file;
    return STATUS_OK;
}

void safetensors_close(struct safetensors *file)
{
    if (file != NULL) {
        buf_close(&file->header);
        free(file->pieces);
        free(file);
    }
}

uint64_t safetensors_bytes(const struct safetensors *file)
{
    return file->header.size + file->data_bytes;
}

/* Returns the index of the last tensor whose data begin at or before offset `at`. The file must have data. */
static size_t find_piece(const struct safetensors *file, uint64_t at)
{
    size_t low = 0, high = file->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (file->pieces[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

enum status safetensors_read(struct safetensors *file, uint64_t offset, void *to, size_t count, struct error *err)
{
    char *out = to;
    if (offset > safetensors_bytes(file) || count > safetensors_bytes(file) - offset)
        return error_set(err, STATUS_INTERNAL, NULL, "read beyond a safetensors file");
    if (offset < file->header.size && count > 0) {
        size_t here = file->header.size - (size_t)offset;
        here = here < count ? here : count;
        memcpy(out, file->header.data + offset, here);
        out += here;
        offset += here;
        count -= here;
    }
    uint64_t at = offset - file->header.size;
    for (size_t p = count > 0 ? find_piece(file, at) : 0; count > 0; p++) {
        const struct piece *piece = &file->pieces[p];
        uint64_t inside = at - piece->at, left = piece->bytes - inside;
        size_t here = left < count ? (size_t)left : count;
        if (here > 0) {
            enum status status = file->from.read(file->from.context, piece->stored_at + inside, out, here, err);
            if (status)
                return status;
        }
        out += here;
        at += here;
        count -= here;
    }
    return STATUS_OK;
}
