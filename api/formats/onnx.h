/* Writes a graph (core/base/graph.h) as an ONNX model. protobuf-c encodes the model, according to the schema in
 * Debian's package libonnx-dev. Only one thread at a time may use a model. */
#ifndef MOTIF_API_FORMATS_ONNX_H
#define MOTIF_API_FORMATS_ONNX_H

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/graph.h"

#define ONNX_OPSET 13

struct onnx;
enum status onnx_create(struct onnx **onnx, struct error *err);
void onnx_destroy(struct onnx *onnx); /* NULL is fine */
/* Returns the writer to which a method passes its graph; it belongs to the model. Its functions report no failures:
 * onnx_encode() reports the first one. */
const struct graph_writer *onnx_writer(struct onnx *onnx);
/* Adds an entry to the metadata of the model. */
void onnx_note(struct onnx *onnx, const char *key, const char *value);
/* Appends the encoded model to `out`. STATUS_INVALID: the graph uses something that ONNX lacks; STATUS_NO_MEMORY. */
enum status onnx_encode(struct onnx *onnx, const char *name, struct buf *out, struct error *err);

#endif
