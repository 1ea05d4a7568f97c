/* Policies of retention as SQL: one definition of what is due, for lists, for single jobs and for the deletion. */
#include "storage/jobs/policy.h"

#include <stdio.h>
#include <stdlib.h>

#include "storage/storage_int.h"

/* The table `due`: jobs that no rule keeps apart from time. ?1: the policies, NULL for the stored ones. ?2: only jobs
 * of this team, ?3: only the job with this id; NULL: all. delete_at and drop_at are the times at which the job or its
 * spare checkpoints are due; NULL: never. JOBS is the table of jobs `j`, whose column `place` counts the finished jobs
 * of the same team, kind and task from the newest one, 1. */
#define DAYS " * 86400000"
#define FINISHED " IN ('succeeded', 'failed', 'cancelled')"
#define JOB "num, id, kind, name, owner, team, task, used_at, finished_at, pinned"
#define ALL_JOBS                                                                                                       \
    "(SELECT " JOB ", row_number() OVER (PARTITION BY team, kind, task ORDER BY num DESC) AS place"                    \
    "  FROM job WHERE state" FINISHED ")"
#define ONE_JOB                                                                                                        \
    "(SELECT " JOB ", 1 + (SELECT count(*) FROM job AS k WHERE k.team = o.team AND k.kind = o.kind"                    \
    "  AND k.task = o.task AND k.state" FINISHED " AND k.num > o.num) AS place FROM job AS o"                          \
    "  WHERE o.id = ?3 AND o.state" FINISHED ")"
#define DUE(JOBS)                                                                                                      \
    "WITH rule AS MATERIALIZED (SELECT key AS place, coalesce(value ->> 'team', '') AS team, value ->> 'kind' AS "     \
    "kind,"                                                                                                            \
    "  value ->> 'keep_newest' AS newest, value ->> 'keep_days' AS days,"                                              \
    "  value ->> 'checkpoint_days' AS model_after, coalesce(value ->> 'keep_tagged', 1) AS tagged"                     \
    "  FROM json_each(coalesce(?1, (SELECT rules FROM policy), '[]'))),"                                               \
    " due AS (SELECT j.num, j.id, j.kind, j.name, j.owner, j.team, r.team AS of_team, r.kind AS of_kind,"              \
    "  CASE WHEN r.days IS NOT NULL THEN max(j.used_at, j.finished_at) + r.days" DAYS                                  \
    "   WHEN r.newest IS NOT NULL AND r.model_after IS NULL THEN max(j.used_at, j.finished_at) END AS delete_at,"      \
    "  max(j.used_at, j.finished_at) + r.model_after" DAYS " AS drop_at"                                               \
    "  FROM " JOBS " AS j JOIN rule AS r ON r.place = (SELECT o.place FROM rule AS o WHERE o.team IN (j.team, '*')"    \
    "   AND o.kind IN (j.kind, '*') ORDER BY o.team = '*', o.kind = '*' LIMIT 1)"                                      \
    "  WHERE (?2 IS NULL OR j.team = ?2) AND (?3 IS NULL OR j.id = ?3) AND NOT j.pinned"                               \
    "  AND (r.newest IS NULL OR j.place > r.newest)"                                                                   \
    "  AND NOT (r.tagged AND EXISTS (SELECT 1 FROM job_tag AS t WHERE t.job = j.num)))"

/* A job that another one needs. */
#define HELD                                                                                                           \
    "EXISTS (SELECT 1 FROM job AS n WHERE n.source_job = due.id AND n.source_job <> ''"                                \
    " AND (n.task = 1 OR n.state IN ('queued', 'running', 'paused')))"

/* What is due at the time ?4, at most ?5 rows. */
#define SELECT_DUE(JOBS)                                                                                               \
    DUE(JOBS)                                                                                                          \
    " SELECT num, id, kind, name, owner, team, of_team, of_kind, whole, iif(whole, delete_at, drop_at) AS since,"      \
    " iif(whole, (SELECT coalesce(sum(a.bytes), 0) FROM checkpoint AS a WHERE a.job = w.num)"                          \
    "  + (SELECT coalesce(sum(length(f.data)), 0) FROM artifact AS f WHERE f.job = w.num),"                            \
    "  (SELECT coalesce(sum(c.bytes), 0)" SPARE_CHECKPOINTS(                                                           \
        "w.num") "))"                                                                                                  \
                 " FROM (SELECT *, coalesce(delete_at <= ?4 AND NOT " HELD ", 0) AS whole FROM due) AS w"              \
                 " WHERE whole OR (drop_at <= ?4 AND EXISTS (SELECT 1" SPARE_CHECKPOINTS(                              \
                     "w.num") "))"                                                                                     \
                              " ORDER BY since, num LIMIT ?5"

