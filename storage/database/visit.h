/* Opens a database to read it from outside: for commands, while a daemon may use the file or no daemon runs.
 *
 * A visit never changes the database. SQLite makes two files beside a database with a write-ahead log, FILE-wal and
 * FILE-shm, also for a connection that only reads. The end of a visit removes them if they were not there before and no
 * daemon has the database open. If they cannot be made, as on a read-only disk, the file is read without them. */
#ifndef MOTIF_STORAGE_DATABASE_VISIT_H
#define MOTIF_STORAGE_DATABASE_VISIT_H

#include "storage/database/db.h"

struct visit {
    struct db db;
    char *log, *shared, *lock; /* paths of FILE-wal, FILE-shm and the lock of a daemon */
    bool had_log, had_shared;
};

/* Opens the file and begins a read transaction; the first read determines its snapshot. Call visit_close() also after a
 * failure. `hook` is borrowed until then. STATUS_NOT_FOUND: there is no file. */
enum status visit_open(struct visit *visit, const char *path, const struct log_hook *hook, struct error *err);
void visit_close(struct visit *visit); /* `visit` may be all zero */

#endif
