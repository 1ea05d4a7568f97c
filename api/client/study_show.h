/* What `motifctl study` and `motifctl submit --watch` print of a study. */
#ifndef MOTIF_API_CLIENT_STUDY_SHOW_H
#define MOTIF_API_CLIENT_STUDY_SHOW_H

#include "api/client/ctl.h"

/* Prints the table of the study at a path; the options are those of `motifctl study show`. Returns an exit code. */
int study_show(struct ctl *ctl, const struct options *args, const char *path);
/* Prints the progress of a study until all its jobs end, then its table. `id` is an id or a percent-encoded name. Gives
 * up if the server does not answer for `patience` seconds. Returns CTL_FAILED if a job did not succeed. */
int watch_study(struct ctl *ctl, const char *id, double patience);

#endif
