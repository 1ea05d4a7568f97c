/* The field `source` of methods that read tables: it names a data set, and a hash binds the job to its contents. */
#ifndef MOTIF_CORE_METHODS_SHARED_TABLE_SOURCE_H
#define MOTIF_CORE_METHODS_SHARED_TABLE_SOURCE_H

#include "core/base/config.h"
#include "core/base/error.h"
#include "core/data/dataset.h"

/* For resolve(): writes the hash of the data set `source` to `hash`. The hash is "" for a folder that the operator has
 * filled, because only uploads have one. data: folder of data sets. STATUS_NOT_FOUND (no such data set) and STATUS_IO
 * come with the field's pointer. If `source` is not a possible name, the function returns STATUS_OK, because the
 * method's check() reports that fault. */
enum status source_resolve(const char *source, const char *data, char hash[CONFIG_TEXT], struct error *err);

/* Finds the folder of the data set. STATUS_NOT_FOUND; STATUS_CONFLICT when another file was uploaded under the name
 * since `hash` was written. */
enum status source_folder(const char *source, const char *hash, const char *data, char folder[DATASET_PATH],
                          struct error *err);

#endif
