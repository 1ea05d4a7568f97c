/* Changes jobs. Every change of state goes through job_apply_event(): it looks the event up in the table of
 * job_state.c, and writes the state, its times and its event. */
#include "storage/storage_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the life of a job --------------------------------------------------------------------------------- */

enum status job_apply_event(struct db *db, int64_t job, enum job_event event, struct command *command,
                            enum job_state *state, enum requested_state *requested, struct error *err)
{
    sqlite3_stmt *stmt;
    bool known = false; /* whether the job exists and its state is valid */
    enum status status = db_query(db, &stmt, err, "SELECT state, requested_state FROM job WHERE num = ?", "i", job);
    if (status)
        return status;
    if (db_row(db, stmt, &status, err)) {
        char name[JOB_STATE_NAME];
        if (!db_copy(stmt, 0, name, sizeof name))
            status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a job");
        known = job_state_parse(name, state);
        *requested = (enum requested_state)sqlite3_column_int(stmt, 1);
        db_done(stmt);
    }
    if (status)
        return status;
    if (!known)
        return error_set(err, STATUS_CORRUPT, NULL, "a job in the database has an unknown state");
    enum job_state next_state;
    enum requested_state next_requested;
    if (!job_state_next(*state, *requested, event, &next_state, &next_requested))
        return error_set(err, STATUS_CONFLICT, NULL, "cannot %s a job that is %s%s", job_event_name(event),
                         job_state_name(*state), *requested == REQUESTED_CANCELLED ? " and about to be cancelled" : "");
    if (next_state == *state && next_requested == *requested)
        return STATUS_OK;
    int64_t now = db_stamp(db);
    status =
        db_run(db, err,
               "UPDATE job SET state = ?1, requested_state = ?2, version = version + 1,"
               " started_at = CASE WHEN ?1 = 'running' AND started_at = 0 THEN ?3 ELSE started_at END,"
               " finished_at = CASE WHEN ?4 THEN ?3 ELSE finished_at END WHERE num = ?5",
               "tnini", job_state_name(next_state), (int)next_requested, now, (int)job_state_final(next_state), job);
    if (!status && next_state != *state) {
        status = event_add(db, job, "state", job_state_name(next_state), err);
        if (!status && db->notices && job_state_final(next_state))
            status = notice_add(db, job, err);
        if (command != NULL)
            command->adds_events = true;
    }
    *state = next_state;
    *requested = next_requested;
    return status;
}

enum status job_recover(struct db *db, int64_t *count, struct error *err)
{
    *count = 0;
    for (;;) {
        int64_t job;
        enum job_state state;
        enum requested_state requested;
        enum status status = db_integer(db, &job, 0, err, "SELECT num FROM job WHERE state = 'running' LIMIT 1", "");
        if (status || job == 0)
            return status;
        status = job_apply_event(db, job, JOB_EVENT_YIELD, NULL, &state, &requested, err);
        if (status)
            return status;
        ++*count;
    }
}

/* ---- patch, request, claim, leave ----------------------------------------------------------------------- */

struct patch {
    struct command base;
    const char *id;
    const struct storage_job_patch *in;
};

