/* Copies a whole database into one file and checks the copy before it gets its final name: for backups while a daemon
 * is writing, and for restoring them. Uploaded data sets are files beside the database (dataset.h) and are not copied.
 */
#ifndef MOTIF_STORAGE_DATABASE_COPY_H
#define MOTIF_STORAGE_DATABASE_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/log.h"

struct storage_copy_report {
    int64_t bytes; /* size of the copy */
    int64_t jobs;
    int64_t checkpoints;    /* complete checkpoints; each digest was computed again and matches */
    char sha256[HASH_TEXT]; /* SHA-256 of the copied file, as hex */
};

struct storage_copy_options {
    const char *from;
    const char *to;  /* path of the copy; neither this file nor a log beside it may exist */
    bool to_be_used; /* the copy becomes a daemon's database, so no daemon may hold its lock now */
    struct log_hook log;
    /* Reports progress, `done` of `all`: first the copied pages, then the checked bytes of checkpoints. May be NULL. */
    void (*progress)(void *context, const char *what, int64_t done, int64_t all);
    void *context;
};

/* Copies everything that was committed when the call began, in one read transaction. The writer of `from` continues
 * meanwhile, and its log grows until the copy is complete. Then checks the whole copy: every page, every reference,
 * every checkpoint's digest. A backup gets a digest of all its rows, with which a restore (to_be_used) compares what it
 * reads. Only a copy without a fault is synced and gets its final name; after a failure, no file
 * remains.
 *
 * CONFLICT: `to` exists or is in use, or `from` belongs to another program or a newer version. CORRUPT: `from` is
 * damaged. Messages contain no path. All work happens on the caller's thread. */
enum status storage_copy(const struct storage_copy_options *options, struct storage_copy_report *report,
                         struct error *err);

#endif
