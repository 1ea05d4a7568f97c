/* One SQLite connection with its prepared statements, and the meaning of SQLite's error codes.
 *
 * Statements are cached by the address of their SQL text, so the text must be a literal. db_row() resets a statement
 * after its last row, because an open statement holds a read transaction, which keeps the write-ahead log from
 * restarting. Only one thread at a time may use a connection. */
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
    } statements[DB_STATEMENTS];
    int statement_count;
    const struct log_hook *log; /* borrowed until db_close() */
    int last_code;              /* SQLite's extended code of the last failure; SQLITE_OK if there was none */
    int64_t stamp;              /* time of the newest row; see db_stamp() */
    bool notices;               /* whether the end of a job adds a notice (outbox.c); only on the writing connection */
};

/* Opens a connection. `flags` are those of sqlite3_open_v2(); `vfs` may be NULL. `log` is borrowed. */
enum status db_open(struct db *db, const char *path, int flags, const char *vfs, const struct log_hook *log,
                    struct error *err);
void db_close(struct db *db); /* `db` may be all zero */

/* Translates an SQLite code into a status and a message without paths and SQL; logs the details. */
enum status db_fail(struct db *db, int code, struct error *err);

/* True for a failure after which the content of the disk is unknown. */
bool db_code_is_fatal(int code);

/* Runs statements that have no parameters and return no rows. They are not cached. */
enum status db_exec(struct db *db, const char *sql, struct error *err);

/* Prepares a statement and binds its parameters. `format` has one letter for each parameter:
 *     i int64_t    n int    d double (NaN is stored as NULL)    t const char * (NULL is SQL NULL)
 *     b const void *, size_t (a blob)
 * Then each db_row() call moves to the next row and returns true. It returns false at the end or after a failure;
 * *status is OK or the failure. A caller that stops before the end calls db_done(). */
enum status db_query(struct db *db, sqlite3_stmt **stmt, struct error *err, const char *sql, const char *format, ...);
bool db_row(struct db *db, sqlite3_stmt *stmt, enum status *status, struct error *err);
void db_done(sqlite3_stmt *stmt); /* Resets a statement of which not all rows were read; NULL is allowed */

/* Prepares a statement in advance, so that running it later needs no memory: for the end of a transaction. */
enum status db_keep(struct db *db, const char *sql, struct error *err);

/* Runs a statement and ignores its rows. */
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

/* Adds one row to a table. Columns that are not listed get their default. The statement is not cached. */
enum status db_insert(struct db *db, const char *table, const struct db_value *values, size_t count, struct error *err);

/* Reads the first column of the first row as an integer; `absent` if there is no row or the column is NULL. */
enum status db_integer(struct db *db, int64_t *value, int64_t absent, struct error *err, const char *sql,
                       const char *format, ...);

/* Runs PRAGMA quick_check or a similar statement, and logs what is wrong. CORRUPT: the table is damaged. IO: a page
 * could not be read. SQLite does not always distinguish the two, so the function reports damage only if it finds damage
 * twice. */
enum status db_check(struct db *db, const char *sql, struct error *err);

int64_t db_changes(const struct db *db); /* number of rows that the last statement changed */

/* Copies a text column into the arena; NULL for SQL NULL. Sets *ok to false if there is not enough memory. */
const char *db_text(sqlite3_stmt *stmt, int column, struct arena *arena, bool *ok);
double db_real(sqlite3_stmt *stmt, int column); /* NaN for SQL NULL */
/* Copies a text column into `out` and cuts it at `size` bytes. Returns false, with "" in `out`, for SQL NULL or
 * without memory. */
bool db_copy(sqlite3_stmt *stmt, int column, char *out, size_t size);
/* Returns a blob column of exactly `count` bytes, valid until the next row; NULL if it has another size. */
const void *db_blob(sqlite3_stmt *stmt, int column, size_t count);

#endif