/* ---- the policies ---------------------------------------------------------------------------------------- */

struct set {
    struct command base;
    const char *rules;
};

static enum status set_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    return db_run(db, err, "INSERT INTO policy VALUES (1, ?) ON CONFLICT(one) DO UPDATE SET rules = excluded.rules",
                  "t", ((struct set *)command)->rules);
}

enum status storage_policies_set(struct storage *storage, const char *rules, struct error *err)
{
    struct set s = {.base = {.run = set_run}, .rules = rules};
    return writer_call(storage, &s.base, err);
}

enum status storage_policies_get(struct storage *storage, struct arena *arena, const char **rules, struct error *err)
{
    sqlite3_stmt *stmt;
    bool ok = true;
    *rules = "[]";
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err, "SELECT rules FROM policy", "");
    if (!status && db_row(db, stmt, &status, err)) {
        *rules = db_text(stmt, 0, arena, &ok);
        db_done(stmt);
    }
    reader_give(storage, db);
    return status || ok ? status : error_memory(err, "the policies");
}

/* ---- what is due ----------------------------------------------------------------------------------------- */

static enum status due_row(sqlite3_stmt *stmt, struct arena *arena, struct storage_due *out, struct error *err)
{
    bool ok = db_copy(stmt, 1, out->id, sizeof out->id);
    out->kind = db_text(stmt, 2, arena, &ok);
    out->name = db_text(stmt, 3, arena, &ok);
    out->owner = db_text(stmt, 4, arena, &ok);
    out->team = db_text(stmt, 5, arena, &ok);
    out->of_team = db_text(stmt, 6, arena, &ok);
    out->of_kind = db_text(stmt, 7, arena, &ok);
    out->whole = sqlite3_column_int(stmt, 8) != 0;
    out->due_at = sqlite3_column_int64(stmt, 9);
    out->bytes = sqlite3_column_int64(stmt, 10);
    return ok ? STATUS_OK : error_memory(err, "what is due");
}

enum status storage_due_list(struct storage *storage, const char *rules, const char *team, int64_t now, int limit,
                             struct arena *arena, struct storage_due **due, size_t *count, struct error *err)
{
    sqlite3_stmt *stmt;
    *count = 0;
    *due = arena_zalloc(arena, (size_t)limit, sizeof **due);
    if (*due == NULL)
        return error_memory(err, "what is due");
    struct db *db = reader_take(storage);
    enum status status =
        db_query(db, &stmt, err, SELECT_DUE(ALL_JOBS), "tttii", rules, team, (const char *)NULL, now, (int64_t)limit);
    while (!status && db_row(db, stmt, &status, err)) {
        status = due_row(stmt, arena, &(*due)[(*count)++], err);
        if (status)
            db_done(stmt);
    }
    reader_give(storage, db);
    return status;
}

enum status storage_job_expiry(struct storage *storage, const char *id, int64_t *at, struct error *err)
{
    struct db *db = reader_take(storage);
    enum status status = db_integer(db, at, 0, err, DUE(ONE_JOB) " SELECT delete_at FROM due", "ttt",
                                    (const char *)NULL, (const char *)NULL, id);
    reader_give(storage, db);
    return status;
}

/* ---- deletion -------------------------------------------------------------------------------------------- */

struct apply {
    struct command base;
    const char *id;
    int64_t now;
    bool whole;
};

/* Adds the entry of the audit log: the policy takes the place of the caller. */
static enum status note(struct db *db, const struct apply *a, const char *team, const char *kind, struct error *err)
{
    char who[sizeof((struct storage_audit *)NULL)->who], target[80];
    (void)snprintf(who, sizeof who, "policy %s %s", team[0] != '\0' ? team : "-", kind);
    (void)snprintf(target, sizeof target, "/v1/jobs/%s%s", a->id, a->whole ? "" : "/checkpoints");
    return db_run(db, err,
                  "INSERT INTO audit(time, who, peer, request, method, target, status)"
                  " VALUES (?, ?, '', lower(hex(randomblob(12))), 'DELETE', ?, 204)",
                  "itt", a->now, who, target);
}

static enum status drop_checkpoints(struct db *db, int64_t job, struct error *err)
{
    for (;;) {
        int64_t checkpoint;
        enum status status =
            db_integer(db, &checkpoint, 0, err, "SELECT c.id" SPARE_CHECKPOINTS("?1") " LIMIT 1", "i", job);
        if (status || checkpoint == 0)
            return status;
        status = delete_checkpoint_later(db, checkpoint, err);
        if (status)
            return status;
    }
}

