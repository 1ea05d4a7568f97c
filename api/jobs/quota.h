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
/* STATUS_LIMIT: with `bytes` more, the token's data sets in the folder `root` would exceed their limit. */
enum status share_takes_dataset(const struct exchange *x, const char *root, int64_t bytes, struct error *err);

#endif
