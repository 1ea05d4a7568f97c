/* Stores uploaded data sets as folders, so that a crash at any time leaves either no data set or a complete one. */
#include "storage/files/dataset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/descriptor.h"
#include "core/base/hash.h"

#define UPLOADS ".uploads"
enum { KEEP_SECONDS = 24 * 3600 };

static enum status path_of(char out[DATASET_FILES], const char *root, const char *name, const char *file,
                           struct error *err)
{
    int bytes = root ? snprintf(out, DATASET_FILES, "%s/%s%s%s", root, name, file[0] ? "/" : "", file) : -1;
    return bytes > 0 && bytes < DATASET_FILES
               ? STATUS_OK
               : error_set(err, STATUS_NOT_FOUND, NULL, "the folder of data sets does not exist");
}

/* Removes a folder that contains plain files only. */
static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    (void)rmdir(folder);
}

/* ---- names of parts: HASH for an upload without an owner, HASH.TAG for one with an owner ---------------------- */

#define TAG ((size_t)17) /* bytes of the owner's hash in a part's name: a dot and 16 hexadecimal digits */
enum { PART_NAME = DATASET_HASH + 17 };

static void write_tag(const char *owner, char out[TAG + 1])
{
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    hash_bytes(owner, strlen(owner), digest);
    hash_hex(digest, hex);
    (void)snprintf(out, TAG + 1, ".%.16s", hex);
}

static void write_part_name(const char *owner, const char *hash, char out[PART_NAME])
{
    char tag[TAG + 1] = "";
    if (owner && owner[0])
        write_tag(owner, tag);
    (void)snprintf(out, PART_NAME, "%.64s%s", hash, tag);
}

static bool is_part(const char *name)
{
    size_t hash = strspn(name, "0123456789abcdef"), bytes = strlen(name);
    bool tagged =
        bytes == DATASET_HASH - 1 + TAG && name[hash] == '.' && strspn(name + hash + 1, "0123456789abcdef") == TAG - 1;
    return hash == DATASET_HASH - 1 && (bytes == hash || tagged);
}

/* Removes a part (the bytes of an unfinished upload), unless an upload is writing the part and so holds its lock. */
static void remove_unlocked(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlink(path);
    descriptor_close(&fd);
}

static void sweep(const char *root, bool starting)
{
    char path[DATASET_FILES], inner[DATASET_FILES];
    struct stat what;
    if (path_of(path, root, UPLOADS, "", NULL))
        return;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || path_of(inner, path, entry->d_name, "", NULL) || lstat(inner, &what) != 0)
            continue;
        /* the time of a part is in the future if somebody set the clock back; such a part counts as old, too */
        bool old = is_part(entry->d_name) && llabs((long long)(time(NULL) - what.st_mtime)) > KEEP_SECONDS;
        if (S_ISREG(what.st_mode) && old)
            remove_unlocked(inner);
        else if (starting && S_ISDIR(what.st_mode))
            remove_folder(inner);
        else if (starting && !is_part(entry->d_name))
            (void)unlink(inner);
    }
    if (dir)
        closedir(dir);
}

enum status dataset_root_make(const char *root, struct error *err)
{
    if (root != NULL && mkdir(root, 0700) != 0 && errno == ENOENT)
        return error_set(err, STATUS_IO, NULL,
                         "%.300s: the folder in which the data sets' folder should be does not exist: make it, or name "
                         "another with --data",
                         root);
    return STATUS_OK;
}

void dataset_sweep(const char *root)
{
    sweep(root, true);
}

void dataset_sweep_parts(const char *root)
{
    sweep(root, false);
}

static enum status unread(struct error *err)
{
    return error_set(err, STATUS_IO, NULL, "the folder of data sets cannot be read");
}

/* Returns the next name in a folder that is not hidden; NULL at the end, or after a failure that *status reports. */
static const char *next_name(DIR *dir, enum status *status, struct error *err)
{
    struct dirent *entry;
    do {
        errno = 0;
        entry = readdir(dir);
    } while (entry && entry->d_name[0] == '.');
    if (!entry && errno != 0)
        *status = unread(err);
    return entry ? entry->d_name : NULL;
}

