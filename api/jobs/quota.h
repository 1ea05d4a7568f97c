/* The quota of each token (struct api_share of the options). Callers without a token have no quota. */
#ifndef MOTIF_API_JOBS_QUOTA_H
#define MOTIF_API_JOBS_QUOTA_H

#include "api/http/exchange.h"
#include "protocol/faults.h"
#include "storage/storage.h"

/* Adds a fault if a job requests more threads than all running jobs of its token together may use, because such a job
 * could never start. threads: the sum over all ranks. */
void share_check_threads(const struct exchange *x, int threads, struct api_faults *faults);
/* Checks, before a job is stored, that the bytes of the token's checkpoints and files are below the limit. After a
 * failure, the function has responded and returns false. */
bool share_has_room(struct exchange *x);
/* Checks the estimated memory of a job against the limit. STATUS_INVALID at `pointer`: the job would exceed the limit.
 * Without this check, one job could use up the memory and so end the daemon and all its jobs. */
enum status job_memory_check(const struct api *api, const struct method_estimate *estimate, const char *pointer,
                             struct error *err);

#endif
