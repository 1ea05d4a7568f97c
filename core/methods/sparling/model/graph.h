/* The motif model as a graph of standard operations. */
#ifndef MOTIF_CORE_METHODS_SPARLING_MODEL_GRAPH_H
#define MOTIF_CORE_METHODS_SPARLING_MODEL_GRAPH_H

#include "core/base/graph.h"
#include "core/methods/sparling/model/network.h"

/* Writes g and the sparse layer as a graph: input [any][channels][rows][cols] -> motifs [any][motif
 * channels][rows][cols]. STATUS_CONFLICT with sparsity noise, which is not a function of the input; STATUS_NO_MEMORY.
 */
enum status network_graph(const struct network *network, const struct graph_writer *out, struct error *err);

#endif
