/* A run: functions for the table of core/methods/method.h. */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_RUN_H
#define MOTIF_CORE_METHODS_PATHWAYS_RUN_H

#include "core/methods/findings.h"
#include "core/methods/method.h"

enum status pathways_create(const void *config, const struct method_env *env, struct method_run **run,
                            struct error *err);
enum status pathways_step(struct method_run *run, enum method_request *request, struct error *err);
void pathways_progress(const struct method_run *run, struct method_progress *out);
enum status pathways_save(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes, struct error *err);
enum status pathways_load(struct method_run *run, const struct snapshot_reader *from, struct error *err);
enum status pathways_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err);
enum status pathways_begin_evaluation(struct method_run *run, const struct method_evaluation *what, struct error *err);
/* result.c defines the table of the method's findings, and the function `judge` of struct method. */
enum { PATHWAYS_FINDINGS = 2 };
extern const struct finding_code pathways_findings[PATHWAYS_FINDINGS];
enum status pathways_judge(struct method_run *run, struct findings *findings, struct error *err);
enum status pathways_result(struct method_run *run, const struct sink *out, struct error *err);
void pathways_destroy(struct method_run *run);

#endif
