/* One line with the progress of a job. */
#ifndef MOTIF_API_CLIENT_PROGRESS_H
#define MOTIF_API_CLIENT_PROGRESS_H

#include "protocol/json.h"
#include <stdbool.h>

#include "core/base/buf.h"

/* Appends, for example, "training  ▕██████▍      ▏ 47 %  density 0.0133  accuracy 71.2 of 74.0 %  3:12 left  512
 * samples/s  FPE 3.1 FNE 0.03 CE 8.0 %". `job` is a job document; `errors` is the metrics document of fpe, fne and ce,
 * or NULL. The line is at most `columns` wide: if it is too long, parts at the right are left out. If `columns` is 0
 * (for logs), there is no bar and no limit. Pure function. */
void progress_line(struct buf *out, const cJSON *job, const cJSON *errors, int columns, bool colour);

/* Appends the stage and the figures of a progress document in one line: "training 47 %  density 0.0133  ...". */
void progress_figures(struct buf *out, const cJSON *progress);

#endif
