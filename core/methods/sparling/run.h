/* Training and evaluation of SPARLING: members of struct method (core/methods/method.h says what each must do). */
#ifndef MOTIF_CORE_METHODS_SPARLING_RUN_H
#define MOTIF_CORE_METHODS_SPARLING_RUN_H

#include "core/methods/findings.h"
#include "core/methods/method.h"

/* The time series of a run; report.c defines the list. */
enum { SPARLING_METRICS = 22 };
extern const struct method_metric sparling_metrics[SPARLING_METRICS];

enum status sparling_create(const void *config, const struct method_env *env, struct method_run **run,
                            struct error *err);
enum status sparling_step(struct method_run *run, enum method_request *request, struct error *err);
void sparling_progress(const struct method_run *run, struct method_progress *out);
enum status sparling_save(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes, struct error *err);
enum status sparling_load(struct method_run *run, const struct snapshot_reader *from, struct error *err);
enum status sparling_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err);
enum status sparling_begin_evaluation(struct method_run *run, const struct method_evaluation *what, struct error *err);
/* The folder evaluation/verdict defines the table of the method's findings (findings.c) and sparling_judge() (judge.c),
 * which is the judge() of method.h. */
enum { SPARLING_FINDINGS = 30 };
extern const struct finding_code sparling_findings[SPARLING_FINDINGS];
enum status sparling_judge(struct method_run *run, struct findings *findings, struct error *err);
enum status sparling_result(struct method_run *run, const struct sink *out, struct error *err);
void sparling_destroy(struct method_run *run);

#endif
