/* Digests of the files of an uploaded data set. The file DATASET_DIGESTS in its folder lists the SHA-256 of every other
 * file, one line for each, as `sha256sum --check` reads it. Files of a data set never change after the upload. */
#ifndef MOTIF_STORAGE_FILES_DATASET_DIGEST_H
#define MOTIF_STORAGE_FILES_DATASET_DIGEST_H

#include <stdint.h>
#include <string.h>

#include "core/base/error.h"
#include "storage/database/verify.h"

#define DATASET_DIGESTS "digests"

/* Bytes that a file of this name adds to DATASET_DIGESTS. */
static inline int64_t dataset_digest_bytes(const char *file)
{
    return 64 + 2 + (int64_t)strlen(file) + 1;
}

/* Reads all files of a folder that dataset_stage() created, and writes their digests; syncs the file. */
enum status dataset_digests_write(const char *folder, struct error *err);

struct dataset_verify_report {
    int64_t sets, files, bytes, faults;
    int64_t without; /* data sets without DATASET_DIGESTS: an earlier version stored them, or the operator made them */
};

/* Reads every file of every data set below `root` and compares it with its digest. Reports changed, missing, unreadable
 * and additional files to the watch, and goes on. Changes nothing. NOT_FOUND: the folder does not exist; IO: it cannot
 * be read. */
enum status dataset_verify(const char *root, const struct storage_watch *watch, struct dataset_verify_report *report,
                           struct error *err);
/* The same for one data set; one that does not exist any more is sound. */
enum status dataset_verify_set(const char *root, const char *name, const struct storage_watch *watch,
                               struct dataset_verify_report *report, struct error *err);

#endif
