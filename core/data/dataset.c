/* Finds the folder of a data set or of the operator by its name, and the hash of the upload that filled a data set. */
#include "core/data/dataset.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/options.h"

bool dataset_name_good(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-",
                      of_team[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t length = strlen(name), team = strcspn(name, ":");
    const char *within = team < length ? name + team + 1 : name;
    if (team < length && (team == 0 || name[0] == '-' || strspn(name, of_team) != team))
        return false;
    return within[0] != '\0' && length < 64 && strchr("._-", within[0]) == NULL &&
           strspn(within, allowed) == strlen(within);
}

/* Reports that a data set does not exist, and suggests the data set of the same team whose name is most similar, if
 * there is one. */
static enum status no_dataset(const char *root, const char *name, struct error *err)
{
    char best[64] = "";
    size_t distance = strlen(name) < 4 ? 2 : 4; /* a name is similar if it differs in fewer letters than this */
    size_t team = name[strcspn(name, ":")] == ':' ? strcspn(name, ":") + 1 : 0;
    DIR *folder = root != NULL ? opendir(root) : NULL;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (!dataset_name_good(entry->d_name) || (strchr(entry->d_name, ':') != NULL) != (team > 0) ||
            strncmp(entry->d_name, name, team) != 0)
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
    bool of_kind = false;
    char path[DATASET_PATH + 256];
    for (int i = 0; !status && !of_kind && files[i]; i++)
        of_kind = snprintf(path, sizeof path, "%s/%s", folder, files[i]) < (int)sizeof path && access(path, F_OK) == 0;
    if (status == STATUS_NOT_FOUND || (!status && !of_kind))
        return no_folder(root, name, kind, files, err);
    return status ? error_set(err, status, NULL, "%s", cause.message) : STATUS_OK;
}

void dataset_warn_of_range(const struct sink *out, const char *code, const char *subject, double low, double high,
                           double least, double most, const char *so)
{
    char text[240], range[64] = "";
    if (high > low)
        (void)snprintf(range, sizeof range, " to %g", high);
    (void)snprintf(text, sizeof text, "%s%s %g%s, but those of the training data are from %g to %g; %s", subject,
                   high > low ? " from" : "", low, range, least, most,
                   so ? so : "the model has seen nothing like this, so its answer means little");
    sink_begin_object(out, NULL);
    sink_text(out, "code", code);
    sink_text(out, "text", text);
    sink_end_object(out);
}
