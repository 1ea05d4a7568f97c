/* What the jobs of an owner or of a team use: numbers by state, threads, time and bytes. */
#include "storage/storage_int.h"

#define THREADS "iif(j.threads > 0, j.threads, ?3) * j.ranks"
/* The milliseconds of the last day in which a job ran, from the events of its states. */
#define RAN                                                                                                            \
    "(SELECT coalesce(sum(max(0, min(coalesce(until, ?4), ?4) - max(time, ?4 - 86400000))), 0) FROM"                   \
    " (SELECT time, data, lead(time) OVER (ORDER BY id) AS until FROM event AS e"                                      \
    " WHERE e.job = j.num AND e.type = 'state') WHERE data = 'running')"

static const char statement[] =
    "SELECT j.owner, j.team, sum(j.state = 'queued'), sum(j.state = 'running'), sum(j.state = 'paused'),"
    " sum(j.state = 'succeeded'), sum(j.state = 'failed'), sum(j.state = 'cancelled'),"
    " sum(iif(j.state = 'running', " THREADS ", 0)),"
    " sum(CASE WHEN j.started_at > 0 AND (j.finished_at = 0 OR j.finished_at > ?4 - 86400000) THEN " THREADS " * " RAN
    " ELSE 0 END) / 1000.0,"
    " sum((SELECT coalesce(sum(c.bytes), 0) FROM checkpoint AS c WHERE c.job = j.num)"
    " + (SELECT coalesce(sum(length(a.data)), 0) FROM artifact AS a WHERE a.job = j.num))"
    " FROM job AS j WHERE (?1 IS NULL OR j.owner = ?1) AND (?2 IS NULL OR j.team = ?2)"
    " GROUP BY j.team, j.owner ORDER BY j.team, j.owner LIMIT 1000";

static enum status usage_row(sqlite3_stmt *stmt, struct storage_usage *out, struct error *err)
{
    static const enum job_state states[] = {JOB_QUEUED,    JOB_RUNNING, JOB_PAUSED,
                                            JOB_SUCCEEDED, JOB_FAILED,  JOB_CANCELLED};
    *out = (struct storage_usage){.bytes = sqlite3_column_int64(stmt, 10)};
    if (!db_copy(stmt, 0, out->owner, sizeof out->owner) || !db_copy(stmt, 1, out->team, sizeof out->team))
        return error_memory(err, "the usage");
    for (int i = 0; i < JOB_STATES; i++)
        out->jobs[states[i]] = sqlite3_column_int64(stmt, 2 + i);
    out->threads = sqlite3_column_int64(stmt, 8);
    out->seconds = sqlite3_column_double(stmt, 9);
    return STATUS_OK;
}

enum status storage_usage_read(struct storage *storage, const char *owner, const char *team, struct arena *arena,
                               struct storage_usage **usage, size_t *count, struct error *err)
{
    enum { MOST = 1000 };
    sqlite3_stmt *stmt;
    *usage = arena_zalloc(arena, MOST, sizeof **usage);
    *count = 0;
    if (*usage == NULL)
        return error_memory(err, "the usage");
    struct db *db = reader_take(storage);
    enum status status =
        db_query(db, &stmt, err, statement, "ttni", owner, team,
                 storage->options.threads_of_job > 0 ? storage->options.threads_of_job : 1, clock_now_ms());
    while (!status && *count < MOST && db_row(db, stmt, &status, err)) {
        status = usage_row(stmt, &(*usage)[(*count)++], err);
        if (status || *count == MOST)
            db_done(stmt);
    }
    reader_give(storage, db);
    return status;
}
