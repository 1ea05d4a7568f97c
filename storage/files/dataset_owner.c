/* Reads and changes the files that say whom a data set belongs to. */
#include "storage/files/dataset_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/descriptor.h"

const char *dataset_name_within(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon != NULL ? colon + 1 : name;
}

/* Reads a small file of a data set as text; "" if it does not exist. */
static enum status read_text(const char *root, const char *name, const char *file, char *text, size_t size,
                             struct error *err)
{
    char path[DATASET_FILES];
    text[0] = '\0';
    if (snprintf(path, sizeof path, "%s/%s/%s", root, name, file) >= (int)sizeof path)
        return STATUS_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : 0;
    bool known = fd >= 0 ? got >= 0 : status_unopened(errno) == STATUS_NOT_FOUND;
    descriptor_close(&fd);
    text[got > 0 ? got : 0] = '\0';
    return known ? STATUS_OK : error_set(err, STATUS_IO, NULL, "a file of a data set cannot be read");
}

enum status dataset_owner_read(const char *root, const char *name, struct dataset_owner *out, struct error *err)
{
    char text[16];
    enum dataset_kind kind;
    const char *colon = strchr(name, ':');
    *out = (struct dataset_owner){.visibility = VISIBILITY_EVERYONE};
    enum status status = dataset_find(root, name, &kind, err);
    if (!status && kind != DATASET_OURS)
        return error_set(err, STATUS_NOT_FOUND, NULL, "there is no data set %s", name);
    if (!status)
        status = read_text(root, name, DATASET_OWNER, out->owner, sizeof out->owner, err);
    if (!status)
        status = read_text(root, name, DATASET_VISIBILITY, text, sizeof text, err);
    if (status)
        return status;
    if (colon != NULL && colon - name < STORAGE_TEAM)
        memcpy(out->team, name, (size_t)(colon - name));
    if (text[0] != '\0' && !visibility_parse(text, &out->visibility))
        out->visibility = VISIBILITY_PRIVATE; /* a damaged file hides the data set rather than showing it */
    return STATUS_OK;
}

/* Writes a new file in the folder of uploads and syncs it. Returns false after a failure, with the file removed. */
static bool write_new(char *path, const char *text)
{
    int fd = mkostemp(path, O_CLOEXEC);
    size_t bytes = strlen(text);
    bool written = fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes && fsync(fd) == 0;
    if (fd >= 0 && !written)
        (void)unlink(path);
    descriptor_close(&fd);
    return written;
}

static bool sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    descriptor_close(&fd);
    return good;
}

enum status dataset_visibility_set(const char *root, const char *name, enum visibility visibility, struct error *err)
{
    char made[DATASET_FILES], path[DATASET_FILES], folder[DATASET_FILES];
    enum dataset_kind kind;
    enum status status = dataset_find(root, name, &kind, err);
    if (!status && kind != DATASET_OURS)
        return error_set(err, STATUS_NOT_FOUND, NULL, "there is no data set %s", name);
    if (status)
        return status;
    bool fits = snprintf(made, sizeof made, "%s/.uploads/shared-XXXXXX", root) < (int)sizeof made &&
                snprintf(folder, sizeof folder, "%s/%s", root, name) < (int)sizeof folder &&
                snprintf(path, sizeof path, "%s/%s/" DATASET_VISIBILITY, root, name) < (int)sizeof path;
    if (!fits || !write_new(made, visibility_name(visibility)))
        return error_set(err, STATUS_IO, NULL, "a data set cannot be written: the disk may be full");
    if (rename(made, path) != 0) {
        int code = errno;
        (void)unlink(made);
        return code == ENOENT ? error_set(err, STATUS_NOT_FOUND, NULL, "another request has deleted the data set")
                              : error_set(err, STATUS_IO, NULL, "a data set cannot be written");
    }
    return sync_folder(folder) ? STATUS_OK : error_set(err, STATUS_IO, NULL, "a data set cannot be synced");
}