enum status dataset_find(const char *root, const char *name, enum dataset_kind *kind, struct error *err)
{
    char path[DATASET_FILES];
    struct stat what;
    *kind = DATASET_NONE;
    if (path_of(path, root, name, "about.json", NULL))
        return STATUS_OK; /* there is no folder of data sets, or the path is too long */
    if (stat(path, &what) == 0) {
        *kind = DATASET_OURS;
        return STATUS_OK;
    }
    if (errno != EACCES &&
        status_unopened(errno) == STATUS_IO) /* a folder that we may not read, such as lost+found, is not an upload */
        return unread(err);
    *strrchr(path, '/') = '\0';
    if (lstat(path, &what) == 0)
        *kind = DATASET_FOREIGN;
    else if (status_unopened(errno) == STATUS_IO)
        return unread(err);
    return STATUS_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sets *yes to whether a folder belongs into a list: the list of uploads if `files` is NULL, else the list of
 * dataset_list_holding(). */
static enum status files_dataset_listed(const char *root, const char *name, const char *const *files, bool *yes,
                                        struct error *err)
{
    char path[DATASET_FILES];
    enum dataset_kind kind;
    enum status status = dataset_find(root, name, &kind, err);
    *yes = !status && kind == (files ? DATASET_FOREIGN : DATASET_OURS);
    if (!*yes || !files)
        return status;
    for (*yes = false; !*yes && *files; files++)
        *yes = !path_of(path, root, name, *files, NULL) && access(path, R_OK) == 0;
    return STATUS_OK;
}

static enum status files_dataset_list(const char *root, const char *const *files, struct arena *arena,
                                      const char ***names, size_t *count, struct error *err)
{
    size_t capacity = 0;
    bool yes;
    enum status status = STATUS_OK;
    DIR *dir = root ? opendir(root) : NULL;
    *names = NULL;
    *count = 0;
    if (root && !dir && status_unopened(errno) == STATUS_IO)
        return unread(err);
    for (const char *name; !status && dir && (name = next_name(dir, &status, err));) {
        if (strlen(name) >= DATASET_NAME || (status = files_dataset_listed(root, name, files, &yes, err)) || !yes)
            continue;
        if (*count == capacity) {
            const char **larger = arena_alloc(arena, (capacity = capacity ? 2 * capacity : 64) * sizeof *larger);
            if (larger && *count > 0)
                memcpy(larger, *names, *count * sizeof *larger);
            *names = larger;
        }
        if (!*names || !((*names)[*count] = arena_strdup(arena, name)))
            status = error_memory(err, "the list of data sets");
        else
            ++*count;
    }
    if (dir)
        closedir(dir);
    if (!status && *count > 0)
        qsort(*names, *count, sizeof **names, by_name);
    return status;
}

enum status dataset_list(const char *root, struct arena *arena, const char ***names, size_t *count, struct error *err)
{
    return files_dataset_list(root, NULL, arena, names, count, err);
}

enum status dataset_list_holding(const char *root, const char *const *files, struct arena *arena, const char ***names,
                                 size_t *count, struct error *err)
{
    return files_dataset_list(root, files, arena, names, count, err);
}

enum status dataset_read(const char *root, const char *name, const char *file, struct arena *arena, const char **bytes,
                         size_t *size, struct error *err)
{
    char path[DATASET_FILES];
    struct stat what;
    enum status status = path_of(path, root, name, file, err);
    int fd = status ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0 ? fstat(fd, &what) == 0 : status || status_unopened(errno) == STATUS_NOT_FOUND;
    if (fd < 0 || !known || !S_ISREG(what.st_mode)) {
        descriptor_close(&fd);
        return known ? error_set(err, STATUS_NOT_FOUND, NULL, "there is no data set %s", name)
                     : error_set(err, STATUS_IO, NULL, "a file of a data set cannot be read");
    }
    *size = (size_t)what.st_size;
    char *to = arena_alloc(arena, *size + 1);
    ssize_t got = to ? read(fd, to, *size) : 0;
    descriptor_close(&fd);
    if (!to)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a file of a data set");
    if (got != (ssize_t)*size)
        return error_set(err, STATUS_IO, NULL, "a file of a data set cannot be read");
    to[*size] = '\0';
    *bytes = to;
    return STATUS_OK;
}

/* Adds the size of a data set to *bytes if the data set belongs to `owner` (NULL: to anybody). Adds nothing if the data
 * set is deleted meanwhile. */
static enum status folder_bytes(const char *path, const char *owner, int64_t *bytes, struct error *err)
{
    char text[256];
    struct stat what;
    enum status status = STATUS_OK;
    DIR *folder = opendir(path);
    if (!folder)
        return status_unopened(errno) == STATUS_NOT_FOUND ? STATUS_OK : unread(err);
    int fd = owner ? openat(dirfd(folder), DATASET_OWNER, O_RDONLY | O_CLOEXEC) : -1;
    bool owned = fd >= 0, known = !owner || owned || status_unopened(errno) == STATUS_NOT_FOUND;
    ssize_t got = owned ? read(fd, text, sizeof text) : 0;
    descriptor_close(&fd);
    if (!known || got < 0)
        status = unread(err);
    bool counts = !owner || (owned && got == (ssize_t)strlen(owner) && memcmp(text, owner, (size_t)got) == 0);
    for (const char *name; !status && counts && (name = next_name(folder, &status, err));)
        if (fstatat(dirfd(folder), name, &what, AT_SYMLINK_NOFOLLOW) == 0)
            *bytes += S_ISREG(what.st_mode) ? what.st_size : 0;
        else if (status_unopened(errno) == STATUS_IO)
            status = unread(err);
    closedir(folder);
    return status;
}

/* Adds the bytes of the unfinished uploads (parts) of one owner, or of all unfinished uploads if `owner` is NULL. */
static enum status part_bytes(const char *root, const char *owner, int64_t *bytes, struct error *err)
{
    char path[DATASET_FILES], tag[TAG + 1] = "";
    struct stat what;
    enum status status = STATUS_OK;
    if (path_of(path, root, UPLOADS, "", NULL))
        return STATUS_OK; /* there is no folder of data sets */
    if (owner)
        write_tag(owner, tag);
    DIR *dir = opendir(path);
    if (!dir)
        return status_unopened(errno) == STATUS_IO ? unread(err) : STATUS_OK;
    for (const char *name; !status && (name = next_name(dir, &status, err));) {
        if (!is_part(name) || (owner && strcmp(name + strlen(name) - TAG, tag) != 0))
            continue;
        if (fstatat(dirfd(dir), name, &what, AT_SYMLINK_NOFOLLOW) == 0)
            *bytes += S_ISREG(what.st_mode) ? what.st_size : 0;
        else if (status_unopened(errno) == STATUS_IO)
            status = unread(err);
    }
    closedir(dir);
    return status;
}

enum status dataset_size(const char *root, const char *name, int64_t *bytes, struct error *err)
{
    char path[DATASET_FILES];
    enum status status = path_of(path, root, name, "", err);
    return status ? status : folder_bytes(path, NULL, bytes, err);
}

enum status dataset_bytes(const char *root, const char *owner, int64_t *bytes, struct error *err)
{
    char path[DATASET_FILES];
    enum status status = STATUS_OK;
    enum dataset_kind kind;
    DIR *dir = root ? opendir(root) : NULL;
    *bytes = 0;
    if (root && !dir && status_unopened(errno) == STATUS_IO)
        return unread(err);
    for (const char *name; !status && dir && (name = next_name(dir, &status, err));) {
        status = dataset_find(root, name, &kind, err);
        if (!status && kind == DATASET_OURS && !path_of(path, root, name, "", err))
            status = folder_bytes(path, owner, bytes, err);
    }
    if (dir)
        closedir(dir);
    return status ? status : part_bytes(root, owner, bytes, err);
}

enum status dataset_team_bytes(const char *root, const char *team, int64_t *bytes, struct error *err)
{
    const size_t length = strlen(team);
    enum status status = STATUS_OK;
    enum dataset_kind kind;
    DIR *dir = root ? opendir(root) : NULL;
    *bytes = 0;
    if (root && !dir && status_unopened(errno) == STATUS_IO)
        return unread(err);
    for (const char *name; !status && dir && (name = next_name(dir, &status, err));) {
        const char *colon = strchr(name, ':');
        const size_t of = colon ? (size_t)(colon - name) : 0;
        if (of != length || strncmp(name, team, of) != 0)
            continue;
        status = dataset_find(root, name, &kind, err);
        if (!status && kind == DATASET_OURS)
            status = dataset_size(root, name, bytes, err);
        if (status == STATUS_NOT_FOUND) { /* deleted meanwhile */
            error_clear(err);
            status = STATUS_OK;
        }
    }
    if (dir)
        closedir(dir);
    return status;
}

static bool sync_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    descriptor_close(&fd);
    return good;
}

