/* Finds the folder of a data set by its name, and the hash of the upload that filled it. */
#include "core/data/dataset.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/options.h"

bool dataset_name_good(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t length = strlen(name);
    return length > 0 && length < 64 && strchr("._-", name[0]) == NULL && strspn(name, allowed) == length;
}

/* Reports that a data set does not exist, and suggests the data set whose name is most similar, if there is one. */
static enum status no_dataset(const char *root, const char *name, struct error *err)
{
    char best[64] = "";
    size_t distance = strlen(name) < 4 ? 2 : 4; /* a name is similar if it differs in fewer letters than this */
    DIR *folder = root != NULL ? opendir(root) : NULL;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (!dataset_name_good(entry->d_name))
            continue;
        size_t d = options_distance(entry->d_name, name);
        bool prefix = strlen(name) >= 3 && strncmp(entry->d_name, name, strlen(name)) == 0;
        if (prefix && d > 3)
            d = 3;
        /* of two equally similar names, chooses the first in the alphabet, because readdir() returns the names in any
         * order */
        if (d < distance || (d == distance && best[0] != '\0' && strcmp(entry->d_name, best) < 0)) {
            distance = d;
            snprintf(best, sizeof best, "%.63s", entry->d_name);
        }
    }
    if (folder != NULL)
        (void)closedir(folder);
    return error_set(err, STATUS_NOT_FOUND, NULL, "there is no data set %s%s%s%s", name,
                     best[0] != '\0' ? "; did you mean '" : "; check its name", best, best[0] != '\0' ? "'?" : "");
}

enum status dataset_folder(const char *root, const char *name, char folder[DATASET_PATH], struct error *err)
{
    struct stat what;
    if (!dataset_name_good(name)) {
        return error_set(err, STATUS_INVALID, NULL,
                         "not a data set's name: allowed are small letters, digits, '.', '-' and '_', beginning with a "
                         "letter or a digit");
    }
    int written = root != NULL ? snprintf(folder, DATASET_PATH, "%s/%s", root, name) : -1;
    int code = written < 0 || written >= DATASET_PATH ? ENOENT
               : stat(folder, &what) != 0             ? errno
               : S_ISDIR(what.st_mode)                ? 0
                                                      : ENOTDIR;
    if (code == 0)
        return STATUS_OK;
    return status_unopened(code) == STATUS_NOT_FOUND
               ? no_dataset(root, name, err)
               : error_set(err, STATUS_IO, NULL,
                           "the folder of the data set %s cannot be examined; check its permissions", name);
}

enum status dataset_hash(const char *folder, char hash[DATASET_HASH_KEPT + 1], struct error *err)
{
    char path[DATASET_PATH + 16];
    snprintf(path, sizeof path, "%s/sha256", folder);
    FILE *file = fopen(path, "rbe");
    enum status status = file == NULL ? status_unopened(errno) : STATUS_OK;
    size_t got = file != NULL ? fread(hash, 1, DATASET_HASH_KEPT, file) : 0;
    if (file != NULL) {
        status = ferror(file) ? STATUS_IO : STATUS_OK;
        fclose(file);
    }
    hash[got] = '\0';
    return status == STATUS_IO ? error_set(err, STATUS_IO, NULL,
                                           "the record of a data set's upload cannot be read; check its permissions")
                               : STATUS_OK;
}