static enum status patch_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct patch *p = (struct patch *)command;
    int64_t job, version;
    enum status status = job_number(db, p->id, &job, err);
    if (status)
        return status;
    status = db_integer(db, &version, 0, err, "SELECT version FROM job WHERE num = ?", "i", job);
    if (status)
        return status;
    if (p->in->expected_version != 0 && p->in->expected_version != version)
        return error_set(err, STATUS_CONFLICT, NULL, "the job has changed since it was read: read it again");
    if (p->in->name == NULL && p->in->priority == NULL && p->in->tags == NULL && p->in->visibility == NULL &&
        p->in->pinned == NULL)
        return STATUS_OK;
    if (p->in->visibility != NULL) {
        status = db_run(db, err, "UPDATE job SET visibility = ? WHERE num = ? AND study = ''", "ti",
                        visibility_name(*p->in->visibility), job);
        if (!status && db_changes(db) == 0)
            status = error_set(err, STATUS_CONFLICT, "/visibility",
                               "the job belongs to a study, and all jobs of a study have the visibility of the study");
    }
    if (status)
        return status;
    if (p->in->name != NULL)
        status = db_run(db, err, "UPDATE job SET name = ? WHERE num = ?", "ti", p->in->name, job);
    if (status)
        return status;
    if (p->in->priority != NULL)
        status = db_run(db, err, "UPDATE job SET priority = ? WHERE num = ?", "ni", *p->in->priority, job);
    if (!status && p->in->tags != NULL)
        status = job_set_tags(db, job, p->in->tags, err);
    if (!status && p->in->pinned != NULL)
        status = db_run(db, err, "UPDATE job SET pinned = ? WHERE num = ?", "ni", (int)*p->in->pinned, job);
    if (status)
        return status;
    return db_run(db, err, "UPDATE job SET version = version + 1 WHERE num = ?", "i", job);
}

enum status storage_job_patch(struct storage *storage, const char *id, const struct storage_job_patch *patch,
                              struct error *err)
{
    struct patch p = {.base = {.run = patch_run}, .id = id, .in = patch};
    if (patch->name != NULL && strlen(patch->name) >= STORAGE_NAME)
        return error_set(err, STATUS_INVALID, "/name", "must be shorter than %d bytes", STORAGE_NAME);
    return writer_call(storage, &p.base, err);
}

struct change {
    struct command base;
    const char *id;
    char *claimed;
    bool by_task; /* claim only jobs of `task` */
    enum job_task task;
    enum job_event event;
    const char *result, *error;
    enum job_state state;
    enum requested_state requested;
};

static enum status change_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct change *c = (struct change *)command;
    int64_t job;
    enum status status = job_number(db, c->id, &job, err);
    if (status)
        return status;
    if (c->result != NULL || c->error != NULL) /* stored before the state changes, because the notice of the new state
                                                  contains the result's verdict */
        status = db_run(db, err, "UPDATE job SET result = ?, error = ? WHERE num = ?", "tti", c->result, c->error, job);
    if (status)
        return status;
    status = job_apply_event(db, job, c->event, command, &c->state, &c->requested, err);
    if (status)
        return status;
    if (c->event == JOB_EVENT_YIELD || c->event == JOB_EVENT_SUCCEED || c->event == JOB_EVENT_FAIL)
        return db_run(db, err,
                      "UPDATE lease SET state = 'none', hash = NULL, result = NULL, error = NULL WHERE job = ?", "i",
                      job);
    return STATUS_OK;
}

enum status storage_job_request(struct storage *storage, const char *id, enum job_event request, enum job_state *state,
                                enum requested_state *requested, struct error *err)
{
    if (request != JOB_EVENT_PAUSE && request != JOB_EVENT_RESUME && request != JOB_EVENT_CANCEL)
        return error_set(err, STATUS_INVALID, NULL, "a request is pause, resume or cancel");
    struct change c = {.base = {.run = change_run}, .id = id, .event = request};
    enum status status = writer_call(storage, &c.base, err);
    if (state != NULL)
        *state = c.state;
    if (requested != NULL)
        *requested = c.requested;
    return status;
}

enum status storage_job_leave(struct storage *storage, const char *id, enum job_event event, const char *result,
                              const char *error, enum job_state *state, struct error *err)
{
    if (event != JOB_EVENT_YIELD && event != JOB_EVENT_SUCCEED && event != JOB_EVENT_FAIL)
        return error_set(err, STATUS_INVALID, NULL, "an executor leaves a job with yield, succeed or fail");
    if ((result != NULL && event != JOB_EVENT_SUCCEED) || (error != NULL && event != JOB_EVENT_FAIL))
        return error_set(err, STATUS_INVALID, NULL,
                         "a result is only allowed with success, and an error only with failure");
    /* ordered: whoever sees that the run has ended finds all of its points */
    struct change c = {
        .base = {.run = change_run, .ordered = true}, .id = id, .event = event, .result = result, .error = error};
    enum status status = writer_call(storage, &c.base, err);
    if (state != NULL)
        *state = c.state;
    return status;
}

