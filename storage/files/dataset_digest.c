/* Writes and compares the digests of the files of data sets. */
#include "storage/files/dataset_digest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/descriptor.h"
#include "core/base/hash.h"
#include "storage/files/dataset.h"
#include "storage/files/dataset_owner.h"

#define BLOCK ((size_t)1 << 16)
#define REMEDY                                                                                                         \
    "copy the folder of this data set from a backup, or delete the data set, upload it again and compare its jobs"

/* Whether a file has a digest: all files but the list of digests and the visibility, which changes. */
static bool has_digest(const char *file)
{
    return file[0] != '.' && strcmp(file, DATASET_DIGESTS) != 0 && strcmp(file, DATASET_VISIBILITY) != 0;
}

/* Computes the digest of a file as hex, and adds its size to *bytes. */
static enum status digest_file(int folder, const char *file, char hex[HASH_TEXT], int64_t *bytes, struct error *err)
{
    unsigned char digest[HASH_BYTES], *block = malloc(BLOCK);
    struct hash hash;
    ssize_t got = -1;
    if (block == NULL)
        return error_memory(err, "the digest of a file");
    int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    hash_init(&hash);
    while (fd >= 0 && ((got = read(fd, block, BLOCK)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0) {
            hash_add(&hash, block, (size_t)got);
            *bytes += got;
        }
    descriptor_close(&fd);
    free(block);
    hash_finish(&hash, digest);
    hash_hex(digest, hex);
    return got == 0 ? STATUS_OK : error_set(err, STATUS_IO, NULL, "a file of a data set cannot be read");
}

/* ---- writing --------------------------------------------------------------------------------------------- */

enum status dataset_digests_write(const char *folder, struct error *err)
{
    enum status status = STATUS_OK;
    char hex[HASH_TEXT];
    int64_t bytes = 0;
    FILE *to;
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return error_set(err, STATUS_IO, NULL, "a data set cannot be read");
    status = dataset_create(folder, DATASET_DIGESTS, &to, err);
    for (const struct dirent *entry; !status && (entry = readdir(dir)) != NULL;) {
        if (!has_digest(entry->d_name))
            continue;
        status = digest_file(dirfd(dir), entry->d_name, hex, &bytes, err);
        if (!status && fprintf(to, "%s  %s\n", hex, entry->d_name) < 0)
            status = error_set(err, STATUS_IO, NULL, "a data set cannot be written: the disk may be full");
    }
    closedir(dir);
    return to != NULL ? dataset_close_file(to, status, err) : status;
}

/* ---- comparing ------------------------------------------------------------------------------------------- */

struct comparing {
    const struct storage_watch *watch;
    struct dataset_verify_report *report;
    const char *set;
    int64_t all; /* bytes of all data sets, for the progress */
};

static void set_fault(struct comparing *c, const char *file, const char *what)
{
    char where[400];
    (void)snprintf(where, sizeof where, "file %.200s of data set %.100s", file, c->set);
    const struct storage_fault found = {where, what, REMEDY};
    c->report->faults++;
    if (c->watch->fault != NULL)
        c->watch->fault(c->watch->context, &found);
}

/* Finds the next line "HEX  NAME" of a list; false at the end. *sound is false if the line is not one. */
static bool next_line(char **at, const char **hex, const char **name, bool *sound)
{
    char *line = *at;
    if (*line == '\0')
        return false;
    size_t bytes = strcspn(line, "\n");
    *sound = line[bytes] == '\n' && bytes > 66 && strspn(line, "0123456789abcdef") == 64 && line[64] == ' ' &&
             line[65] == ' ' && memchr(line, '/', bytes) == NULL;
    *at = line + bytes + (line[bytes] == '\n');
    line[bytes] = '\0';
    *hex = line;
    *name = *sound ? line + 66 : "";
    return true;
}

static enum status compare_file(struct comparing *c, int folder, const char *hex, const char *name, struct error *err)
{
    char own[HASH_TEXT];
    struct error why = {0};
    struct stat facts;
    if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
        set_fault(c, name, "is missing");
        return STATUS_OK;
    }
    enum status status = digest_file(folder, name, own, &c->report->bytes, &why);
    if (status == STATUS_NO_MEMORY)
        return error_set(err, status, NULL, "%s", why.message);
    c->report->files++;
    if (status)
        set_fault(c, name, "cannot be read");
    else if (strncmp(hex, own, 64) != 0)
        set_fault(c, name, "does not match its digest");
    if (c->watch->progress != NULL && c->report->bytes <= c->all)
        c->watch->progress(c->watch->context, "data sets checked", c->report->bytes, c->all);
    return STATUS_OK;
}

/* Counts the files that have a digest; a file without one was added, or its name in the list is damaged. */
static void see_others(struct comparing *c, const char *path, char *const *names, size_t count)
{
    DIR *dir = opendir(path);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        size_t i = 0;
        while (i < count && strcmp(names[i], entry->d_name) != 0)
            i++;
        if (i == count && has_digest(entry->d_name))
            set_fault(c, entry->d_name, "has no digest");
    }
    if (dir != NULL)
        closedir(dir);
}

