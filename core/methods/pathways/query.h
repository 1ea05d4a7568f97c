/* Queries of a checkpoint: functions for the table of core/methods/method.h. A model is the first case's stack of
 * dictionaries. */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_QUERY_H
#define MOTIF_CORE_METHODS_PATHWAYS_QUERY_H

#include "core/methods/method.h"

enum status pathways_open(const void *config, const struct kernels *kernels, const char *data,
                          const struct snapshot_reader *from, struct method_model **model, struct error *err);
void pathways_close(struct method_model *model);
uint64_t pathways_model_bytes(const struct method_model *model);
enum status pathways_query(const struct method_question *question, const struct sink *out, struct error *err);
size_t pathways_convolutions(const struct method_model *model, struct method_convolution *out, size_t room);

#endif