static enum status claim_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct change *c = (struct change *)command;
    sqlite3_stmt *stmt;
    int64_t job = 0;
    const struct storage_options *options = &storage->options;
    enum status status = db_query(db, &stmt, err,
                                  "SELECT num, id FROM job WHERE state = 'queued' AND (?1 = 0 OR task = ?2)"
                                  " AND (?3 = 0 OR owner = '' OR ?3 >= min(?3, iif(threads > 0, threads, ?4) * ranks)"
                                  " + (SELECT coalesce(sum(iif(r.threads > 0, r.threads, ?4) * r.ranks), 0)"
                                  " FROM job AS r WHERE r.owner = job.owner AND r.owner <> '' AND r.state = 'running'))"
                                  " AND (?5 = 0 OR team = '' OR ?5 >= min(?5, iif(threads > 0, threads, ?4) * ranks)"
                                  " + (SELECT coalesce(sum(iif(r.threads > 0, r.threads, ?4) * r.ranks), 0)"
                                  " FROM job AS r WHERE r.team = job.team AND r.state = 'running'))"
                                  " ORDER BY priority DESC, num LIMIT 1",
                                  "iiini", (int64_t)c->by_task, (int64_t)c->task, options->owner_threads,
                                  options->threads_of_job, options->team_threads);
    if (!status && db_row(db, stmt, &status, err)) {
        job = sqlite3_column_int64(stmt, 0);
        if (!db_copy(stmt, 1, c->claimed, STORAGE_ID))
            status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to claim a job");
        db_done(stmt);
    }
    if (status)
        return status;
    if (job == 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no job is queued");
    return job_apply_event(db, job, JOB_EVENT_CLAIM, command, &c->state, &c->requested, err);
}

static enum status claim(struct storage *storage, struct change *change, char id[STORAGE_ID], struct error *err)
{
    change->base.run = claim_run;
    change->claimed = id;
    id[0] = '\0';
    enum status status = writer_call(storage, &change->base, err);
    if (status)
        id[0] = '\0';
    return status;
}

enum status storage_job_claim(struct storage *storage, char id[STORAGE_ID], struct error *err)
{
    struct change c = {.by_task = false};
    return claim(storage, &c, id, err);
}

enum status storage_job_claim_task(struct storage *storage, enum job_task task, char id[STORAGE_ID], struct error *err)
{
    struct change c = {.by_task = true, .task = task};
    return claim(storage, &c, id, err);
}

/* ---- progress ---------------------------------------------------------------------------------------- */

struct progress {
    struct command base;
    char id[STORAGE_ID];
    char *text;
};

static void progress_destroy(struct command *command)
{
    struct progress *p = (struct progress *)command;
    free(p->text);
    free(p);
}

static enum status progress_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct progress *p = (struct progress *)command;
    int64_t job;
    enum status status = db_run(db, err,
                                "UPDATE job SET progress = ?, progress_version = progress_version + 1"
                                " WHERE id = ? AND state NOT IN ('succeeded', 'failed', 'cancelled')",
                                "tt", p->text, p->id);
    if (status || db_changes(db) == 0)
        return status;
    status = job_number(db, p->id, &job, err);
    if (!status)
        status = event_add_progress(db, job, p->text, err);
    command->adds_events = !status;
    return status;
}

