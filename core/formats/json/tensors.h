/* The header of a safetensors file, for uploads that are read while they arrive: u64 N, little endian | N bytes of JSON
 * | the tensors without gaps. api/formats reads and writes the weights of jobs in the same format.
 *
 * The bytes are untrusted: the header has at most TENSORS_HEAD bytes, and the tensors cover the data without gap or
 * overlap. Functions keep no state; any thread. */
#ifndef MOTIF_CORE_FORMATS_JSON_TENSORS_H
#define MOTIF_CORE_FORMATS_JSON_TENSORS_H

#include "core/formats/npy.h"

enum { TENSORS_HEAD = 1 << 20, TENSORS_MOST = 1024, TENSORS_NAME = 128 };

struct tensors_entry {
    char name[TENSORS_NAME];
    struct npy_header header; /* as if the tensor were a .npy file: row-major and little-endian */
    int64_t begin, end;       /* the tensor's bytes are [begin, end) of the data */
};
struct tensors {
    int count;
    struct tensors_entry *entry; /* [count] in the order of the data */
};

/* Reads up to the first tensor's data; the caller calls tensors_close(), after an error too. STATUS_CORRUPT: the bytes
 * are no such header, or end early. STATUS_INVALID: a type (F8, ...) or rank that cannot be read; the message names the
 * tensor. STATUS_LIMIT: more tensors or bytes than allowed. */
enum status tensors_head_read(const struct byte_source *from, struct tensors *out, struct error *err);
void tensors_close(struct tensors *tensors); /* a zeroed struct is allowed */

/* A source of the next `left` bytes of another one. */
struct tensors_piece {
    const struct byte_source *from;
    int64_t left;
};
struct byte_source tensors_piece_source(struct tensors_piece *piece);

#endif
