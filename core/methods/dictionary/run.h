/* The functions of a dictionary run and of its models, for the method's table. */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_RUN_H
#define MOTIF_CORE_METHODS_DICTIONARY_RUN_H

#include "core/methods/findings.h"
#include "core/methods/method.h"

enum { DICTIONARY_METRICS = 8, DICTIONARY_FINDINGS = 4 };
extern const struct method_metric dictionary_metrics[DICTIONARY_METRICS];
extern const struct finding_code dictionary_findings[DICTIONARY_FINDINGS];

enum status dictionary_create_run(const void *config, const struct method_env *env, struct method_run **run,
                                  struct error *err);
/* Starts from another dictionary, or uses the encoder of a superposition job as the hidden layer. */
enum status dictionary_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err);
enum status dictionary_judge(struct method_run *run, struct findings *findings, struct error *err);
enum status dictionary_result(struct method_run *run, const struct sink *out, struct error *err);

#endif
