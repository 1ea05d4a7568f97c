/* Metrics, the clock and the list of checkpoints of a run. */
#ifndef MOTIF_CORE_METHODS_SPARLING_REPORT_H
#define MOTIF_CORE_METHODS_SPARLING_REPORT_H

#include <stdint.h>

#include "core/base/error.h"

struct method_run;

/* Monotonic seconds; results must not depend on them. */
double run_clock(void);
/* Publishes a point of the time series `name` at the current sample count. */
void run_metric(struct method_run *run, const char *name, double value);
/* Sequence number of the newest checkpoint; 0 if there is none. */
int64_t run_last_checkpoint(const struct method_run *run);

#endif
