/* Reads the header of a safetensors file while the file arrives. Such a file consists of a number N (64 bits,
 * little-endian), N bytes of JSON (the header), and the tensors without gaps. These functions serve uploads;
 * api/formats reads and writes the weights of jobs in the same format.
 *
 * The bytes are untrusted: the header has at most TENSORS_HEAD bytes, and the tensors cover the data without gap or
 * overlap. Functions keep no state; any thread. */
#ifndef MOTIF_CORE_FORMATS_JSON_TENSORS_H
#define MOTIF_CORE_FORMATS_JSON_TENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/formats/npy.h"

enum { TENSORS_HEAD = 1 << 20, TENSORS_MOST = 1024, TENSORS_NAME = 128 };

struct tensors_entry {
    char name[TENSORS_NAME];
    /* Type and shape, as in the header of an equivalent .npy file; row-major and little-endian. */
    struct npy_header header;
    int64_t begin, end; /* the tensor's bytes are [begin, end) of the data */
};
struct tensors {
    int count;
    struct tensors_entry *entry; /* [count] in the order of the data */
};

/* Reads the header, up to the data of the first tensor. The caller calls tensors_close(), after an error too.
 * STATUS_CORRUPT: the bytes are not such a header, or end early. STATUS_INVALID: a tensor has a type (F8, ...) or a
 * rank that cannot be read; the message names the tensor. STATUS_LIMIT: more tensors or bytes than allowed. */
enum status tensors_head_read(const struct byte_source *from, struct tensors *out, struct error *err);
void tensors_close(struct tensors *tensors); /* a zeroed struct is allowed */

/* A byte source that ends after the next `left` bytes of another source. */
struct tensors_piece {
    const struct byte_source *from;
    int64_t left;
};
struct byte_source tensors_piece_source(struct tensors_piece *piece);

/* The members of a small JSON object that another program wrote, such as the configuration of a model. The bytes are
 * untrusted. Several threads may read one object at the same time. */

struct json_fields;

/* Parses a text. The caller calls json_fields_destroy(), which accepts NULL. STATUS_INVALID: it is no JSON object. */
enum status json_fields_create(const char *text, size_t bytes, struct json_fields **out, struct error *err);
void json_fields_destroy(struct json_fields *fields);

/* Return the value of a member, or `usual` if there is no member of this name and type. Texts live as long as the
 * object. */
const char *json_fields_text(const struct json_fields *fields, const char *name, const char *usual);
bool json_fields_flag(const struct json_fields *fields, const char *name, bool usual);
/* Returns the number `name`, or, if `inner` is not NULL, the number `inner` in the object `name`. */
double json_fields_number(const struct json_fields *fields, const char *name, const char *inner, double usual);

#endif
