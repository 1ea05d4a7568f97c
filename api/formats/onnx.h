/* Writes a graph (core/base/graph.h) as an ONNX model. protobuf-c encodes it, from the schema in Debian's libonnx-dev.
 * One thread at a time. */
#ifndef MOTIF_API_FORMATS_ONNX_H
#define MOTIF_API_FORMATS_ONNX_H

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/graph.h"

#define ONNX_OPSET 13

struct onnx;
enum status onnx_create(struct onnx **onnx, struct error *err);
void onnx_destroy(struct onnx *onnx); /* NULL is fine */
/* The writer that a method draws its graph with; it belongs to the model. onnx_encode() reports the first failure. */
const struct graph_writer *onnx_writer(struct onnx *onnx);
/* Adds an entry to the metadata of the model. */
void onnx_note(struct onnx *onnx, const char *key, const char *value);
/* Appends the encoded model to `out`. STATUS_INVALID: the graph uses something that ONNX lacks; STATUS_NO_MEMORY. */
enum status onnx_encode(struct onnx *onnx, const char *name, struct buf *out, struct error *err);

#endif
