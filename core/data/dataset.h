/* Data sets are folders under one folder that the operator names; a job says only which by name. A name is never a
 * path: small letters, digits, '.', '-' and '_', beginning with a letter or a digit. */
#ifndef MOTIF_CORE_DATA_DATASET_H
#define MOTIF_CORE_DATA_DATASET_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

#define DATASET_PATH 4096

bool dataset_name_good(const char *name);

/* The folder of a data set that is there. root: of all data sets, NULL when there is none. STATUS_INVALID for a name
 * that is none, STATUS_NOT_FOUND when there is no such data set, STATUS_IO when that cannot be seen; `err->pointer` is
 * left to the caller. */
enum status dataset_folder(const char *root, const char *name, char folder[DATASET_PATH], struct error *err);

/* The beginning of the SHA-256 of the file that was uploaded into it: what jobs are bound to. "" for another folder.
 * STATUS_IO. */
enum { DATASET_HASH_KEPT = 40 };
enum status dataset_hash(const char *folder, char hash[DATASET_HASH_KEPT + 1], struct error *err);

#endif