/* Creates ROOT and ROOT/.uploads. */
static enum status make_folders(const char *root, char uploads[DATASET_FILES], struct error *err)
{
    enum status status = path_of(uploads, root, UPLOADS, "", err);
    if (status)
        return status;
    if ((mkdir(root, 0700) != 0 && errno != EEXIST) || (mkdir(uploads, 0700) != 0 && errno != EEXIST))
        return error_set(err, STATUS_IO, NULL, "the folder of data sets cannot be written");
    return STATUS_OK;
}

/* ---- parts ------------------------------------------------------------------------------------------------- */

enum status dataset_part_open(const char *root, const char *owner, const char *hash, int *file, int64_t *bytes,
                              struct error *err)
{
    *file = -1;
    char uploads[DATASET_FILES], path[DATASET_FILES], name[PART_NAME] = "part-XXXXXX";
    struct stat what;
    if (hash)
        write_part_name(owner, hash, name);
    enum status status = make_folders(root, uploads, err);
    if (status)
        return status;
    status = path_of(path, uploads, name, "", err);
    if (status)
        return status;
    *file = hash ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : mkostemp(path, O_CLOEXEC);
    if (*file >= 0 && !hash)
        (void)unlink(path);
    if (*file < 0)
        return error_set(err, STATUS_IO, NULL, "the folder of data sets cannot be written");
    if (flock(*file, LOCK_EX | LOCK_NB) != 0)
        status = errno == EWOULDBLOCK
                     ? error_set(err, STATUS_CONFLICT, NULL, "another upload of the same bytes is in progress")
                     : error_set(err, STATUS_IO, NULL, "a part of an upload cannot be locked");
    else if (fstat(*file, &what) != 0)
        status = error_set(err, STATUS_IO, NULL, "a part of an upload cannot be read");
    else
        *bytes = what.st_size;
    if (status)
        descriptor_close(file);
    return status;
}

