#include "core/data/dataset.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool dataset_name_good(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t length = strlen(name);
    return length > 0 && length < 64 && strchr("._-", name[0]) == NULL && strspn(name, allowed) == length;
}

enum status dataset_folder(const char *root, const char *name, char folder[DATASET_PATH], struct error *err)
{
    struct stat what;
    if (!dataset_name_good(name)) {
        return error_set(err, STATUS_INVALID, NULL, "no name of a data set: small letters, digits, '.', '-' and '_'");
    }
    int written = root != NULL ? snprintf(folder, DATASET_PATH, "%s/%s", root, name) : -1;
    if (written < 0 || written >= DATASET_PATH || stat(folder, &what) != 0 || !S_ISDIR(what.st_mode)) {
        return error_set(err, STATUS_NOT_FOUND, NULL, "there is no data set %s here", name);
    }
    return STATUS_OK;
}

void dataset_hash(const char *folder, char hash[DATASET_HASH_KEPT + 1])
{
    char path[DATASET_PATH + 16];
    snprintf(path, sizeof path, "%s/sha256", folder);
    FILE *file = fopen(path, "rbe");
    size_t got = file != NULL ? fread(hash, 1, DATASET_HASH_KEPT, file) : 0;
    hash[got] = '\0';
    if (file != NULL) {
        fclose(file);
    }
}
