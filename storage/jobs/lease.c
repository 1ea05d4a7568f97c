/* Leases: one row for each job that another process has ever trained. Every change goes through change_run(), which
 * looks the event up in the table of lease_state.c. */
#include "storage/storage_int.h"

#include <stdio.h>
#include <string.h>

struct change {
    struct command base;
    const char *id;
    enum lease_event event;
    int64_t epoch;       /* in: the epoch that a trainer knows; out: the epoch of the lease after the change */
    const uint8_t *hash; /* for LEASE_GRANT: hash of the trainer's token */
    const char *executor, *foreign_id;
    int64_t sequence; /* sequence number of the report; 0 for other messages */
    enum job_event ending;
    const char *result, *error;
    int tries; /* out, for LEASE_GRANT: number of leases granted since the newest checkpoint */
};

/* Reads the state and epoch of a job's lease; LEASE_NONE and 0 if the job never had one. */
static enum status read_state(struct db *db, int64_t job, enum lease_state *state, int64_t *epoch, struct error *err)
{
    sqlite3_stmt *stmt;
    bool known = true;
    *state = LEASE_NONE;
    *epoch = 0;
    enum status status = db_query(db, &stmt, err, "SELECT state, epoch FROM lease WHERE job = ?", "i", job);
    if (!status && db_row(db, stmt, &status, err)) {
        char name[LEASE_STATE_NAME];
        if (!db_copy(stmt, 0, name, sizeof name))
            status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a lease");
        known = lease_state_parse(name, state);
        *epoch = sqlite3_column_int64(stmt, 1);
        db_done(stmt);
    }
    return !status && !known ? error_set(err, STATUS_CORRUPT, NULL, "a lease in the database has an unknown state")
                             : status;
}

/* Stores a new lease and counts the leases since the newest checkpoint: a new checkpoint resets the count. */
static enum status grant(struct db *db, int64_t job, struct change *c, struct error *err)
{
    int64_t running, newest, before, tries;
    enum status status = db_integer(db, &running, 0, err, "SELECT state = 'running' FROM job WHERE num = ?", "i", job);
    if (status)
        return status;
    if (!running)
        return error_set(err, STATUS_CONFLICT, NULL, "the job is not running");
    status = db_integer(db, &newest, 0, err, "SELECT max(seq) FROM checkpoint WHERE job = ? AND complete", "i", job);
    if (status)
        return status;
    status = db_integer(db, &before, -1, err, "SELECT newest FROM lease WHERE job = ?", "i", job);
    if (status)
        return status;
    status = db_integer(db, &tries, 0, err, "SELECT tries FROM lease WHERE job = ?", "i", job);
    if (status)
        return status;
    c->tries = newest > before ? 1 : (int)tries + 1;
    return db_run(db, err,
                  "INSERT INTO lease(job, state, epoch, hash, executor, foreign_id, sequence, tries, newest, seen)"
                  " VALUES (?1, 'offered', ?8, ?2, ?3, ?7, 0, ?4, ?5, ?6)"
                  " ON CONFLICT(job) DO UPDATE SET state = 'offered', epoch = ?8, hash = ?2, executor = ?3,"
                  " foreign_id = ?7, sequence = 0, tries = ?4, newest = ?5, seen = ?6, ending = NULL, result = NULL, "
                  "error = NULL",
                  "ibtniiti", job, (const void *)c->hash, (size_t)STORAGE_LEASE_HASH, c->executor, c->tries, newest,
                  db_stamp(db), c->foreign_id, c->epoch);
}

