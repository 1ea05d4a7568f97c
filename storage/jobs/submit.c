/* Submits jobs: one, or all jobs of a study. One transaction stores the jobs, their study and the idempotency key, so
 * that an acknowledged submission is complete after a crash, and a refused one has left nothing. */
#include "storage/jobs/submit_key.h"
#include "storage/storage_int.h"

#include <string.h>

struct submit {
    struct command base;
    const struct storage_submit *jobs; /* [count]; the first one has the owner and the key of all */
    size_t count;
    const struct storage_study_submit *study; /* NULL: a single job without a study */
    char *id;                                 /* id of the study, or of the single job */
    enum storage_submit_outcome outcome;
};

static enum status check_source(struct db *db, const struct storage_submit *in, struct error *err)
{
    int64_t source, checkpoint;
    enum status status = job_number(db, in->source_job, &source, err);
    if (status)
        return status == STATUS_NOT_FOUND ? error_set(err, status, NULL, "no such source job") : status;
    status = db_integer(db, &checkpoint, 0, err, "SELECT id FROM checkpoint WHERE job = ? AND seq = ? AND complete",
                        "ii", source, in->source_checkpoint);
    if (status)
        return status;
    if (checkpoint == 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "the source job has no such checkpoint");
    return job_set_used(db, in->source_job, clock_now_ms(), err);
}

/* Compares the unfinished jobs of the owner and of the team with their limits. */
static enum status check_share(struct db *db, struct submit *s, struct error *err)
{
    int64_t jobs;
    const struct storage_submit *in = s->jobs;
    if (in->owner_limit > 0 && or_empty(in->owner)[0] != '\0') {
        enum status status = db_integer(
            db, &jobs, 0, err,
            "SELECT count(*) FROM job WHERE owner = ? AND owner <> '' AND state IN ('queued', 'running', 'paused')",
            "t", in->owner);
        if (status)
            return status;
        if (jobs + (int64_t)s->count > in->owner_limit)
            s->outcome = STORAGE_OWNER_FULL;
    }
    if (s->outcome != STORAGE_CREATED || in->team_limit <= 0 || or_empty(in->team)[0] == '\0')
        return STATUS_OK;
    enum status status = db_integer(
        db, &jobs, 0, err, "SELECT count(*) FROM job WHERE team = ? AND state IN ('queued', 'running', 'paused')", "t",
        in->team);
    if (!status && jobs + (int64_t)s->count > in->team_limit)
        s->outcome = STORAGE_TEAM_FULL;
    return status;
}

static enum status check_queue(struct storage *storage, struct db *db, size_t count, struct error *err)
{
    int64_t queued, limit = storage->options.queue_limit;
    if (limit <= 0)
        return STATUS_OK;
    enum status status = db_integer(db, &queued, 0, err, "SELECT number FROM tally WHERE what = 'queued'", "");
    if (!status && queued + (int64_t)count > limit && count == 1)
        status = error_set(err, STATUS_UNAVAILABLE, NULL, "the queue is full (%lld jobs): try again later",
                           (long long)queued);
    else if (!status && queued + (int64_t)count > limit)
        status = error_set(err, STATUS_UNAVAILABLE, NULL,
                           "the queue has no room for %zu jobs (%lld of at most %lld are queued): try again later",
                           count, (long long)queued, (long long)limit);
    return status;
}

static enum status add_job(struct storage *storage, struct db *db, const struct storage_submit *in, const char *study,
                           char id[STORAGE_ID], int64_t *job, struct error *err)
{
    bool sourced = in->source_job != NULL && in->source_job[0] != '\0';
    enum status status = sourced ? check_source(db, in, err) : STATUS_OK;
    if (status)
        return status;
    int64_t now = db_stamp(db);
    status = id_next(&storage->ids, now, id, err);
    if (status)
        return status;
    const struct storage_job row = {
        .kind = in->kind,
        .preset = in->preset,
        .name = in->name,
        .owner = in->owner,
        .team = in->team,
        .visibility = in->visibility,
        .task = in->task,
        .state = JOB_QUEUED,
        .priority = in->priority,
        .threads = in->threads,
        .executor = in->executor,
        .ranks = in->ranks > 0 ? in->ranks : 1,
        .trace = in->trace,
        .config = in->config,
        .params = in->params,
        .source_job = in->source_job,
        .source_checkpoint = sourced ? in->source_checkpoint : 0,
        .study = study,
        .created_at = now,
    };
    status = job_insert(db, id, &row, 0, job, err);
    if (!status && in->tags != NULL)
        status = job_set_tags(db, *job, in->tags, err);
    if (status)
        return status;
    return event_add(db, *job, "state", job_state_name(JOB_QUEUED), err);
}

