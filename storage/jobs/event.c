/* Events of jobs, and the time stamps of rows. Clients follow a job by reading its events in the order of their ids. */
#include "storage/storage_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 1000
#define BEHIND_MOST ((int64_t)24 * 3600 * 1000)

enum status event_add(struct db *db, int64_t job, const char *type, const char *data, struct error *err)
{
    return db_run(db, err, "INSERT INTO event(job, type, data, time) VALUES (?, ?, ?, ?)", "itti", job, type, data,
                  db_stamp(db));
}

enum status event_add_progress(struct db *db, int64_t job, const char *data, struct error *err)
{
    enum status status = event_add(db, job, "progress", data, err);
    if (status)
        return status;
    return db_run(db, err,
                  "DELETE FROM event WHERE job = ?1 AND type = 'progress' AND id <= (SELECT id FROM event"
                  " WHERE job = ?1 AND type = 'progress' ORDER BY id DESC LIMIT 1 OFFSET ?2)",
                  "in", job, PROGRESS_EVENTS);
}

int64_t db_stamp(struct db *db)
{
    int64_t now = clock_now_ms();
    if (now < db->stamp - BEHIND_MOST)
        log_line(db->log, LOG_LEVEL_WARN,
                 "the clock is %lld s behind the newest stored time: new times begin at the clock",
                 (long long)(db->stamp - now) / 1000);
    else if (now < db->stamp)
        now = db->stamp;
    db->stamp = now;
    return now;
}

enum status db_stamp_resume(struct db *db, struct error *err)
{
    return db_integer(db, &db->stamp, 0, err, "SELECT time FROM event ORDER BY id DESC LIMIT 1", "");
}

struct posted {
    struct command base;
    char id[STORAGE_ID];
    char *type, *data; /* `type` and `data` are in one allocation, to which `type` points */
};

static void posted_destroy(struct command *command)
{
    struct posted *p = (struct posted *)command;
    free(p->type);
    free(p);
}

static enum status posted_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct posted *p = (struct posted *)command;
    int64_t job;
    enum status status = job_number(db, p->id, &job, err);
    if (!status)
        status = event_add(db, job, p->type, p->data, err);
    command->adds_events = true;
    return status;
}

enum status storage_event_append(struct storage *storage, const char *id, const char *type, const char *data,
                                 struct error *err)
{
    size_t type_bytes = strlen(type) + 1, data_bytes = strlen(data) + 1;
    struct posted *p = calloc(1, sizeof *p);
    if (p == NULL || (p->type = malloc(type_bytes + data_bytes)) == NULL) {
        free(p);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to store an event");
    }
    p->data = p->type + type_bytes;
    memcpy(p->type, type, type_bytes);
    memcpy(p->data, data, data_bytes);
    (void)snprintf(p->id, sizeof p->id, "%s", id);
    p->base.run = posted_run;
    p->base.destroy = posted_destroy;
    p->base.bytes = sizeof *p + type_bytes + data_bytes;
    return writer_post(storage, &p->base, err);
}

static enum status query_events(struct db *db, sqlite3_stmt **stmt, const char *id, const struct viewer *viewer,
                                int64_t after, int limit, struct error *err)
{
    if (id == NULL)
        return db_query(db, stmt, err,
                        "SELECT e.id, j.id, e.type, e.data, e.time FROM event e JOIN job j ON j.num = e.job"
                        " WHERE e.id > ?1 AND " VIEWER_SEES("?3", "?4", "?5") " ORDER BY e.id LIMIT ?2",
                        "intti", after, limit, VIEWER_VALUES(viewer));
    int64_t job;
    enum status status =
        db_integer(db, &job, 0, err, "SELECT num FROM job WHERE id = ?1 AND " VIEWER_SEES("?2", "?3", "?4"), "ttti", id,
                   VIEWER_VALUES(viewer));
    if (!status && job == 0)
        status = error_set(err, STATUS_NOT_FOUND, NULL, "no such job");
    if (status)
        return status;
    return db_query(db, stmt, err,
                    "SELECT e.id, ?1, e.type, e.data, e.time FROM event e WHERE e.job = ?2 AND e.id > ?3"
                    " ORDER BY e.id LIMIT ?4",
                    "tiin", id, job, after, limit);
}

enum status storage_event_read(struct storage *storage, const char *id, const struct viewer *viewer, int64_t after,
                               int limit, struct arena *arena, struct storage_event **events, size_t *count,
                               struct error *err)
{
    *events = NULL;
    *count = 0;
    if (limit < 1 || limit > EVENTS_MAX)
        return error_set(err, STATUS_INVALID, NULL, "limit must be in [1, %d]", EVENTS_MAX);
    struct storage_event *list = arena_zalloc(arena, (size_t)limit, sizeof *list);
    if (list == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read events");
    struct db *db;
    sqlite3_stmt *stmt = NULL;
    enum status status = reader_begin(storage, &db, err);
    if (status)
        return status;
    status = query_events(db, &stmt, id, viewer, after, limit, err);
    while (!status && db_row(db, stmt, &status, err)) {
        struct storage_event *e = &list[*count];
        bool ok = db_copy(stmt, 1, e->job, sizeof e->job);
        e->id = sqlite3_column_int64(stmt, 0);
        e->type = db_text(stmt, 2, arena, &ok);
        e->data = db_text(stmt, 3, arena, &ok);
        e->time = sqlite3_column_int64(stmt, 4);
        if (!ok) {
            status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read events");
            db_done(stmt);
            break;
        }
        ++*count;
    }
    reader_end(storage, db);
    *events = list;
    return status;
}

enum status storage_event_newest(struct storage *storage, int64_t *id, struct error *err)
{
    struct db *db;
    *id = 0;
    enum status status = reader_begin(storage, &db, err);
    if (status)
        return status;
    status = db_integer(db, id, 0, err, "SELECT seq FROM sqlite_sequence WHERE name = 'event'", "");
    reader_end(storage, db);
    return status;
}