void dataset_part_close(int *file)
{
    descriptor_close(file);
}

static bool part_path(const char *root, const char *owner, const char *hash, char path[DATASET_FILES])
{
    char uploads[DATASET_FILES], name[PART_NAME];
    write_part_name(owner, hash, name);
    return !path_of(uploads, root, UPLOADS, "", NULL) && !path_of(path, uploads, name, "", NULL);
}

void dataset_part_remove(const char *root, const char *owner, const char *hash)
{
    char path[DATASET_FILES];
    if (hash && part_path(root, owner, hash, path))
        (void)unlink(path);
}

enum status dataset_part_bytes(const char *root, const char *owner, const char *hash, int64_t *bytes, struct error *err)
{
    char path[DATASET_FILES];
    struct stat what;
    bool named = part_path(root, owner, hash, path);
    *bytes = -1;
    if (named && stat(path, &what) == 0)
        *bytes = what.st_size;
    else if (named && status_unopened(errno) == STATUS_IO)
        return unread(err);
    return STATUS_OK;
}

/* ---- folders ----------------------------------------------------------------------------------------------- */

enum status dataset_stage(const char *root, char folder[DATASET_FILES], struct error *err)
{
    char uploads[DATASET_FILES];
    enum status status = make_folders(root, uploads, err);
    if (status)
        return status;
    status = path_of(folder, uploads, "stage-XXXXXX", "", err);
    if (status)
        return status;
    if (!mkdtemp(folder))
        return error_set(err, STATUS_IO, NULL, "the folder of data sets cannot be written");
    return STATUS_OK;
}

