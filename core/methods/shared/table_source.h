/* The field `source` of methods that read tables: the name of a data set, and what binds a job to what it holds. */
#ifndef MOTIF_CORE_METHODS_SHARED_TABLE_SOURCE_H
#define MOTIF_CORE_METHODS_SHARED_TABLE_SOURCE_H

#include "core/base/config.h"
#include "core/base/error.h"
#include "core/data/dataset.h"

/* For resolve(): the hash of what was uploaded under that name; "" for a folder of the operator's, or none. STATUS_IO.
 */
enum status source_resolve(const char *source, const char *data, char hash[CONFIG_TEXT], struct error *err);

/* Its folder. STATUS_CONFLICT where another file was uploaded since `hash` was found out. */
enum status source_folder(const char *source, const char *hash, const char *data, char folder[DATASET_PATH],
                          struct error *err);

#endif
