/* The stored idempotency keys: finds the job that a key names, and keeps a key with a new job. Both functions run in
 * the transaction that stores the job. */
#include "storage/jobs/submit_key.h"

#include <string.h>

enum storage_submit_outcome submit_key_outcome(const struct submit_key *kept, const struct submit_key *asked)
{
    if (kept == NULL || strcmp(kept->owner, asked->owner) != 0 || strcmp(kept->name, asked->name) != 0 ||
        kept->created_at <= asked->created_at - SUBMIT_KEY_LIFE_MS)
        return STORAGE_CREATED;
    return memcmp(kept->fingerprint, asked->fingerprint, SUBMIT_FINGERPRINT) == 0 ? STORAGE_REPLAYED
                                                                                  : STORAGE_KEY_REUSED;
}

enum status submit_key_find(struct db *db, const struct submit_key *asked, char id[STORAGE_ID],
                            enum storage_submit_outcome *outcome, struct error *err)
{
    sqlite3_stmt *stmt;
    *outcome = STORAGE_CREATED;
    if (asked->name == NULL)
        return STATUS_OK;
    enum status status = db_query(db, &stmt, err,
                                  "SELECT k.fingerprint, j.id, k.created_at FROM idempotency k "
                                  "JOIN job j ON j.num = k.job WHERE k.owner = ? AND k.key = ?",
                                  "tt", asked->owner, asked->name);
    if (status || !db_row(db, stmt, &status, err))
        return status;
    static const uint8_t none[SUBMIT_FINGERPRINT];
    const void *fingerprint = db_blob(stmt, 0, SUBMIT_FINGERPRINT);
    const struct submit_key kept = {asked->owner, asked->name, fingerprint != NULL ? fingerprint : none,
                                    sqlite3_column_int64(stmt, 2)};
    *outcome = submit_key_outcome(&kept, asked);
    if (*outcome != STORAGE_CREATED && !db_copy(stmt, 1, id, STORAGE_ID))
        status = error_memory(err, "the database");
    db_done(stmt);
    return status;
}

enum status submit_key_keep(struct db *db, const struct submit_key *key, int64_t job, struct error *err)
{
    if (key->name == NULL)
        return STATUS_OK;
    /* Deletes a few expired keys whenever a key is added, so that expired keys do not accumulate. The table contains no
     * valid key of the same name, because submit_key_find() has looked for one. */
    enum status status =
        db_run(db, err,
               "DELETE FROM idempotency WHERE (owner, key) IN "
               "(SELECT owner, key FROM idempotency WHERE created_at <= ? ORDER BY created_at LIMIT 8)",
               "i", key->created_at - SUBMIT_KEY_LIFE_MS);
    if (status)
        return status;
    return db_run(db, err, "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?)", "ttbii", key->owner, key->name,
                  (const void *)key->fingerprint, (size_t)SUBMIT_FINGERPRINT, job, key->created_at);
}

enum status submit_key_check(const char *name, struct error *err)
{
    if (name != NULL && (name[0] == '\0' || strlen(name) >= STORAGE_KEY))
        return error_set(err, STATUS_INVALID, NULL, "an idempotency key must have 1 to %d bytes", STORAGE_KEY - 1);
    return STATUS_OK;
}
