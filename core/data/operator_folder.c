/* Finds a folder of the operator, or lists those that exist (operator_folder.h). */
#include "core/data/operator_folder.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN = 5, NAME = 64 };

/* The first names in the alphabet. */
struct names {
    char name[SHOWN][NAME];
    int count;
    bool more; /* there are names after these */
};

static void operator_folder_add(struct names *names, const char *name)
{
    int at = names->count;
    while (at > 0 && strcmp(names->name[at - 1], name) > 0)
        at--;
    names->more = names->more || names->count == SHOWN;
    if (at == SHOWN)
        return;
    int moved = names->count < SHOWN ? names->count++ - at : SHOWN - 1 - at;
    memmove(names->name[at + 1], names->name[at], (size_t)moved * NAME);
    snprintf(names->name[at], NAME, "%.63s", name);
}

static void operator_folder_find(const char *root, const char *const *files, struct names *names)
{
    DIR *folder = root ? opendir(root) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[DATASET_PATH];
        bool found = false;
        for (int i = 0; !found && files[i] && dataset_name_good(entry->d_name); i++)
            found = snprintf(path, sizeof path, "%s/%s/%s", root, entry->d_name, files[i]) < (int)sizeof path &&
                    access(path, F_OK) == 0;
        if (found)
            operator_folder_add(names, entry->d_name);
    }
    if (folder)
        (void)closedir(folder);
}

static enum status no_folder(const char *root, const char *name, const char *kind, const char *const *files,
                             struct error *err)
{
    struct names names = {.count = 0};
    char list[SHOWN * (NAME + 2)] = "";
    size_t used = 0;
    operator_folder_find(root, files, &names);
    for (int i = 0; i < names.count; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names.name[i]);
    if (names.count == 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "there is no %s %s; the operator of this server has set up no %s",
                         kind, name, kind);
    return error_set(err, STATUS_NOT_FOUND, NULL, "there is no %s %s; the %ss of this server: %.120s%s", kind, name,
                     kind, list, names.more || used > 120 ? ", ..." : "");
}

enum status operator_folder(const char *root, const char *name, const char *kind, const char *const *files,
                            char folder[DATASET_PATH], struct error *err)
{
    struct error cause = {0};
    enum status status = dataset_folder(root, name, folder, &cause);
    if (status == STATUS_NOT_FOUND)
        return no_folder(root, name, kind, files, err);
    return status ? error_set(err, status, NULL, "%s", cause.message) : STATUS_OK;
}
