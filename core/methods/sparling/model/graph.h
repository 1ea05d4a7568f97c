/* The motif model as a graph of standard operations. */
#ifndef MOTIF_CORE_METHODS_SPARLING_MODEL_GRAPH_H
#define MOTIF_CORE_METHODS_SPARLING_MODEL_GRAPH_H

#include "core/base/graph.h"
#include "core/methods/sparling/model/network.h"

/* input [any][channels][rows][cols] -> motifs [any][motif channels][rows][cols]. STATUS_CONFLICT for a model that draws
 * noise. */
enum status network_graph(const struct network *network, const struct graph_writer *out, struct error *err);

#endif