static enum status write_change(struct db *db, int64_t job, struct change *c, struct error *err)
{
    int64_t now = db_stamp(db);
    switch (c->event) {
    case LEASE_GRANT:
        return grant(db, job, c, err);
    case LEASE_REGISTER:
        return db_run(db, err, "UPDATE lease SET state = 'held', epoch = ?, sequence = 0, seen = ? WHERE job = ?",
                      "iii", c->epoch, now, job);
    case LEASE_MESSAGE:
        return db_run(db, err, "UPDATE lease SET sequence = max(sequence, ?), seen = ? WHERE job = ?", "iii",
                      c->sequence, now, job);
    case LEASE_END: /* after the lease has ended, another LEASE_END is allowed and changes nothing */
        return db_run(db, err,
                      "UPDATE lease SET state = 'ended', seen = ?, ending = ?, result = ?, error = ? WHERE job = ? "
                      "AND state = 'held'",
                      "intti", now, (int)c->ending, c->result, c->error, job);
    default:
        return db_run(db, err,
                      "UPDATE lease SET state = 'none', hash = NULL, result = NULL, error = NULL WHERE job = ?", "i",
                      job);
    }
}

static enum status change_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct change *c = (struct change *)command;
    struct lease_place lease;
    int64_t job;
    enum status status = job_number(db, c->id, &job, err);
    if (status)
        return status;
    status = read_state(db, job, &lease.state, &lease.epoch, err);
    if (status)
        return status;
    enum lease_verdict verdict = lease_apply(&lease, c->event, c->epoch);
    if (verdict == LEASE_OTHER_EPOCH)
        return error_set(err, STATUS_CONFLICT, NULL, "another trainer has taken over");
    if (verdict == LEASE_FORBIDDEN)
        return error_set(err, STATUS_CONFLICT, NULL, "a lease in state \"%s\" does not allow \"%s\"",
                         lease_state_name(lease.state), lease_event_name(c->event));
    c->epoch = lease.epoch;
    return write_change(db, job, c, err);
}

enum status storage_lease_grant_to(struct storage *storage, const char *id, const uint8_t hash[STORAGE_LEASE_HASH],
                                   const char *executor, const char *foreign_id, int *tries, struct error *err)
{
    struct change c = {.base = {.run = change_run},
                       .id = id,
                       .event = LEASE_GRANT,
                       .hash = hash,
                       .executor = executor,
                       .foreign_id = foreign_id};
    *tries = 0;
    if (strlen(foreign_id) >= STORAGE_FOREIGN)
        return error_set(err, STATUS_INVALID, NULL, "the id of the process or cluster job is too long");
    enum status status = writer_call(storage, &c.base, err);
    *tries = c.tries;
    return status;
}

enum status storage_lease_grant(struct storage *storage, const char *id, const uint8_t hash[STORAGE_LEASE_HASH],
                                const char *executor, int *tries, struct error *err)
{
    return storage_lease_grant_to(storage, id, hash, executor, "", tries, err);
}

static enum status foreign_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct change *c = (struct change *)command;
    int64_t job;
    enum status status = job_number(db, c->id, &job, err);
    if (status)
        return status;
    status =
        db_run(db, err, "UPDATE lease SET foreign_id = ? WHERE job = ? AND state <> 'none'", "ti", c->foreign_id, job);
    if (status)
        return status;
    if (db_changes(db) == 0)
        return error_set(err, STATUS_CONFLICT, NULL, "the job has no lease");
    return STATUS_OK;
}

enum status storage_lease_foreign(struct storage *storage, const char *id, const char *foreign_id, struct error *err)
{
    struct change c = {.base = {.run = foreign_run}, .id = id, .foreign_id = foreign_id};
    if (strlen(foreign_id) >= STORAGE_FOREIGN)
        return error_set(err, STATUS_INVALID, NULL, "the id of the process or cluster job is too long");
    return writer_call(storage, &c.base, err);
}

enum status storage_lease_register(struct storage *storage, const char *id, int64_t *epoch, struct error *err)
{
    struct change c = {.base = {.run = change_run}, .id = id, .event = LEASE_REGISTER};
    enum status status = writer_call(storage, &c.base, err);
    *epoch = c.epoch;
    return status;
}