static enum status apply_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct apply *a = (struct apply *)command;
    char team[STORAGE_TEAM] = "", kind[64] = "";
    int64_t job = 0;
    sqlite3_stmt *stmt;
    enum status status = db_query(db, &stmt, err, SELECT_DUE(ONE_JOB), "tttii", (const char *)NULL, (const char *)NULL,
                                  a->id, a->now, (int64_t)1);
    if (!status && db_row(db, stmt, &status, err)) {
        job = sqlite3_column_int64(stmt, 0);
        if (!db_copy(stmt, 6, team, sizeof team) || !db_copy(stmt, 7, kind, sizeof kind))
            status = error_memory(err, "what is due");
        a->whole = sqlite3_column_int(stmt, 8) != 0;
        db_done(stmt);
    }
    if (!status && job == 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no policy takes anything of this job now");
    if (!status)
        status = a->whole ? job_delete_finished(db, job, err) : drop_checkpoints(db, job, err);
    return status ? status : note(db, a, team, kind, err);
}

enum status storage_due_apply(struct storage *storage, const char *id, int64_t now, bool *whole, struct error *err)
{
    struct apply a = {.base = {.run = apply_run}, .id = id, .now = now};
    enum status status = writer_call(storage, &a.base, err);
    *whole = a.whole;
    if (!status)
        writer_want_sweep(storage);
    return status;
}

/* ---- uses ------------------------------------------------------------------------------------------------ */

enum status job_set_used(struct db *db, const char *id, int64_t now, struct error *err)
{
    return db_run(db, err, "UPDATE job SET used_at = ?2 WHERE id = ?1 AND used_at <= ?2 - ?3", "tii", id, now,
                  STORAGE_USE_MS);
}

struct use {
    struct command base;
    char id[STORAGE_ID];
    int64_t now;
};

static enum status use_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    const struct use *u = (const struct use *)command;
    return job_set_used(db, u->id, u->now, err);
}

static void use_destroy(struct command *command)
{
    free(command);
}

enum status storage_job_used(struct storage *storage, const char *id, struct error *err)
{
    struct use *u = calloc(1, sizeof *u);
    if (u == NULL)
        return error_memory(err, "the use of a job");
    u->base = (struct command){.run = use_run, .destroy = use_destroy, .bytes = sizeof *u};
    u->now = clock_now_ms();
    (void)snprintf(u->id, sizeof u->id, "%s", id);
    return writer_post(storage, &u->base, err);
}

/* ---- data sets ------------------------------------------------------------------------------------------- */

enum status storage_dataset_use_get(struct storage *storage, const char *name, struct storage_dataset_use *out,
                                    struct error *err)
{
    sqlite3_stmt *stmt;
    *out = (struct storage_dataset_use){.used_at = 0};
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err, "SELECT used_at, pinned FROM dataset_use WHERE name = ?", "t", name);
    if (!status && db_row(db, stmt, &status, err)) {
        out->used_at = sqlite3_column_int64(stmt, 0);
        out->pinned = sqlite3_column_int(stmt, 1) != 0;
        db_done(stmt);
    }
    reader_give(storage, db);
    return status;
}

struct dataset_change {
    struct command base;
    const char *name;
    int64_t used_at; /* -1: unchanged */
    int pinned;      /* -1: unchanged */
    bool forget;
};

static enum status dataset_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    const struct dataset_change *c = (const struct dataset_change *)command;
    if (c->forget)
        return db_run(db, err, "DELETE FROM dataset_use WHERE name = ?", "t", c->name);
    return db_run(db, err,
                  "INSERT INTO dataset_use VALUES (?1, max(?2, 0), max(?3, 0)) ON CONFLICT(name) DO UPDATE SET"
                  " used_at = max(used_at, ?2), pinned = iif(?3 < 0, pinned, ?3)",
                  "tin", c->name, c->used_at, c->pinned);
}

static enum status change_dataset(struct storage *storage, struct dataset_change *c, struct error *err)
{
    c->base.run = dataset_run;
    return writer_call(storage, &c->base, err);
}

enum status storage_dataset_used(struct storage *storage, const char *name, struct error *err)
{
    struct storage_dataset_use last;
    const int64_t now = clock_now_ms();
    enum status status = storage_dataset_use_get(storage, name, &last, err);
    if (status || last.used_at > now - STORAGE_USE_MS)
        return status;
    return change_dataset(storage, &(struct dataset_change){.name = name, .used_at = now, .pinned = -1}, err);
}

enum status storage_dataset_pin(struct storage *storage, const char *name, bool pinned, struct error *err)
{
    return change_dataset(storage, &(struct dataset_change){.name = name, .used_at = -1, .pinned = pinned}, err);
}

enum status storage_dataset_forget(struct storage *storage, const char *name, struct error *err)
{
    return change_dataset(storage, &(struct dataset_change){.name = name, .forget = true}, err);
}
