/* The row of a job: finds the row by the public id of the job, and adds a row. Submission, import, events and metrics
 * use these functions. */
#include "storage/storage_int.h"

enum status job_number(struct db *db, const char *id, int64_t *number, struct error *err)
{
    *number = 0;
    if (id == NULL)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no such job");
    enum status status = db_integer(db, number, 0, err, "SELECT num FROM job WHERE id = ?", "t", id);
    if (status != STATUS_OK)
        return status;
    if (*number == 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no such job");
    return STATUS_OK;
}

const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

enum status job_insert(struct db *db, const char *id, const struct storage_job *job, int64_t last_seq, int64_t *number,
                       struct error *err)
{
    const struct db_value values[] = {
        DB_TEXT("id", id),
        DB_TEXT("kind", job->kind),
        DB_TEXT("preset", or_empty(job->preset)),
        DB_TEXT("name", or_empty(job->name)),
        DB_TEXT("owner", or_empty(job->owner)),
        DB_INTEGER("task", job->task),
        DB_TEXT("state", job_state_name(job->state)),
        DB_INTEGER("requested_state", job->requested),
        DB_INTEGER("priority", job->priority),
        DB_INTEGER("threads", job->threads),
        DB_TEXT("executor", or_empty(job->executor)),
        DB_INTEGER("ranks", job->ranks),
        DB_TEXT("trace", or_empty(job->trace)),
        DB_TEXT("study", or_empty(job->study)),
        DB_TEXT("config", job->config),
        DB_TEXT("params", job->params),
        DB_TEXT("progress", job->progress),
        DB_TEXT("result", job->result),
        DB_TEXT("error", job->error),
        DB_TEXT("source_job", or_empty(job->source_job)),
        DB_INTEGER("source_checkpoint", job->source_checkpoint),
        DB_INTEGER("created_at", job->created_at),
        DB_INTEGER("started_at", job->started_at),
        DB_INTEGER("finished_at", job->finished_at),
        DB_INTEGER("version", 1),
        DB_INTEGER("progress_version", 0),
        DB_INTEGER("last_seq", last_seq),
    };
    enum status status = db_insert(db, "job", values, sizeof values / sizeof values[0], err);
    *number = sqlite3_last_insert_rowid(db->handle);
    return status;
}

enum status job_set_tags(struct db *db, int64_t job, const char *tags, struct error *err)
{
    enum status status = db_run(db, err, "DELETE FROM job_tag WHERE job = ?", "i", job);
    if (status != STATUS_OK)
        return status;
    return db_run(db, err, "INSERT OR IGNORE INTO job_tag(tag, job) SELECT value, ?1 FROM json_each(?2)", "it", job,
                  tags);
}