enum status storage_lease_message(struct storage *storage, const char *id, int64_t epoch, int64_t sequence,
                                  struct error *err)
{
    struct change c = {
        .base = {.run = change_run}, .id = id, .event = LEASE_MESSAGE, .epoch = epoch, .sequence = sequence};
    return writer_call(storage, &c.base, err);
}

enum status storage_lease_end(struct storage *storage, const char *id, int64_t epoch, enum job_event event,
                              const char *result, const char *error, struct error *err)
{
    struct change c = {.base = {.run = change_run},
                       .id = id,
                       .event = LEASE_END,
                       .epoch = epoch,
                       .ending = event,
                       .result = result,
                       .error = error};
    if (event != JOB_EVENT_YIELD && event != JOB_EVENT_SUCCEED && event != JOB_EVENT_FAIL)
        return error_set(err, STATUS_INVALID, NULL, "a run ends with yield, succeed or fail");
    return writer_call(storage, &c.base, err);
}

enum status storage_lease_close(struct storage *storage, const char *id, struct error *err)
{
    struct change c = {.base = {.run = change_run}, .id = id, .event = LEASE_CLOSE};
    return writer_call(storage, &c.base, err);
}

/* ---- reading ------------------------------------------------------------------------------------------ */

static enum status read_row(sqlite3_stmt *stmt, struct arena *arena, struct storage_lease *out, struct error *err)
{
    char state[LEASE_STATE_NAME];
    memset(out, 0, sizeof *out);
    bool ok = db_copy(stmt, 1, state, sizeof state);
    if (ok && !lease_state_parse(state, &out->state))
        return error_set(err, STATUS_CORRUPT, NULL, "a lease in the database has an unknown state");
    ok = db_copy(stmt, 0, out->job, sizeof out->job) && ok;
    out->epoch = sqlite3_column_int64(stmt, 2);
    out->executor = db_text(stmt, 3, arena, &ok);
    out->foreign_id = db_text(stmt, 4, arena, &ok);
    out->sequence = sqlite3_column_int64(stmt, 5);
    out->tries = sqlite3_column_int(stmt, 6);
    out->seen = sqlite3_column_int64(stmt, 7);
    out->ending = (enum job_event)sqlite3_column_int(stmt, 8);
    out->result = db_text(stmt, 9, arena, &ok);
    out->error = db_text(stmt, 10, arena, &ok);
    return ok ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a lease");
}

#define COLUMNS                                                                                                        \
    "SELECT j.id, l.state, l.epoch, l.executor, l.foreign_id, l.sequence, l.tries, l.seen, l.ending, l.result, "       \
    "l.error"                                                                                                          \
    " FROM lease l JOIN job j ON j.num = l.job"

static enum status take_row(struct storage *storage, struct db *db, sqlite3_stmt *stmt, enum status status,
                            struct arena *arena, struct storage_lease *out, struct error *err)
{
    if (!status) {
        if (db_row(db, stmt, &status, err)) {
            status = read_row(stmt, arena, out, err);
            db_done(stmt);
        } else if (!status) {
            status = error_set(err, STATUS_NOT_FOUND, NULL, "no such lease");
        }
    }
    reader_give(storage, db);
    return status;
}

enum status storage_lease_get(struct storage *storage, const char *id, struct arena *arena, struct storage_lease *out,
                              struct error *err)
{
    sqlite3_stmt *stmt;
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err, COLUMNS " WHERE j.id = ?", "t", id);
    return take_row(storage, db, stmt, status, arena, out, err);
}

enum status storage_lease_find(struct storage *storage, const uint8_t hash[STORAGE_LEASE_HASH], struct arena *arena,
                               struct storage_lease *out, struct error *err)
{
    sqlite3_stmt *stmt;
    struct db *db = reader_take(storage);
    enum status status =
        db_query(db, &stmt, err, COLUMNS " WHERE l.hash = ?", "b", (const void *)hash, (size_t)STORAGE_LEASE_HASH);
    return take_row(storage, db, stmt, status, arena, out, err);
}
