/* Copies folders of data sets. The database contains only the names and hashes of data sets. Without a copy of the data
 * sets, a restored daemon cannot continue jobs that use them. */
#include "server/commands/data_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/descriptor.h"
#include "core/base/hash.h"
#include "core/data/dataset.h"

#define DEPTH_MAX 8 /* folders inside a data set */
#define BLOCK (1u << 16)

struct copying {
    struct data_copy_report *report;
    char *block; /* BLOCK bytes */
};

static enum status failed(struct error *err, const char *what, const char *path)
{
    return error_set(err, STATUS_IO, NULL, "%s %.300s: %s", what, path, strerror(errno));
}

/* Returns the next entry of a folder. NULL: the folder has no more entries, or *status is a failure. If reading fails,
 * sets *status. */
static const struct dirent *next_entry(DIR *folder, const char *path, enum status *status, struct error *err)
{
    if (*status != STATUS_OK)
        return NULL;
    errno = 0;
    const struct dirent *entry = readdir(folder);
    if (entry == NULL && errno != 0)
        *status = failed(err, "cannot read", path);
    return entry;
}

/* Reads a file to its end and computes its hash; writes the bytes to the descriptor `to` (-1: nowhere). */
static enum status data_copy_pass(struct copying *c, int from, int to, unsigned char digest[HASH_BYTES], int64_t *bytes)
{
    struct hash hash;
    hash_init(&hash);
    *bytes = 0;
    for (;;) {
        ssize_t got = read(from, c->block, BLOCK);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return STATUS_IO;
        if (got == 0)
            break;
        hash_add(&hash, c->block, (size_t)got);
        *bytes += got;
        for (ssize_t done = 0; to >= 0 && done < got;) {
            ssize_t wrote = write(to, c->block + done, (size_t)(got - done));
            if (wrote < 0 && errno != EINTR)
                return STATUS_IO;
            done += wrote > 0 ? wrote : 0;
        }
    }
    hash_finish(&hash, digest);
    return STATUS_OK;
}

/* Makes `to` a hard link of an earlier copy of the same file, if that has the same bytes. Reads both files, so a copy
 * that has been damaged meanwhile is not used again. */
static bool link_previous(struct copying *c, const char *from, const char *old, const char *to)
{
    unsigned char now[HASH_BYTES], then[HASH_BYTES];
    struct stat a, b;
    int64_t bytes = 0, again = 0;
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), out = open(old, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool same = in >= 0 && out >= 0 && fstat(in, &a) == 0 && fstat(out, &b) == 0 && S_ISREG(b.st_mode) &&
                a.st_size == b.st_size && !data_copy_pass(c, in, -1, now, &bytes) &&
                !data_copy_pass(c, out, -1, then, &again) && memcmp(now, then, HASH_BYTES) == 0 && link(old, to) == 0;
    descriptor_close(&in);
    descriptor_close(&out);
    c->report->files += same;
    c->report->linked += same;
    c->report->bytes += same ? bytes : 0;
    return same;
}

static enum status copy_file(struct copying *c, const char *from, const char *to, struct error *err)
{
    unsigned char read_digest[HASH_BYTES], written_digest[HASH_BYTES];
    int64_t bytes = 0, again = 0;
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0)
        return failed(err, "cannot read", from);
    int out = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    enum status status = out >= 0 ? data_copy_pass(c, in, out, read_digest, &bytes) : STATUS_IO;
    if (!status && (fsync(out) != 0 || lseek(out, 0, SEEK_SET) != 0))
        status = STATUS_IO;
    if (!status)
        status = data_copy_pass(c, out, -1, written_digest, &again);
    if (status)
        (void)failed(err, "cannot copy", from);
    else if (bytes != again || memcmp(read_digest, written_digest, HASH_BYTES) != 0)
        status = error_set(err, STATUS_CORRUPT, NULL, "the copy of %.300s differs from the file", from);
    (void)close(in);
    if (out >= 0 && close(out) != 0 && !status)
        status = failed(err, "cannot write", to);
    c->report->files += !status;
    c->report->bytes += !status ? bytes : 0;
    return status;
}

static enum status sync_folder(const char *path, struct error *err)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = folder >= 0 && fsync(folder) == 0;
    enum status status = good ? STATUS_OK : failed(err, "cannot sync", path);
    if (folder >= 0)
        (void)close(folder);
    return status;
}

static enum status copy_folder(struct copying *c, const char *from, const char *to, const char *old, int depth,
                               struct error *err);

