/* The per-token quota (struct api_share of the options). Anonymous callers are unlimited. */
#ifndef MOTIF_API_JOBS_QUOTA_H
#define MOTIF_API_JOBS_QUOTA_H

#include "api/http/exchange.h"
#include "api/json/faults.h"
#include "storage/storage.h"

/* Adds a fault when a job requests more threads than the running jobs of its token may use together: such a job could
 * never start. threads: of all ranks. */
void share_check_threads(const struct exchange *x, int threads, struct api_faults *faults);
/* Checks, before a job is stored, that the token's checkpoints and files leave room. After a failure it returns false
 * and has responded. */
bool share_has_room(struct exchange *x);
/* STATUS_INVALID at `pointer`: the job would exceed the memory that a job may use. It would end the daemon and all
 * other jobs. */
enum status job_memory_check(const struct api *api, const struct method_estimate *estimate, const char *pointer,
                             struct error *err);

#endif
