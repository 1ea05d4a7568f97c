/* The run functions behind core/methods/method.h (see there). */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_RUN_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_RUN_H

#include "core/methods/method.h"

enum status environments_create(const void *config, const struct method_env *env, struct method_run **run,
                                struct error *err);
enum status environments_step(struct method_run *run, enum method_wish *wish, struct error *err);
void environments_progress(const struct method_run *run, struct method_progress *out);
enum status environments_save(struct method_run *run, const struct pack_writer *to, uint64_t *bytes,
                              struct error *err);
enum status environments_load(struct method_run *run, const struct pack_reader *from, struct error *err);
enum status environments_warm_start(struct method_run *run, const struct pack_reader *from, struct error *err);
enum status environments_begin_evaluation(struct method_run *run, const struct method_evaluation *what,
                                          struct error *err);
enum status environments_result(struct method_run *run, const struct sink *out, struct error *err);
void environments_destroy(struct method_run *run);

enum status environments_open(const void *config, const struct kernels *kernels, const char *data,
                              const struct pack_reader *from, struct method_model **model, struct error *err);
void environments_close(struct method_model *model);
uint64_t environments_model_bytes(const struct method_model *model);
enum status environments_query(const struct method_model *model, const char *query, const struct method_input *input,
                               const struct sink *out, struct error *err);

#endif
