/* Finds the data set of a table and checks that it is still the one that the job is bound to (table_source.h). */
#include "core/methods/shared/table_source.h"

#include <stdio.h>
#include <string.h>

enum status source_resolve(const char *source, const char *data, char hash[CONFIG_TEXT], struct error *err)
{
    char folder[DATASET_PATH], found[DATASET_HASH_KEPT + 1] = "";
    struct error cause = {0};
    enum status status = dataset_folder(data, source, folder, &cause);
    if (!status)
        status = dataset_hash(folder, found, &cause);
    snprintf(hash, CONFIG_TEXT, "%s", found);
    /* Any other error means that `source` is not a possible name. The method's check() reports that. */
    bool reported = status == STATUS_IO || status == STATUS_NOT_FOUND;
    return reported ? error_set(err, status, "/config/source", "%s", cause.message) : STATUS_OK;
}

enum status source_folder(const char *source, const char *hash, const char *data, char folder[DATASET_PATH],
                          struct error *err)
{
    char now[DATASET_HASH_KEPT + 1];
    enum status status = dataset_folder(data, source, folder, err);
    if (status || hash[0] == '\0')
        return status;
    status = dataset_hash(folder, now, err);
    if (status != STATUS_OK)
        return status;
    if (strcmp(now, hash) != 0)
        return error_set(err, STATUS_CONFLICT, "/config/dataset_hash",
                         "belongs to other data than data set %s holds now", source);
    return STATUS_OK;
}
