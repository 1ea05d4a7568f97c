/* Counts calls of SQLite and lets them fail (fault_sqlite.h). The linker redirects the program's calls to this file
 * (--wrap). */
#include "tests/support/fault_sqlite.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sqlite3.h>

#include "tests/support/fault_count.h"

static struct fault_count places = FAULT_COUNT;
static atomic_int answer;
static atomic_bool watching;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects `before` */
static struct {
    const char *text;
    void (*run)(void *context);
    void *context;
} before;
static _Thread_local bool inside;

void fault_sqlite_after(int left, int code, bool forever)
{
    atomic_store(&answer, code);
    fault_count_arm(&places, left, forever);
}

void fault_sqlite_spare_others(bool spare)
{
    atomic_store(&places.others_spared, spare);
}

bool fault_sqlite_happened(void)
{
    return fault_count_stop(&places);
}

void fault_sqlite_before(const char *text, void (*run)(void *context), void *context)
{
    pthread_mutex_lock(&lock);
    before.text = text;
    before.run = run;
    before.context = context;
    pthread_mutex_unlock(&lock);
    atomic_store(&watching, text != NULL);
}

static bool fails(int *code)
{
    *code = atomic_load(&answer);
    return fault_count_down(&places);
}

static void look(sqlite3_stmt *stmt)
{
    if (!atomic_load(&watching) || inside)
        return;
    pthread_mutex_lock(&lock);
    const char *sql = sqlite3_sql(stmt);
    bool it_is = before.text != NULL && sql != NULL && strstr(sql, before.text) != NULL;
    void (*run)(void *) = before.run;
    void *context = before.context;
    pthread_mutex_unlock(&lock);
    if (it_is) {
        inside = true;
        run(context);
        inside = false;
    }
}

/* Defines the wrapper of a function that returns a result code: CALL(name, parameters, arguments). */
#define CALL(call, parameters, arguments)                                                                              \
    int __real_##call parameters;                                                                                      \
    int __wrap_##call parameters;                                                                                      \
    int __wrap_##call parameters                                                                                       \
    {                                                                                                                  \
        int code;                                                                                                      \
        return fails(&code) ? code : __real_##call arguments;                                                          \
    }

CALL(sqlite3_prepare_v3,
     (sqlite3 * db, const char *sql, int bytes, unsigned flags, sqlite3_stmt **stmt, const char **tail),
     (db, sql, bytes, flags, stmt, tail))
CALL(sqlite3_exec,
     (sqlite3 * db, const char *sql, int (*row)(void *, int, char **, char **), void *context, char **message),
     (db, sql, row, context, message))
CALL(sqlite3_bind_int, (sqlite3_stmt * stmt, int at, int value), (stmt, at, value))
CALL(sqlite3_bind_int64, (sqlite3_stmt * stmt, int at, sqlite3_int64 value), (stmt, at, value))
CALL(sqlite3_bind_double, (sqlite3_stmt * stmt, int at, double value), (stmt, at, value))
CALL(sqlite3_bind_text, (sqlite3_stmt * stmt, int at, const char *text, int bytes, void (*done)(void *)),
     (stmt, at, text, bytes, done))
CALL(sqlite3_bind_blob64, (sqlite3_stmt * stmt, int at, const void *blob, sqlite3_uint64 bytes, void (*done)(void *)),
     (stmt, at, blob, bytes, done))
CALL(sqlite3_backup_step, (sqlite3_backup * backup, int pages), (backup, pages))
CALL(sqlite3_blob_open,
     (sqlite3 * db, const char *file, const char *table, const char *column, sqlite3_int64 row, int flags,
      sqlite3_blob **out),
     (db, file, table, column, row, flags, out))
CALL(sqlite3_blob_reopen, (sqlite3_blob * blob, sqlite3_int64 row), (blob, row))
CALL(sqlite3_blob_read, (sqlite3_blob * blob, void *to, int bytes, int offset), (blob, to, bytes, offset))

int __real_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_step(sqlite3_stmt *stmt)
{
    int code;
    look(stmt);
    return fails(&code) ? code : __real_sqlite3_step(stmt);
}

int __real_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs)
{
    int code;
    *db = NULL; /* as sqlite3_open_v2() does without memory */
    return fails(&code) ? code : __real_sqlite3_open_v2(path, db, flags, vfs);
}

const unsigned char *__real_sqlite3_column_text(sqlite3_stmt *stmt, int column);
const unsigned char *__wrap_sqlite3_column_text(sqlite3_stmt *stmt, int column);
const unsigned char *__wrap_sqlite3_column_text(sqlite3_stmt *stmt, int column)
{
    int code;
    return fails(&code) ? NULL : __real_sqlite3_column_text(stmt, column);
}

char *__wrap_sqlite3_mprintf(const char *format, ...);
char *__wrap_sqlite3_mprintf(const char *format, ...)
{
    int code;
    va_list args;
    va_start(args, format);
    char *text = fails(&code) ? NULL : sqlite3_vmprintf(format, args);
    va_end(args);
    return text;
}