void dataset_abandon(const char *folder)
{
    remove_folder(folder);
}

enum status dataset_create(const char *folder, const char *file, FILE **out, struct error *err)
{
    char path[DATASET_FILES];
    enum status status = path_of(path, folder, file, "", err);
    *out = status ? NULL : fopen(path, "wxe");
    return status || *out ? status : error_set(err, STATUS_IO, NULL, "a data set cannot be written");
}

enum status dataset_close_file(FILE *file, enum status status, struct error *err)
{
    bool good = fflush(file) == 0 && fsync(fileno(file)) == 0;
    good = fclose(file) == 0 && good;
    return status || good ? status
                          : error_set(err, STATUS_IO, NULL, "a data set cannot be written: the disk may be full");
}

enum status dataset_write(const char *folder, const char *file, const void *bytes, size_t size, struct error *err)
{
    FILE *to;
    enum status status = dataset_create(folder, file, &to, err);
    if (status)
        return status;
    if (fwrite(bytes, 1, size, to) != size)
        status = error_set(err, STATUS_IO, NULL, "a data set cannot be written: the disk may be full");
    return dataset_close_file(to, status, err);
}

/* Renames a folder to a name that must be free, and syncs both parent folders; renames it back if that fails. */
static enum status files_dataset_move(const char *root, const char *from, const char *to, struct error *err)
{
    char uploads[DATASET_FILES];
    enum status status = path_of(uploads, root, UPLOADS, "", err);
    if (status)
        return status;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) != 0)
        return errno == EEXIST   ? error_set(err, STATUS_CONFLICT, NULL, "the name is in use")
               : errno == ENOENT ? error_set(err, STATUS_NOT_FOUND, NULL, "another request has deleted the data set")
                                 : error_set(err, STATUS_IO, NULL, "a data set cannot be moved");
    if (sync_path(root) && sync_path(uploads))
        return STATUS_OK;
    (void)rename(to, from);
    return error_set(err, STATUS_IO, NULL, "a data set cannot be synced");
}

enum status dataset_commit(const char *root, const char *folder, const char *name, struct error *err)
{
    char path[DATASET_FILES];
    enum status status = path_of(path, root, name, "", err);
    if (!status && !sync_path(folder))
        status = error_set(err, STATUS_IO, NULL, "a data set cannot be synced");
    if (!status)
        status = files_dataset_move(root, folder, path, err);
    if (status)
        remove_folder(folder);
    return status;
}

enum status dataset_remove(const char *root, const char *name, struct error *err)
{
    char path[DATASET_FILES], gone[DATASET_FILES];
    enum dataset_kind kind;
    enum status status = dataset_find(root, name, &kind, err);
    if (!status && kind != DATASET_OURS)
        return error_set(err, STATUS_NOT_FOUND, NULL, "there is no data set %s", name);
    if (!status)
        status = path_of(path, root, name, "", err);
    if (!status)
        status = dataset_stage(root, gone, err);
    /* dataset_stage() has created an empty folder, but files_dataset_move() needs a name that is free */
    if (!status && rmdir(gone) != 0)
        status = error_set(err, STATUS_IO, NULL, "a data set cannot be moved");
    if (!status)
        status = files_dataset_move(root, path, gone, err);
    if (!status)
        remove_folder(gone);
    return status;
}
