/* The stored idempotency keys of submissions and imports. The functions run in the transaction that stores the job. */
#ifndef MOTIF_STORAGE_JOBS_SUBMIT_KEY_H
#define MOTIF_STORAGE_JOBS_SUBMIT_KEY_H

#include "storage/jobs/submit_state.h"
#include "storage/storage_int.h"

/* Looks for the job that a key names. *outcome: STORAGE_CREATED if there is none, or if asked->name is NULL; otherwise
 * `id` is the job. */
enum status submit_key_find(struct db *db, const struct submit_key *asked, char id[STORAGE_ID],
                            enum storage_submit_outcome *outcome, struct error *err);
/* Keeps a key for the new job with the number `job`, until it expires. name NULL: does nothing. */
enum status submit_key_keep(struct db *db, const struct submit_key *key, int64_t job, struct error *err);
/* STATUS_INVALID: the key is empty or too long. NULL, no key, is valid. */
enum status submit_key_check(const char *name, struct error *err);

#endif
