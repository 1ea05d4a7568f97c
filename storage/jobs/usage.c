/* What the jobs of an owner or of a team use: numbers by state, threads, time and bytes; and which running job is
 * stuck.
 */
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

static const char teams_sql[] =
    "WITH kept AS (SELECT job, sum(bytes) AS bytes FROM checkpoint WHERE complete GROUP BY job),"
    " files AS (SELECT job, sum(length(data)) AS bytes FROM artifact GROUP BY job)"
    " SELECT j.team, sum(j.state = 'queued'), sum(coalesce(kept.bytes, 0) + coalesce(files.bytes, 0))"
    " FROM job AS j LEFT JOIN kept ON kept.job = j.num LEFT JOIN files ON files.job = j.num"
    " GROUP BY j.team ORDER BY j.team LIMIT 1000";

/* Each report of a job that runs adds an event. */
static const char stalled_sql[] =
    "SELECT max(?1 - coalesce((SELECT e.time FROM event AS e WHERE e.job = j.num ORDER BY e.id DESC LIMIT 1),"
    " j.started_at)) FROM job AS j WHERE j.state = 'running'";

enum status storage_teams_read(struct storage *storage, struct arena *arena, struct storage_team **teams, size_t *count,
                               int64_t *stalled_ms, struct error *err)
{
    enum { MOST = 1000 };
    sqlite3_stmt *stmt;
    *teams = arena_zalloc(arena, MOST, sizeof **teams);
    *count = 0;
    if (*teams == NULL)
        return error_memory(err, "the usage");
    struct db *db = reader_take(storage);
    enum status status = db_integer(db, stalled_ms, 0, err, stalled_sql, "i", clock_now_ms());
    if (!status)
        status = db_query(db, &stmt, err, teams_sql, "");
    while (!status && *count < MOST && db_row(db, stmt, &status, err)) {
        struct storage_team *team = &(*teams)[(*count)++];
        team->queued = sqlite3_column_int64(stmt, 1);
        team->bytes = sqlite3_column_int64(stmt, 2);
        if (!db_copy(stmt, 0, team->team, sizeof team->team))
            status = error_memory(err, "the usage");
        if (status || *count == MOST)
            db_done(stmt);
    }
    reader_give(storage, db);
    return status;
}
