/* The method's functions of core/methods/method.h that core/methods/shared/model_run.h does not provide. */
#ifndef MOTIF_CORE_METHODS_FACTORS_RUN_H
#define MOTIF_CORE_METHODS_FACTORS_RUN_H

#include "core/methods/findings.h"
#include "core/methods/method.h"

/* The time series of a run. */
enum { FACTORS_METRICS = 8 };
extern const struct method_metric factors_metrics[FACTORS_METRICS];

enum status factors_create(const void *config, const struct method_env *env, struct method_run **run,
                           struct error *err);
/* result.c defines the table of the method's findings, and the function `judge` of struct method. */
enum { FACTORS_FINDINGS = 4 };
extern const struct finding_code factors_findings[FACTORS_FINDINGS];
enum status factors_judge(struct method_run *run, struct findings *findings, struct error *err);
enum status factors_result(struct method_run *run, const struct sink *out, struct error *err);

enum status factors_open(const void *config, const struct kernels *kernels, const char *data,
                         const struct snapshot_reader *from, struct method_model **model, struct error *err);
void factors_close(struct method_model *model);
uint64_t factors_model_bytes(const struct method_model *model);
enum status factors_predict(const struct method_question *question, const struct sink *out, struct error *err);
enum status factors_encode(const struct method_question *question, const struct sink *out, struct error *err);
enum status factors_predict_array(const struct method_question *question, struct buf *values, int *rank, int64_t dim[4],
                                  struct error *err);
enum status factors_encode_array(const struct method_question *question, struct buf *values, int *rank, int64_t dim[4],
                                 struct error *err);
void factors_warn(const struct method_model *model, const struct method_input *input, const struct sink *out);
/* The tensors of a model; see struct method_tensor. */
enum { FACTORS_OUTPUTS = 2 };
extern const struct method_tensor factors_input, factors_outputs[FACTORS_OUTPUTS];
enum status factors_infer(const struct method_question *question, struct buf *const outputs[], struct error *err);

#endif
