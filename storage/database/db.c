/* One SQLite connection: keeps prepared statements, binds parameters, and translates SQLite's codes into our statuses.
 */
#include "storage/database/db.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/database/row_digest.h"

enum status db_open(struct db *db, const char *path, int flags, const char *vfs, const struct log_hook *log,
                    struct error *err)
{
    memset(db, 0, sizeof *db);
    db->log = log;
    int code = sqlite3_open_v2(path, &db->handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs);
    if (code == SQLITE_OK)
        code = row_digest_register(db->handle);
    if (code != SQLITE_OK) {
        enum status status = db_fail(db, code, err);
        db_close(db);
        return status;
    }
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    sqlite3_limit(db->handle, SQLITE_LIMIT_ATTACHED, 0);
    return STATUS_OK;
}

void db_close(struct db *db)
{
    for (int i = 0; i < db->statement_count; i++)
        sqlite3_finalize(db->statements[i].stmt);
    db->statement_count = 0;
    sqlite3_close(db->handle);
    db->handle = NULL;
}

bool db_code_is_fatal(int code)
{
    switch (code & 0xff) {
    case SQLITE_IOERR:
        return code != SQLITE_IOERR_NOMEM;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PROTOCOL:
        return true;
    default:
        return false;
    }
}

enum status db_fail(struct db *db, int code, struct error *err)
{
    db->last_code = code;
    log_line(db->log, LOG_LEVEL_WARN, "sqlite: code %d: %s", code,
             db->handle != NULL ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code));
    if (code == SQLITE_IOERR_NOMEM)
        return error_memory(err, "the database");
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return error_memory(err, "the database");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, STATUS_UNAVAILABLE, NULL, "the database is locked by another program");
    case SQLITE_FULL:
        return error_set(err, STATUS_FULL, NULL, "the disk is full");
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_PROTOCOL:
        return error_set(err, STATUS_IO, NULL, "the database cannot be read or written");
    case SQLITE_CANTOPEN:
        return error_set(err, STATUS_IO, NULL, "the database file cannot be opened");
    case SQLITE_CORRUPT:
        return error_set(err, STATUS_CORRUPT, NULL, "the database file is damaged");
    case SQLITE_NOTADB:
        return error_set(err, STATUS_CORRUPT, NULL, "the file is not a database");
    case SQLITE_CONSTRAINT:
        return error_set(err, STATUS_CONFLICT, NULL, "the change contradicts the stored data");
    case SQLITE_TOOBIG:
        return error_set(err, STATUS_LIMIT, NULL, "the value is too large for the database");
    case SQLITE_INTERRUPT:
        return error_set(err, STATUS_CANCELLED, NULL, "the database operation was interrupted");
    default:
        return error_set(err, STATUS_INTERNAL, NULL, "unexpected result from SQLite (code %d)", code);
    }
}

enum status db_exec(struct db *db, const char *sql, struct error *err)
{
    int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? STATUS_OK : db_fail(db, code, err);
}

static enum status db_prepare(struct db *db, const char *sql, sqlite3_stmt **stmt, struct error *err)
{
    for (int i = 0; i < db->statement_count; i++)
        if (db->statements[i].sql == sql) {
            *stmt = db->statements[i].stmt;
            return STATUS_OK;
        }
    if (db->statement_count == DB_STATEMENTS)
        return error_set(err, STATUS_INTERNAL, NULL, "too many different statements for one connection");
    int code = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    if (code != SQLITE_OK)
        return db_fail(db, code, err);
    db->statements[db->statement_count].sql = sql;
    db->statements[db->statement_count++].stmt = *stmt;
    return STATUS_OK;
}

enum status db_keep(struct db *db, const char *sql, struct error *err)
{
    sqlite3_stmt *stmt;
    return db_prepare(db, sql, &stmt, err);
}

static int bind_all(sqlite3_stmt *stmt, const char *format, va_list *args)
{
    int code = SQLITE_OK;
    for (int i = 1; *format != '\0' && code == SQLITE_OK; format++, i++) {
        switch (*format) {
        case 'i':
            code = sqlite3_bind_int64(stmt, i, va_arg(*args, int64_t));
            break;
        case 'n':
            code = sqlite3_bind_int(stmt, i, va_arg(*args, int));
            break;
        case 'd':
            code = sqlite3_bind_double(stmt, i, va_arg(*args, double));
            break;
        case 't':
            code = sqlite3_bind_text(stmt, i, va_arg(*args, const char *), -1, SQLITE_STATIC);
            break;
        case 'b': {
            const void *bytes = va_arg(*args, const void *);
            size_t count = va_arg(*args, size_t);
            code = sqlite3_bind_blob64(stmt, i, count > 0 ? bytes : "", count, SQLITE_STATIC);
            break;
        }
        default:
            code = SQLITE_MISUSE;
        }
    }
    return code;
}

static enum status query(struct db *db, sqlite3_stmt **stmt, struct error *err, const char *sql, const char *format,
                         va_list *args)
{
    enum status status = db_prepare(db, sql, stmt, err);
    if (status)
        return status;
    int code = bind_all(*stmt, format, args);
    return code == SQLITE_OK ? STATUS_OK : db_fail(db, code, err);
}

enum status db_query(struct db *db, sqlite3_stmt **stmt, struct error *err, const char *sql, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    enum status status = query(db, stmt, err, sql, format, &args);
    va_end(args);
    return status;
}

void db_done(sqlite3_stmt *stmt)
{
    if (stmt == NULL)
        return;
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt); /* the bindings point to memory of the caller, which may be freed now */
}

