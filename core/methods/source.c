#include "core/methods/source.h"

#include <stdio.h>
#include <string.h>

void source_resolve(const char *source, const char *data, char hash[CONFIG_TEXT])
{
    char folder[DATASET_PATH], found[DATASET_HASH_KEPT + 1] = "";
    if (dataset_folder(data, source, folder, NULL) == STATUS_OK)
        dataset_hash(folder, found);
    snprintf(hash, CONFIG_TEXT, "%s", found);
}

enum status source_folder(const char *source, const char *hash, const char *data, char folder[DATASET_PATH],
                          struct error *err)
{
    char now[DATASET_HASH_KEPT + 1];
    enum status status = dataset_folder(data, source, folder, err);
    if (status || hash[0] == '\0')
        return status;
    dataset_hash(folder, now);
    return strcmp(now, hash) == 0 ? STATUS_OK
                                  : error_set(err, STATUS_CONFLICT, "/config/dataset_hash",
                                              "is of another data set than %s is now", source);
}
