/* A token's share of what all share: struct api_share. Who has no token has no share, and no limit. */
#ifndef MOTIF_API_JOBS_QUOTA_H
#define MOTIF_API_JOBS_QUOTA_H

#include "api/api_int.h"

/* A fault for a job that asks for more threads than its token's jobs may have together: it could never begin. */
void share_check_threads(const struct exchange *x, int threads, struct api_faults *faults);
/* Before a job is stored. False: answered. */
bool share_has_room(struct exchange *x);
/* STATUS_LIMIT: its data sets would take more than they may. */
enum status share_takes_dataset(const struct exchange *x, const char *root, int64_t bytes, struct error *err);

#endif
