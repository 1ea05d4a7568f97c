/* The method's functions of core/methods/method.h that core/methods/shared/model_run.h does not provide. */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_RUN_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_RUN_H

#include "core/methods/findings.h"
#include "core/methods/method.h"

/* The time series of a run. */
enum { ENVIRONMENTS_METRICS = 6 };
extern const struct method_metric environments_metrics[ENVIRONMENTS_METRICS];

enum status environments_create(const void *config, const struct method_env *env, struct method_run **run,
                                struct error *err);
/* result.c defines the table of the method's findings, and the function `judge` of struct method. */
enum { ENVIRONMENTS_FINDINGS = 3 };
extern const struct finding_code environments_findings[ENVIRONMENTS_FINDINGS];
enum status environments_judge(struct method_run *run, struct findings *findings, struct error *err);
enum status environments_result(struct method_run *run, const struct sink *out, struct error *err);

enum status environments_open(const void *config, const struct kernels *kernels, const char *data,
                              const struct snapshot_reader *from, struct method_model **model, struct error *err);
void environments_close(struct method_model *model);
uint64_t environments_model_bytes(const struct method_model *model);
enum status environments_predict(const struct method_question *question, const struct sink *out, struct error *err);
enum status environments_encode(const struct method_question *question, const struct sink *out, struct error *err);
enum status environments_predict_array(const struct method_question *question, struct buf *values, int *rank,
                                       int64_t dim[4], struct error *err);
enum status environments_encode_array(const struct method_question *question, struct buf *values, int *rank,
                                      int64_t dim[4], struct error *err);
/* The tensors of a model; see struct method_tensor. */
enum { ENVIRONMENTS_OUTPUTS = 2 };
extern const struct method_tensor environments_input, environments_outputs[ENVIRONMENTS_OUTPUTS];
void environments_warn(const struct method_model *model, const struct method_input *input, const struct sink *out);
enum status environments_infer(const struct method_question *question, struct buf *const outputs[], struct error *err);

#endif
