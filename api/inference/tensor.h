/* Tensors of the Open Inference Protocol: data types, and reading the tensor of a request.
 *
 * Pure functions; any thread. */
#ifndef MOTIF_API_INFERENCE_TENSOR_H
#define MOTIF_API_INFERENCE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/json.h"
#include "core/base/error.h"

enum { TENSOR_DATATYPES = 12, TENSOR_RANK = 4 };

struct tensor_datatype {
    const char *name; /* "FP32" */
    size_t bytes;     /* bytes of an element */
    enum { TENSOR_BOOLEAN, TENSOR_UNSIGNED, TENSOR_SIGNED, TENSOR_FLOAT } family;
};

/* Returns the numeric data type of this name; NULL: there is none. */
const struct tensor_datatype *tensor_datatype(const char *name);
/* Writes the names of the numeric data types with commas between them. */
void tensor_datatype_names(char *out, size_t room);

/* Read `count` elements as float32: tensor_read_json() from a JSON list, flat or nested, tensor_read_bytes() from the
 * bytes of the binary extension. pointer: the JSON pointer of the data, for errors. STATUS_INVALID: another number of
 * elements, or an element that the data type cannot represent. */
enum status tensor_read_json(const struct tensor_datatype *type, const cJSON *data, size_t count, const char *pointer,
                             float *out, struct error *err);
enum status tensor_read_bytes(const struct tensor_datatype *type, const void *bytes, size_t size, size_t count,
                              const char *pointer, float *out, struct error *err);

#endif
