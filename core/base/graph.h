/* The interface through which a method describes its network to an exporter, node by node, as a graph of named
 * operations.
 *
 * Operations and attributes are those of the ONNX standard set (Conv, BatchNormalization, Relu, ...). Arrays are
 * float32 and row-major. The writer copies names and arrays. One thread at a time may use a writer. */
#ifndef MOTIF_CORE_BASE_GRAPH_H
#define MOTIF_CORE_BASE_GRAPH_H

#include <stddef.h>
#include <stdint.h>

enum { GRAPH_ONE = 16 };
struct graph_attribute {
    const char *name;
    size_t count; /* number of `ints`; 0: the attribute is `number`; GRAPH_ONE: it is ints[0] alone, not a list */
    int64_t ints[4];
    double number;
};

struct graph_writer {
    void *context;
    /* input() and output() declare an input and an output of the network. dim[i] is -1 for an axis of any size. */
    void (*input)(void *context, const char *name, int rank, const int64_t *dim);
    void (*output)(void *context, const char *name, int rank, const int64_t *dim);
    void (*constant)(void *context, const char *name, int rank, const int64_t *dim, const float *values);
    void (*node)(void *context, const char *op, const char *const *inputs, size_t input_count, const char *output,
                 const struct graph_attribute *attributes, size_t attribute_count);
};

#endif
