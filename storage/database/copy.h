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
#include "storage/database/verify.h"

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
    struct storage_watch watch; /* learns of progress, and of every fault of a damaged copy */
};

/* Copies everything that was committed when the call began, in one read transaction. The writer of `from` continues
 * meanwhile, and its log grows until the copy is complete. Then verifies the whole copy as storage_verify() does. A
 * backup gets a digest of all its contents, with which a restore (to_be_used) compares what it reads. Only a copy
 * without a fault is synced and gets its final name; after a failure, no file remains.
 *
 * CONFLICT: `to` exists or is in use, or `from` belongs to another program or a newer version. CORRUPT: `from` is
 * damaged; the message names the first fault. Messages contain no path. All work happens on the caller's thread. */
enum status storage_copy(const struct storage_copy_options *options, struct storage_copy_report *report,
                         struct error *err);

#endif
