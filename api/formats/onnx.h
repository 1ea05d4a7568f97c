/* A graph (core/base/graph.h) as an ONNX model: protobuf by protobuf-c, from the description in Debian's libonnx-dev.
 */
#ifndef MOTIF_API_FORMATS_ONNX_H
#define MOTIF_API_FORMATS_ONNX_H

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/graph.h"

#define ONNX_OPSET 13

struct onnx;
enum status onnx_create(struct onnx **onnx, struct error *err);
void onnx_destroy(struct onnx *onnx); /* NULL is fine */
/* Valid as long as the model. A failure is sticky and comes out of onnx_encode(). */
const struct graph_writer *onnx_writer(struct onnx *onnx);
/* A line of metadata. */
void onnx_note(struct onnx *onnx, const char *key, const char *value);
enum status onnx_encode(struct onnx *onnx, const char *name, struct buf *out, struct error *err);

#endif