static enum status add_study(struct storage *storage, struct db *db, struct submit *s, struct error *err)
{
    const struct storage_submit *first = s->jobs;
    int64_t now = db_stamp(db);
    enum status status = id_next(&storage->ids, now, s->id, err);
    if (status)
        return status;
    const struct db_value values[] = {
        DB_TEXT("id", s->id),
        DB_TEXT("kind", first->kind),
        DB_TEXT("preset", or_empty(first->preset)),
        DB_TEXT("name", or_empty(s->study->name)),
        DB_TEXT("owner", or_empty(first->owner)),
        DB_TEXT("team", or_empty(first->team)),
        DB_TEXT("visibility", visibility_name(first->visibility)),
        DB_TEXT("grid", s->study->grid),
        DB_INTEGER("seeds", s->study->seeds),
        DB_INTEGER("created_at", now),
    };
    return db_insert(db, "study", values, sizeof values / sizeof values[0], err);
}

/* Replaces the id of the job that a key has found by the id of its study, if the request submits a study. */
static enum status find_study(struct db *db, struct submit *s, struct error *err)
{
    sqlite3_stmt *stmt;
    if (s->study == NULL)
        return STATUS_OK;
    enum status status = db_query(db, &stmt, err, "SELECT study FROM job WHERE id = ? AND study <> ''", "t", s->id);
    if (!status && db_row(db, stmt, &status, err)) {
        if (!db_copy(stmt, 0, s->id, STORAGE_ID))
            status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to find a study");
        db_done(stmt);
    }
    return status;
}

static enum status submit_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct submit *s = (struct submit *)command;
    const struct storage_submit *in = s->jobs;
    char id[STORAGE_ID] = ""; /* of a job of a study; s->id is then that of the study */
    int64_t job = 0;
    const struct submit_key key = {or_empty(in->owner), in->key, in->fingerprint, clock_now_ms()};
    enum status status = submit_key_find(db, &key, s->id, &s->outcome, err);
    if (status)
        return status;
    if (s->outcome != STORAGE_CREATED)
        return find_study(db, s, err);
    status = check_share(db, s, err);
    if (status || s->outcome != STORAGE_CREATED)
        return status;
    status = check_queue(storage, db, s->count, err);
    if (!status && s->study != NULL)
        status = add_study(storage, db, s, err);
    for (size_t i = 0; !status && i < s->count; i++) {
        status = add_job(storage, db, &s->jobs[i], s->study != NULL ? s->id : NULL, s->study != NULL ? id : s->id, &job,
                         err);
        if (!status && i == 0)
            status = submit_key_keep(db, &key, job, err);
    }
    s->base.adds_events = true;
    return status;
}

static enum status check_texts(const struct storage_submit *submit, struct error *err)
{
    if (submit->kind == NULL || submit->config == NULL)
        return error_set(err, STATUS_INVALID, NULL, "a job needs a kind and a configuration");
    if (submit->name != NULL && strlen(submit->name) >= STORAGE_NAME)
        return error_set(err, STATUS_INVALID, "/name", "must be shorter than %d bytes", STORAGE_NAME);
    return STATUS_OK;
}

static enum status submit_call(struct storage *storage, struct submit *s, enum storage_submit_outcome *outcome,
                               struct error *err)
{
    s->base.run = submit_run;
    s->id[0] = '\0';
    enum status status = submit_key_check(s->jobs[0].key, err);
    for (size_t i = 0; !status && i < s->count; i++)
        status = check_texts(&s->jobs[i], err);
    if (!status)
        status = writer_call(storage, &s->base, err);
    if (status)
        s->id[0] = '\0';
    *outcome = s->outcome;
    return status;
}

enum status storage_job_submit(struct storage *storage, const struct storage_submit *submit, char id[STORAGE_ID],
                               enum storage_submit_outcome *outcome, struct error *err)
{
    struct submit s = {.jobs = submit, .count = 1, .id = id};
    return submit_call(storage, &s, outcome, err);
}

enum status storage_study_submit(struct storage *storage, const struct storage_study_submit *study, char id[STORAGE_ID],
                                 enum storage_submit_outcome *outcome, struct error *err)
{
    struct submit s = {.jobs = study->jobs, .count = study->count, .study = study, .id = id};
    id[0] = '\0';
    if (study->count < 1 || study->count > STORAGE_STUDY_JOBS)
        return error_set(err, STATUS_INVALID, NULL, "a study has 1 to %d jobs", STORAGE_STUDY_JOBS);
    if (study->name != NULL && strlen(study->name) >= STORAGE_NAME)
        return error_set(err, STATUS_INVALID, "/name", "must be shorter than %d bytes", STORAGE_NAME);
    return submit_call(storage, &s, outcome, err);
}