bool db_row(struct db *db, sqlite3_stmt *stmt, enum status *status, struct error *err)
{
    int code = sqlite3_step(stmt);
    if (code == SQLITE_ROW) {
        *status = STATUS_OK;
        return true;
    }
    *status = code == SQLITE_DONE ? STATUS_OK : db_fail(db, code, err);
    db_done(stmt);
    return false;
}

enum status db_run(struct db *db, struct error *err, const char *sql, const char *format, ...)
{
    sqlite3_stmt *stmt;
    va_list args;
    va_start(args, format);
    enum status status = query(db, &stmt, err, sql, format, &args);
    va_end(args);
    if (status)
        return status;
    while (db_row(db, stmt, &status, err)) {
    }
    return status;
}

/* Builds "INSERT INTO table(a, b) VALUES (?, ?)". The caller frees it with sqlite3_free(). NULL: not enough memory. */
static char *insert_sql(struct db *db, const char *table, const struct db_value *values, size_t count)
{
    sqlite3_str *sql = sqlite3_str_new(db->handle);
    sqlite3_str_appendf(sql, "INSERT INTO %s(", table);
    for (size_t i = 0; i < count; i++)
        sqlite3_str_appendf(sql, "%s%s", i > 0 ? ", " : "", values[i].column);
    sqlite3_str_appendall(sql, ") VALUES (");
    for (size_t i = 0; i < count; i++)
        sqlite3_str_appendall(sql, i > 0 ? ", ?" : "?");
    sqlite3_str_appendall(sql, ")");
    return sqlite3_str_finish(sql);
}

enum status db_insert(struct db *db, const char *table, const struct db_value *values, size_t count, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    char *sql = insert_sql(db, table, values, count);
    int code = sql != NULL ? sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
    for (size_t i = 0; i < count && code == SQLITE_OK; i++)
        code = values[i].is_text ? sqlite3_bind_text(stmt, (int)i + 1, values[i].text, -1, SQLITE_STATIC)
                                 : sqlite3_bind_int64(stmt, (int)i + 1, values[i].integer);
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    enum status status = code == SQLITE_DONE ? STATUS_OK : db_fail(db, code, err);
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return status;
}

enum status db_integer(struct db *db, int64_t *value, int64_t absent, struct error *err, const char *sql,
                       const char *format, ...)
{
    sqlite3_stmt *stmt;
    va_list args;
    va_start(args, format);
    enum status status = query(db, &stmt, err, sql, format, &args);
    va_end(args);
    *value = absent;
    if (status)
        return status;
    if (db_row(db, stmt, &status, err)) {
        if (sqlite3_column_type(stmt, 0) != SQLITE_NULL)
            *value = sqlite3_column_int64(stmt, 0);
        db_done(stmt);
    }
    return status;
}

static enum status verdict(struct db *db, const char *answer, struct error *err)
{
    static const char reason[] = "error code"; /* SQLite's message contains this text and then "=N" or " N", where N is
                                                  the code of the failed read */
    if (answer == NULL)
        return error_memory(err, "the database");
    if (strcmp(answer, "ok") == 0)
        return STATUS_OK;
    log_line(db->log, LOG_LEVEL_ERROR, "check of the database: %s", answer);
    const char *found = strstr(answer, reason);
    int code = found != NULL ? (int)strtol(found + strlen(reason) + 1, NULL, 10) : SQLITE_CORRUPT;
    bool other =
        (code & 0xff) == SQLITE_IOERR || code == SQLITE_NOMEM; /* a read failed; the page itself may be undamaged */
    return db_fail(db, other ? code : SQLITE_CORRUPT, err);
}

/* Runs the check once. Its first row is "ok" if the table is sound; an empty answer counts as sound. */
static enum status check_once(struct db *db, const char *sql, struct error *err)
{
    sqlite3_stmt *stmt;
    enum status status = db_query(db, &stmt, err, sql, "");
    if (!status && db_row(db, stmt, &status, err)) {
        status = verdict(db, (const char *)sqlite3_column_text(stmt, 0), err);
        db_done(stmt);
    }
    return status;
}

enum status db_check(struct db *db, const char *sql, struct error *err)
{
    struct error first = {0};
    enum status status = check_once(db, sql, &first);
    if (status == STATUS_CORRUPT && !check_once(db, sql, NULL))
        return error_set(err, STATUS_IO, NULL,
                         "a first check of the database failed because of a read error or a lack of memory; the second "
                         "check found it sound");
    return status ? error_set(err, status, NULL, "%s", first.message) : STATUS_OK;
}

int64_t db_changes(const struct db *db)
{
    return sqlite3_changes64(db->handle);
}

const char *db_text(sqlite3_stmt *stmt, int column, struct arena *arena, bool *ok)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    if (text == NULL) {
        if (sqlite3_column_type(stmt, column) != SQLITE_NULL)
            *ok = false;
        return NULL;
    }
    const char *copy = arena_strdup(arena, text);
    if (copy == NULL)
        *ok = false;
    return copy;
}

bool db_copy(sqlite3_stmt *stmt, int column, char *out, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    (void)snprintf(out, size, "%s", text != NULL ? text : "");
    return text != NULL;
}

const void *db_blob(sqlite3_stmt *stmt, int column, size_t count)
{
    const void *bytes = sqlite3_column_blob(stmt, column);
    return (size_t)sqlite3_column_bytes(stmt, column) == count ? bytes : NULL;
}

double db_real(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(stmt, column);
}
