/* The weights of a checkpoint as a safetensors file, read on demand at any offset; and such a file as weights.
 *
 *   u64 N, little endian | N bytes of JSON, padded with spaces so that 8 + N is a multiple of 8 | tensors
 *
 * The JSON has for each tensor {"dtype","shape","data_offsets":[begin,end)} and in "__metadata__" texts about where
 * it comes from. Tensors follow each other without gaps, as readers of the format demand; in the stored stream
 * they lie at 64-byte boundaries, so a table maps one to the other. The same checkpoint always gives the same
 * bytes. One thread at a time. */
#ifndef MOTIF_API_FORMATS_SAFETENSORS_H
#define MOTIF_API_FORMATS_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "api/json/json.h"
#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/snapshot.h"

struct safetensors;

struct safetensors_note { /* an entry of __metadata__ */
    const char *name, *value;
};

/* The table alone, of entries that are weights: name, type, rank, dim and bytes are read. `head` is empty before. */
enum status safetensors_head(const struct snapshot_entry *entries, size_t count, const struct safetensors_note *notes,
                             size_t note_count, struct buf *head, struct error *err);

/* `from` is borrowed and must stay valid. STATUS_CORRUPT when the stream is none, or a weight has a type that the
 * format does not know. */
enum status safetensors_open(const struct snapshot_reader *from, const struct safetensors_note *notes,
                             size_t note_count, struct safetensors **out, struct error *err);
void safetensors_close(struct safetensors *file); /* NULL is fine */

uint64_t safetensors_bytes(const struct safetensors *file);
/* Exactly `count` bytes from `offset`; both must lie within the file. */
enum status safetensors_read(struct safetensors *file, uint64_t offset, void *to, size_t count, struct error *err);

/* ---- the other way ---- */

struct safetensors_tensor {
    const char *name;
    enum snapshot_type type;
    int rank;
    uint64_t dim[4], begin, end; /* bytes within the data */
};
struct safetensors_content {
    cJSON *head;                        /* owns every name */
    const cJSON *notes;                 /* __metadata__: an object of texts; NULL without one */
    const unsigned char *data;          /* borrowed */
    struct safetensors_tensor *tensors; /* in the order of the data, without gaps */
    size_t count;
};
/* The table of a whole file in memory; the bytes may be hostile and must stay valid. STATUS_INVALID with a pointer into
 * the JSON where a tensor is at fault; *out is empty then. Types that a stored stream does not know are refused. */
enum status safetensors_parse(const void *bytes, size_t count, struct safetensors_content *out, struct error *err);
void safetensors_content_close(struct safetensors_content *content);                       /* a zeroed one is fine */
const char *safetensors_note(const struct safetensors_content *content, const char *name); /* NULL: none */

/* The tensors as a stream of weights (core/base/snapshot.h), appended to `out`. */
enum status safetensors_to_snapshot(const struct safetensors_content *content, struct buf *out, struct error *err);

#endif
