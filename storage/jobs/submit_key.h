/* The stored idempotency keys of submissions and imports. The functions run in the transaction that stores the job. */
#ifndef MOTIF_STORAGE_JOBS_SUBMIT_KEY_H
#define MOTIF_STORAGE_JOBS_SUBMIT_KEY_H

#include <stdint.h>

#include "storage/storage.h"
#include "storage/storage_int.h"

/* What a submission with an idempotency key does, as a pure function.
 *
 * A key belongs to the token that used it. Until it expires, a key names one job. If the same request arrives again,
 * it gets this job. Another request with the same key is refused. Any thread may call the function. */

#define SUBMIT_KEY_LIFE_MS ((int64_t)7 * 24 * 3600 * 1000)
#define SUBMIT_FINGERPRINT 32 /* bytes */

struct submit_key {
    const char *owner, *name;   /* owner: name of the token, "" for none; name: the key */
    const uint8_t *fingerprint; /* [SUBMIT_FINGERPRINT] SHA-256 of the request */
    int64_t created_at;         /* milliseconds since 1970 */
};

/* Returns the outcome of the submission `asked` if the database has the key `kept` (NULL: none). asked->created_at is
 * the current time. STORAGE_CREATED: `kept` is NULL, another key, or expired; STORAGE_REPLAYED: it belongs to the same
 * request; STORAGE_KEY_REUSED: it belongs to another request. */
enum storage_submit_outcome submit_key_outcome(const struct submit_key *kept, const struct submit_key *asked);

/* Looks for the job that a key names. *outcome: STORAGE_CREATED if there is none, or if asked->name is NULL; otherwise
 * `id` is the job. */
enum status submit_key_find(struct db *db, const struct submit_key *asked, char id[STORAGE_ID],
                            enum storage_submit_outcome *outcome, struct error *err);
/* Keeps a key for the new job with the number `job`, until it expires. name NULL: does nothing. */
enum status submit_key_keep(struct db *db, const struct submit_key *key, int64_t job, struct error *err);
/* STATUS_INVALID: the key is empty or too long. NULL, no key, is valid. */
enum status submit_key_check(const char *name, struct error *err);

#endif
