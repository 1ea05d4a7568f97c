/* The method's functions of core/methods/method.h that core/methods/shared/model_run.h does not provide. */
#ifndef MOTIF_CORE_METHODS_SUPERPOSITION_RUN_H
#define MOTIF_CORE_METHODS_SUPERPOSITION_RUN_H

#include "core/methods/findings.h"
#include "core/methods/method.h"

/* The time series of a run. */
enum { SUPERPOSITION_METRICS = 7 };
extern const struct method_metric superposition_metrics[SUPERPOSITION_METRICS];

enum status superposition_create(const void *config, const struct method_env *env, struct method_run **run,
                                 struct error *err);
/* result.c defines the table of the method's findings, and the function `judge` of struct method. */
enum { SUPERPOSITION_FINDINGS = 3 };
extern const struct finding_code superposition_findings[SUPERPOSITION_FINDINGS];
enum status superposition_judge(struct method_run *run, struct findings *findings, struct error *err);
enum status superposition_result(struct method_run *run, const struct sink *out, struct error *err);

enum status superposition_open(const void *config, const struct kernels *kernels, const char *data,
                               const struct snapshot_reader *from, struct method_model **model, struct error *err);
void superposition_close(struct method_model *model);
uint64_t superposition_model_bytes(const struct method_model *model);
enum status superposition_predict(const struct method_question *question, const struct sink *out, struct error *err);
enum status superposition_predict_array(const struct method_question *question, struct buf *values, int *rank,
                                        int64_t dim[4], struct error *err);
/* The tensors of a model; see struct method_tensor. */
enum { SUPERPOSITION_OUTPUTS = 1 };
extern const struct method_tensor superposition_input, superposition_outputs[SUPERPOSITION_OUTPUTS];
void superposition_warn(const struct method_model *model, const struct method_input *input, const struct sink *out);
enum status superposition_infer(const struct method_question *question, struct buf *const outputs[], struct error *err);

#endif
