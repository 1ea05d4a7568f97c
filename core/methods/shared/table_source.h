/* The field `source` of methods that read tables: it names a data set, and a hash binds the job to its contents. */
#ifndef MOTIF_CORE_METHODS_SHARED_TABLE_SOURCE_H
#define MOTIF_CORE_METHODS_SHARED_TABLE_SOURCE_H

#include "core/base/config.h"
#include "core/base/error.h"
#include "core/data/dataset.h"

/* For resolve(): writes the hash of the uploaded data set `source` to `hash`, "" when there is none (a folder that the
 * operator filled has no hash). data: folder of data sets. STATUS_NOT_FOUND (no such data set) and STATUS_IO with the
 * field's pointer; a `source` that is not a name is STATUS_OK, because check() reports it. */
enum status source_resolve(const char *source, const char *data, char hash[CONFIG_TEXT], struct error *err);

/* Finds the folder of the data set. STATUS_NOT_FOUND; STATUS_CONFLICT when another file was uploaded under the name
 * since `hash` was written. */
enum status source_folder(const char *source, const char *hash, const char *data, char folder[DATASET_PATH],
                          struct error *err);

#endif