enum { FILES_MOST = 64 }; /* files of a data set; an upload has five */

static enum status compare_set(struct comparing *c, const char *root, const char *name, struct error *err)
{
    struct arena arena;
    const char *list = NULL, *hex, *file;
    char path[DATASET_FILES], *at, *names[FILES_MOST];
    size_t size = 0, count = 0;
    bool sound;
    c->set = name;
    if (snprintf(path, sizeof path, "%s/%s", root, name) >= (int)sizeof path)
        return error_set(err, STATUS_LIMIT, NULL, "the name of a folder is too long");
    arena_init(&arena, 4096, 0);
    c->report->sets++;
    enum status status = dataset_read(root, name, DATASET_DIGESTS, &arena, &list, &size, err);
    int folder = status ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (at = (char *)(uintptr_t)list; folder >= 0 && !status && next_line(&at, &hex, &file, &sound);)
        if (!sound)
            set_fault(c, DATASET_DIGESTS, "has a damaged line");
        else if (count < FILES_MOST)
            status = compare_file(c, folder, hex, names[count++] = (char *)(uintptr_t)file, err);
    if (folder >= 0 && !status)
        see_others(c, path, names, count);
    descriptor_close(&folder);
    arena_close(&arena);
    if (status == STATUS_NOT_FOUND || status == STATUS_IO) {
        error_clear(err);
        c->report->without += status == STATUS_NOT_FOUND;
        if (status == STATUS_IO)
            set_fault(c, DATASET_DIGESTS, "cannot be read");
        status = STATUS_OK;
    }
    return status;
}

enum status dataset_verify(const char *root, const struct storage_watch *watch, struct dataset_verify_report *report,
                           struct error *err)
{
    *report = (struct dataset_verify_report){.sets = 0};
    struct comparing c = {.watch = watch, .report = report};
    struct arena arena;
    const char **names;
    size_t count = 0;
    if (access(root, F_OK) != 0 && errno == ENOENT)
        return error_set(err, STATUS_NOT_FOUND, NULL, "the folder of data sets does not exist");
    arena_init(&arena, 4096, 0);
    enum status status = dataset_bytes(root, NULL, &c.all, err);
    if (!status)
        status = dataset_list(root, &arena, &names, &count, err);
    for (size_t i = 0; i < count && !status; i++)
        status = compare_set(&c, root, names[i], err);
    if (watch->progress != NULL && c.all > 0)
        watch->progress(watch->context, "data sets checked", c.all, c.all);
    arena_close(&arena);
    return status;
}

enum status dataset_verify_set(const char *root, const char *name, const struct storage_watch *watch,
                               struct dataset_verify_report *report, struct error *err)
{
    struct comparing c = {.watch = watch, .report = report};
    return compare_set(&c, root, name, err);
}