/* old: the same folder in an earlier copy; "": none. */
static enum status copy_entry(struct copying *c, const char *from, const char *to, const char *old, const char *name,
                              int depth, struct error *err)
{
    char source[DATASET_PATH], target[DATASET_PATH], earlier[DATASET_PATH] = "";
    struct stat what;
    if (snprintf(source, sizeof source, "%s/%s", from, name) >= (int)sizeof source ||
        snprintf(target, sizeof target, "%s/%s", to, name) >= (int)sizeof target)
        return error_set(err, STATUS_LIMIT, NULL, "a path below %.300s is too long", from);
    if (old[0] != '\0' && snprintf(earlier, sizeof earlier, "%s/%s", old, name) >= (int)sizeof earlier)
        earlier[0] = '\0';
    if (lstat(source, &what) != 0)
        return failed(err, "cannot read", source);
    if (S_ISDIR(what.st_mode) && depth < DEPTH_MAX)
        return copy_folder(c, source, target, earlier, depth + 1, err);
    if (S_ISREG(what.st_mode) && earlier[0] != '\0' && link_previous(c, source, earlier, target))
        return STATUS_OK;
    return S_ISREG(what.st_mode) ? copy_file(c, source, target, err) : STATUS_OK;
}

/* Copies a folder with everything in it. The recursion is bounded by DEPTH_MAX. */
static enum status copy_folder(struct copying *c, const char *from, const char *to, const char *old,
                               int depth, /* NOLINT(misc-no-recursion) */
                               struct error *err)
{
    enum status status = STATUS_OK;
    DIR *folder = opendir(from);
    if (folder == NULL)
        return failed(err, "cannot read", from);
    if (mkdir(to, 0700) != 0)
        status = failed(err, "cannot make", to);
    for (const struct dirent *entry; (entry = next_entry(folder, from, &status, err)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = copy_entry(c, from, to, old, entry->d_name, depth, err);
    (void)closedir(folder);
    return !status ? sync_folder(to, err) : status;
}

/* Removes a folder with everything in it, and follows no links. */
static void remove_folder(const char *path, int depth) /* NOLINT(misc-no-recursion) */
{
    int file = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = file >= 0 ? fdopendir(file) : NULL;
    if (folder == NULL)
        descriptor_close(&file);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char below[DATASET_PATH];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= (int)sizeof below)
            continue;
        if (unlink(below) != 0 && depth <= DEPTH_MAX)
            remove_folder(below, depth + 1);
    }
    if (folder != NULL)
        (void)closedir(folder);
    (void)rmdir(path);
}

void data_remove(const char *path)
{
    remove_folder(path, 0);
}

static enum status copy_set(struct copying *c, const char *from, const char *to, const char *previous, const char *name,
                            struct error *err)
{
    char source[DATASET_PATH], part[DATASET_PATH], target[DATASET_PATH], old[DATASET_PATH] = "";
    struct stat what;
    if (snprintf(source, sizeof source, "%s/%s", from, name) >= (int)sizeof source ||
        snprintf(part, sizeof part, "%s/.copy-%s", to, name) >= (int)sizeof part ||
        snprintf(target, sizeof target, "%s/%s", to, name) >= (int)sizeof target)
        return error_set(err, STATUS_LIMIT, NULL, "a path below %.300s is too long", from);
    if (stat(source, &what) != 0) /* follows a link that the operator made */
        return errno == ENOENT ? STATUS_OK : failed(err, "cannot read", source);
    if (!S_ISDIR(what.st_mode))
        return STATUS_OK;
    if (stat(target, &what) == 0) {
        c->report->kept++;
        return STATUS_OK;
    }
    if (errno != ENOENT)
        return failed(err, "cannot read", target);
    remove_folder(part, 0);
    if (previous != NULL && snprintf(old, sizeof old, "%s/%s", previous, name) >= (int)sizeof old)
        old[0] = '\0';
    enum status status = copy_folder(c, source, part, old, 0, err);
    if (!status && rename(part, target) != 0)
        status = failed(err, "cannot make", target);
    if (status)
        remove_folder(part, 0);
    c->report->sets += !status;
    return status;
}

enum status data_exists(const char *from, struct error *err)
{
    struct stat what;
    if (stat(from, &what) != 0 && errno == ENOENT)
        return error_set(err, STATUS_NOT_FOUND, NULL, "the folder of data sets %.300s does not exist", from);
    return STATUS_OK;
}

enum status data_copy(const char *from, const char *to, const char *previous, struct data_copy_report *report,
                      struct error *err)
{
    *report = (struct data_copy_report){0};
    struct copying c = {report, malloc(BLOCK)};
    if (c.block == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to copy data sets");
    DIR *folder = opendir(from);
    enum status status = STATUS_OK;
    if (folder == NULL)
        status = failed(err, "cannot read", from);
    if (!status && mkdir(to, 0700) != 0 && errno != EEXIST)
        status = failed(err, "cannot make", to);
    for (const struct dirent *entry; folder != NULL && (entry = next_entry(folder, from, &status, err)) != NULL;)
        if (dataset_name_good(entry->d_name))
            status = copy_set(&c, from, to, previous, entry->d_name, err);
    if (folder != NULL)
        (void)closedir(folder);
    if (!status)
        status = sync_folder(to, err);
    free(c.block);
    return status;
}
