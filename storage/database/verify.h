/* Finds damage in a database: reads all of it, changes nothing, and reports every fault with what is hurt and what the
 * operator can do. */
#ifndef MOTIF_STORAGE_DATABASE_VERIFY_H
#define MOTIF_STORAGE_DATABASE_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/log.h"

/* One fault. The texts are valid during the call that reports it, and may contain bytes of the damaged file, also
 * control characters. */
struct storage_fault {
    const char *where;  /* "checkpoint 3 of job 01J...", "table event", "the structure of the file" */
    const char *what;   /* "does not match its digest" */
    const char *remedy; /* "restore the last backup, or ..." */
};

/* Whom storage_verify() and storage_copy() tell about faults and progress. */
struct storage_watch {
    void (*fault)(void *context, const struct storage_fault *fault); /* may be NULL */
    /* `done` of `all`: of pages, rows or bytes; `what` names the phase, and its address identifies it. May be NULL. */
    void (*progress)(void *context, const char *what, int64_t done, int64_t all);
    void *context;
};

struct storage_verify_report {
    int64_t faults;
    int64_t jobs, rows, checkpoints;
    int64_t bytes;        /* size of the database */
    bool without_digests; /* the file is of a version that had no digests of rows (row_digest.h) */
};

/* Verifies a database file, in one read transaction, also while a daemon uses the file; its log grows until the call
 * returns. Checks: the schema against that of this program; every row against its digest, and every digest for its row;
 * the bytes of every checkpoint; every page and index; every reference between tables; in a copy, the digest of the
 * copy. The check goes on after a fault.
 *
 * STATUS_OK: everything was checked, and report->faults says what was found. A file whose first page is damaged has one
 * fault. Other statuses mean that the check could not be made: NOT_FOUND: no such file. CONFLICT: the file belongs to
 * another program or a newer version. NO_MEMORY, IO, UNAVAILABLE. Messages contain no path. */
enum status storage_verify(const char *path, const struct log_hook *log, const struct storage_watch *watch,
                           struct storage_verify_report *report, struct error *err);

#endif
