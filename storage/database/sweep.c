/* Removes large rows of deleted jobs and checkpoints step by step, when the writer has nothing else to do, and counts
 * the readers that hold a checkpoint. Deleting a checkpoint of a gigabyte in one transaction would block all other
 * writes. */
#include "storage/storage_int.h"

#include <stdlib.h>
#include <string.h>

#define SWEEP_CHUNKS 2 /* rows in one step; each frees about a MiB of pages */
#define SWEEP_BLOCKS 512
#define SWEEP_EVENTS 1000
#define KIND 16 /* bytes of a kind's name, with its NUL */

enum status hold_add(struct storage *storage, int64_t checkpoint, struct error *err)
{
    struct holds *holds = &storage->holds;
    struct hold *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to open a checkpoint");
    pthread_mutex_lock(&holds->lock);
    struct hold *hold = holds->first;
    while (hold != NULL && hold->checkpoint != checkpoint)
        hold = hold->next;
    if (hold == NULL) {
        hold = fresh;
        fresh = NULL;
        hold->checkpoint = checkpoint;
        hold->next = holds->first;
        holds->first = hold;
    }
    hold->count++;
    pthread_mutex_unlock(&holds->lock);
    free(fresh);
    return STATUS_OK;
}

bool hold_release(struct storage *storage, int64_t checkpoint)
{
    struct holds *holds = &storage->holds;
    struct hold *gone = NULL;
    pthread_mutex_lock(&holds->lock);
    for (struct hold **at = &holds->first; *at != NULL; at = &(*at)->next)
        if ((*at)->checkpoint == checkpoint) {
            if (--(*at)->count == 0) {
                gone = *at;
                *at = gone->next;
            }
            break;
        }
    pthread_mutex_unlock(&holds->lock);
    free(gone);
    return gone != NULL;
}

static bool is_held(struct storage *storage, int64_t checkpoint)
{
    struct holds *holds = &storage->holds;
    pthread_mutex_lock(&holds->lock);
    struct hold *hold = holds->first;
    while (hold != NULL && hold->checkpoint != checkpoint)
        hold = hold->next;
    pthread_mutex_unlock(&holds->lock);
    return hold != NULL;
}

enum status delete_checkpoint_later(struct db *db, int64_t checkpoint, struct error *err)
{
    enum status status = db_run(db, err, "INSERT INTO pending_delete VALUES ('checkpoint', ?)", "i", checkpoint);
    if (status)
        return status;
    return db_run(db, err, "DELETE FROM checkpoint WHERE id = ?", "i", checkpoint);
}

enum status delete_job_later(struct db *db, int64_t job, struct error *err)
{
    enum status status =
        db_run(db, err, "INSERT INTO pending_delete SELECT 'checkpoint', id FROM checkpoint WHERE job = ?", "i", job);
    if (status)
        return status;
    status = db_run(db, err, "INSERT INTO pending_delete SELECT 'series', id FROM series WHERE job = ?", "i", job);
    if (status)
        return status;
    status = db_run(db, err, "INSERT INTO pending_delete VALUES ('events', ?)", "i", job);
    if (status)
        return status;
    status = db_run(db, err, "DELETE FROM checkpoint WHERE job = ?", "i", job);
    if (status)
        return status;
    return db_run(db, err, "DELETE FROM series WHERE job = ?", "i", job);
}

/* Finds the next entry of the table `pending_delete` that no reader holds. */
static enum status pick(struct storage *storage, struct db *db, char kind[KIND], int64_t *id, bool *found,
                        struct error *err)
{
    sqlite3_stmt *stmt;
    *found = false;
    enum status status = db_query(db, &stmt, err, "SELECT kind, id FROM pending_delete", "");
    if (status)
        return status;
    while (db_row(db, stmt, &status, err)) {
        *id = sqlite3_column_int64(stmt, 1);
        if (!db_copy(stmt, 0, kind, KIND))
            status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to remove old rows");
        *found = strcmp(kind, "checkpoint") != 0 || !is_held(storage, *id);
        if (*found || status)
            break;
    }
    db_done(stmt);
    return status;
}

enum status sweep_step(struct storage *storage, struct db *db, bool *more, struct error *err)
{
    char kind[KIND];
    int64_t id = 0;
    *more = false;
    bool found;
    enum status status = pick(storage, db, kind, &id, &found, err);
    if (status)
        return status;
    if (!found)
        return compact_step(db, more, err);
    if (strcmp(kind, "checkpoint") == 0)
        status = db_run(db, err,
                        "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE id >= ? AND id < ? "
                        "ORDER BY id DESC LIMIT ?)",
                        "iin", id << CHUNK_BITS, (id + 1) << CHUNK_BITS, SWEEP_CHUNKS);
    else if (strcmp(kind, "series") == 0)
        status = db_run(db, err,
                        "DELETE FROM block WHERE id IN (SELECT id FROM block WHERE id >= ? AND id < ? "
                        "ORDER BY id DESC LIMIT ?)",
                        "iin", id << BLOCK_BITS, (id + 1) << BLOCK_BITS, SWEEP_BLOCKS);
    else
        status = db_run(db, err, "DELETE FROM event WHERE id IN (SELECT id FROM event WHERE job = ? LIMIT ?)", "in", id,
                        SWEEP_EVENTS);
    bool bare = !status && db_changes(db) == 0;
    if (bare && strcmp(kind, "series") == 0)
        status = db_run(db, err, "DELETE FROM pyramid WHERE series = ?", "i", id);
    if (bare && !status)
        status = db_run(db, err, "DELETE FROM pending_delete WHERE kind = ? AND id = ?", "ti", kind, id);
    *more = !status;
    return status;
}