/* Replaces the text of a progress update that is still queued. */
static bool progress_merge(struct command *queued, void *context)
{
    struct progress *old = (struct progress *)queued, *fresh = context;
    if (strcmp(old->id, fresh->id) != 0)
        return false;
    char *text = old->text;
    old->text = fresh->text;
    fresh->text = text;
    size_t bytes = queued->bytes;
    queued->bytes = fresh->base.bytes;
    fresh->base.bytes = bytes;
    return true;
}

enum status storage_job_progress(struct storage *storage, const char *id, const char *progress, struct error *err)
{
    struct progress *p = calloc(1, sizeof *p);
    if (p == NULL || (p->text = strdup(progress)) == NULL) {
        free(p);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to store progress");
    }
    p->base.run = progress_run;
    p->base.destroy = progress_destroy;
    p->base.bytes = sizeof *p + strlen(progress) + 1;
    (void)snprintf(p->id, sizeof p->id, "%s", id);
    if (writer_merge(storage, progress_run, progress_merge, p)) {
        progress_destroy(&p->base);
        return STATUS_OK;
    }
    return writer_post(storage, &p->base, err);
}

/* ---- rewind, delete ------------------------------------------------------------------------------------ */

struct rewind {
    struct command base;
    const char *id;
    int64_t last_step;
};

static enum status rewind_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct rewind *r = (struct rewind *)command;
    int64_t job;
    enum status status = job_number(db, r->id, &job, err);
    return status ? status : metric_rewind(db, job, r->last_step, err);
}

enum status storage_job_rewind(struct storage *storage, const char *id, int64_t last_step, struct error *err)
{
    struct rewind r = {.base = {.run = rewind_run}, .id = id, .last_step = last_step};
    return writer_call(storage, &r.base, err);
}

enum status job_delete_finished(struct db *db, int64_t job, struct error *err)
{
    int64_t waiting;
    enum status status = db_integer(db, &waiting, 0, err,
                                    "SELECT count(*) FROM job WHERE source_job <> ''"
                                    " AND source_job = (SELECT id FROM job WHERE num = ?)"
                                    " AND state IN ('queued', 'running', 'paused')",
                                    "i", job);
    if (status)
        return status;
    if (waiting > 0)
        return error_set(err, STATUS_CONFLICT, NULL, "%lld unfinished jobs start from this one", (long long)waiting);
    /* The key of a study belongs to one of its jobs. If this job is deleted before the others, another one gets the
     * key, so that a repeated request still finds the study. */
    status = db_run(db, err,
                    "UPDATE idempotency SET job = (SELECT o.num FROM job AS o WHERE o.study = j.study AND o.study <> ''"
                    " AND o.num <> ?1 ORDER BY o.num LIMIT 1) FROM job AS j WHERE j.num = ?1 AND idempotency.job = ?1"
                    " AND j.study <> '' AND EXISTS (SELECT 1 FROM job AS o WHERE o.study = j.study AND o.study <> ''"
                    " AND o.num <> ?1)",
                    "i", job);
    if (status)
        return status;
    status = delete_job_later(db, job, err);
    if (status)
        return status;
    return db_run(db, err, "DELETE FROM job WHERE num = ?", "i", job);
}

static enum status delete_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct rewind *r = (struct rewind *)command;
    int64_t job, final;
    enum status status = job_number(db, r->id, &job, err);
    if (status)
        return status;
    status = db_integer(db, &final, 0, err,
                        "SELECT state IN ('succeeded', 'failed', 'cancelled') FROM job WHERE num = ?", "i", job);
    if (status)
        return status;
    if (!final)
        return error_set(err, STATUS_CONFLICT, NULL, "only a finished job can be deleted: cancel it first");
    return job_delete_finished(db, job, err);
}

enum status storage_job_delete(struct storage *storage, const char *id, struct error *err)
{
    struct rewind r = {.base = {.run = delete_run}, .id = id};
    enum status status = writer_call(storage, &r.base, err);
    if (!status)
        writer_want_sweep(storage);
    return status;
}
