/* Queries of a SPARLING model: members of struct method, documented in core/methods/method.h. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_H

#include "core/methods/method.h"

enum status sparling_open(const void *config, const struct kernels *kernels, const char *data,
                          const struct snapshot_reader *from, struct method_model **model, struct error *err);
void sparling_close(struct method_model *model);
uint64_t sparling_model_bytes(const struct method_model *model);
enum status sparling_query(const struct method_model *model, const char *query, const struct method_input *input,
                           const struct sink *out, struct error *err);
enum status sparling_array(const struct method_model *model, const char *query, const struct method_input *input,
                           struct buf *values, int *rank, int64_t dim[4], struct error *err);
enum status sparling_graph(const struct method_model *model, const struct graph_writer *out, struct error *err);
enum status sparling_compare(const struct method_model *model, const struct method_model *with, int64_t samples,
                             const struct sink *out, struct error *err);
enum status sparling_channels(const struct method_model *model, const struct method_channel_query *asked,
                              const struct sink *out, struct error *err);
enum status sparling_draw_channels(const struct method_model *model, const struct method_channel_query *asked,
                                   struct picture **out, struct error *err);
size_t sparling_convolutions(const struct method_model *model, struct method_convolution *out, size_t room);
enum status sparling_draw(const struct method_model *model, const char *query, const struct method_input *input,
                          struct picture **out, struct error *err);

#endif
