/* A computation as a graph of named operations, written out node by node: what a method gives an exporter.
 *
 * Names are short static or temporary text that the writer copies. Operations and attributes are those of ONNX's
 * standard set (Conv, BatchNormalization, Relu, ...), arrays are float32, row-major. One thread at a time. */
#ifndef MOTIF_CORE_BASE_GRAPH_H
#define MOTIF_CORE_BASE_GRAPH_H

#include <stddef.h>
#include <stdint.h>

struct graph_attribute {
    const char *name;
    size_t count; /* of ints; 0: it is `number` */
    int64_t ints[4];
    double number;
};

struct graph_writer {
    void *context;
    /* Dimensions of -1 may be any. */
    void (*input)(void *context, const char *name, int rank, const int64_t *dim);
    void (*output)(void *context, const char *name, int rank, const int64_t *dim);
    void (*constant)(void *context, const char *name, int rank, const int64_t *dim, const float *values);
    void (*node)(void *context, const char *op, const char *const *inputs, size_t input_count, const char *output,
                 const struct graph_attribute *attributes, size_t attribute_count);
};

#endif
