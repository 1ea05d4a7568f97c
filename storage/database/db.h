/* One SQLite connection with its prepared statements, and what SQLite's error codes mean here.
 *
 * Statements are kept by the address of their SQL text, which therefore must be a literal. A
 * statement is reset as soon as its last row was taken (db_row() does it), because a statement left
 * open would hold a read transaction and with it the WAL. Thread rule: one thread at a time. */
#ifndef MOTIF_STORAGE_DATABASE_DB_H
#define MOTIF_STORAGE_DATABASE_DB_H

#include <stdbool.h>
#include <stdint.h>
#include <sqlite3.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/log.h"

#define DB_STATEMENTS 128

struct db {
    sqlite3 *handle;
    struct {
        const char *sql;
        sqlite3_stmt *stmt;
    } kept[DB_STATEMENTS];
    int kept_count;
    const struct log_hook *log; /* borrowed */
    int last_code;              /* extended code of the last failure; SQLITE_OK: none */
    int64_t stamp;              /* see db_stamp() */
};

/* `flags` as of sqlite3_open_v2; vfs may be NULL. */
enum status db_open(struct db *db, const char *path, int flags, const char *vfs, const struct log_hook *log,
                    struct error *err);
void db_close(struct db *db); /* an all-zero db is fine */

/* Turns an SQLite code into a status and a message that tells no path and no SQL (the log gets the rest). */
enum status db_fail(struct db *db, int code, struct error *err);

/* A failure after which nobody knows what is on disk. */
bool db_code_is_fatal(int code);

/* Statements that give no rows and need no parameters; not kept. */
enum status db_exec(struct db *db, const char *sql, struct error *err);

/* Parameters are given by a format, a letter each:
 *   i int64_t    n int    d double (NaN is stored as NULL)    t const char * (NULL is NULL)
 *   b const void *, size_t (a blob)
 * db_query() prepares and binds; then db_row() gives row after row: true at a row, false at the end
 * or at a failure, which *status tells. A caller that stops early calls db_done(). */
enum status db_query(struct db *db, sqlite3_stmt **stmt, struct error *err, const char *sql, const char *format, ...);
bool db_row(struct db *db, sqlite3_stmt *stmt, enum status *status, struct error *err);
void db_done(sqlite3_stmt *stmt); /* NULL is fine */

/* Prepares now what must not fail later for want of memory: the end of a transaction. */
enum status db_keep(struct db *db, const char *sql, struct error *err);

/* A statement whose rows, if any, do not matter. */
enum status db_run(struct db *db, struct error *err, const char *sql, const char *format, ...);

/* A column with its value, for db_insert(). */
struct db_value {
    const char *column;
    const char *text; /* used if is_text; NULL is SQL NULL */
    int64_t integer;
    bool is_text;
};
#define DB_TEXT(name, value)                                                                                           \
    {                                                                                                                  \
        .column = (name), .text = (value), .is_text = true                                                             \
    }
#define DB_INTEGER(name, value)                                                                                        \
    {                                                                                                                  \
        .column = (name), .integer = (int64_t)(value)                                                                  \
    }

/* Adds one row to a table. Columns that are not listed get their default. The statement is not kept. */
enum status db_insert(struct db *db, const char *table, const struct db_value *values, size_t count, struct error *err);

/* The first column of the first row as an integer; `absent` when there is no row or it is NULL. */
enum status db_integer(struct db *db, int64_t *value, int64_t absent, struct error *err, const char *sql,
                       const char *format, ...);

/* PRAGMA quick_check and its like. What is wrong goes to the log. Damage is CORRUPT, a page that could not be read IO:
 * SQLite does not always tell which it was, so damage must be found twice. */
enum status db_check(struct db *db, const char *sql, struct error *err);

int64_t db_changes(const struct db *db); /* rows changed by the last statement */

/* A text column as a copy in the arena; NULL for SQL NULL. *ok becomes false without memory. */
const char *db_text(sqlite3_stmt *stmt, int column, struct arena *arena, bool *ok);
double db_real(sqlite3_stmt *stmt, int column); /* NaN for SQL NULL */
/* A text column into `out`, cut where it is longer. False for SQL NULL, and where there is no memory: "" then. */
bool db_copy(sqlite3_stmt *stmt, int column, char *out, size_t room);
/* A column that must be a blob of `count` bytes, until the next row; NULL where it is not. */
const void *db_blob(sqlite3_stmt *stmt, int column, size_t count);

#endif
