/* A whole copy of a store as one file that is checked before it gets its name: for backups, while a daemon writes the
 * original, and for putting one back. Uploaded data sets are files beside the database (dataset.h) and not part of it.
 */
#ifndef MOTIF_STORAGE_DATABASE_COPY_H
#define MOTIF_STORAGE_DATABASE_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/log.h"

struct storage_copy_report {
    int64_t bytes; /* of the copy */
    int64_t jobs;
    int64_t checkpoints;    /* complete ones; the digest of each was computed anew and found right */
    char sha256[HASH_TEXT]; /* of the file */
};

struct storage_copy_options {
    const char *from;
    const char *to;  /* must not exist, nor its log */
    bool to_be_used; /* the copy is to be a daemon's database: no daemon may hold that name now */
    struct log_hook log;
    /* Pages copied, then bytes of checkpoints checked: `done` of `all`. May be NULL. */
    void (*progress)(void *context, const char *what, int64_t done, int64_t all);
    void *context;
};

/* Copies what was committed when the call began, in one read transaction: the writer of `from` is not stopped, its log
 * grows until the copy is made. Then looks at all of the copy: every page, every reference, every checkpoint's digest.
 * Only a copy without a fault is synced and given its name; after a failure nothing is left of it.
 *
 * CONFLICT: `to` is there already, or in use, or `from` is another program's or a newer version's; CORRUPT: a fault in
 * `from`; IO; NO_MEMORY. Messages name no path. The caller's thread does all the work. */
enum status storage_copy(const struct storage_copy_options *options, struct storage_copy_report *report,
                         struct error *err);

#endif
