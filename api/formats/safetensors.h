/* Converts the weights of a checkpoint to a safetensors file and back. safetensors_read() produces any part of the
 * file, so the whole file is never in memory.
 *
 *   u64 N, little endian | N bytes of JSON, padded with spaces so that 8 + N is a multiple of 8 | tensors
 *
 * The JSON contains {"dtype","shape","data_offsets":[begin,end)} for each tensor, and texts about the origin in
 * "__metadata__". The tensors follow each other without gaps, as the weights do in a stored stream
 * (core/base/snapshot.h). The same checkpoint always gives the same bytes. Only one thread at a time may use a file. */
#ifndef MOTIF_API_FORMATS_SAFETENSORS_H
#define MOTIF_API_FORMATS_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/json.h"
#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/snapshot.h"

struct safetensors;

struct safetensors_note { /* an entry of __metadata__ */
    const char *name, *value;
};

/* Appends the header of a file (length and JSON) for entries that are weights. Uses the name, type, rank, dim and bytes
 * of each entry. `head` must be empty. */
enum status safetensors_head(const struct snapshot_entry *entries, size_t count, const struct safetensors_note *notes,
                             size_t note_count, struct buf *head, struct error *err);

/* Opens a stored stream as a safetensors file. `from` is borrowed and must outlive the file. STATUS_CORRUPT: the stream
 * is no snapshot, or a weight has a type that safetensors lacks. */
enum status safetensors_open(const struct snapshot_reader *from, const struct safetensors_note *notes,
                             size_t note_count, struct safetensors **out, struct error *err);
void safetensors_close(struct safetensors *file); /* NULL is fine */

/* Size of the file. */
uint64_t safetensors_bytes(const struct safetensors *file);
/* Reads `count` bytes from `offset`, all of which must be within the file. */
enum status safetensors_read(struct safetensors *file, uint64_t offset, void *to, size_t count, struct error *err);

/* ---- from a file to a stored stream ---- */

struct safetensors_tensor {
    const char *name;
    enum snapshot_type type;
    int rank;
    uint64_t dim[4], begin, end; /* the tensor's bytes are [begin, end) of the data */
};
struct safetensors_content {
    cJSON *head;                        /* the parsed JSON, which contains the names of the tensors; owned */
    const cJSON *notes;                 /* the object __metadata__, whose values are texts; NULL: none */
    const unsigned char *data;          /* the tensors' bytes; borrowed */
    struct safetensors_tensor *tensors; /* tensors in the order of their data, which has no gaps */
    size_t count;
};
/* Parses a file in memory, which must outlive the content and may be hostile. STATUS_INVALID: err->pointer leads to the
 * faulty tensor in the JSON, and *out is empty. Refuses tensors of a type that a stored stream (core/base/snapshot.h)
 * cannot contain. */
enum status safetensors_parse(const void *bytes, size_t count, struct safetensors_content *out, struct error *err);
void safetensors_content_close(struct safetensors_content *content); /* a struct that is all zero is allowed */
const char *safetensors_note(const struct safetensors_content *content,
                             const char *name); /* returns the value of a note; NULL: there is no such note */

/* Appends the beginning of a stream of weights (core/base/snapshot.h) to `out`. To complete the stream, the caller
 * appends content->data unchanged: both formats store the tensors in the same order and without gaps. */
enum status safetensors_to_snapshot(const struct safetensors_content *content, struct buf *out, struct error *err);
/* The bytes of all tensors. */
size_t safetensors_data_bytes(const struct safetensors_content *content);

#endif
