/* Packs a folder as a tar in the form of POSIX (pax), which has no limit for the length of names (folder_tar.h). */
#include "api/client/folder_tar.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { RECORD = 512, NAME = 100 };

/* Writes zeros up to the next record. */
static void fill_up(FILE *to, int64_t bytes)
{
    static const char zeros[RECORD];
    size_t rest = (size_t)(bytes % RECORD);
    if (rest > 0)
        (void)fwrite(zeros, 1, RECORD - rest, to);
}

/* Writes the head of an entry. type: '0' a file, 'x' the long name of the next entry. */
static void write_head(FILE *to, const char *name, char type, int64_t bytes)
{
    char head[RECORD] = {0};
    unsigned sum = 0;
    memcpy(head, name, strnlen(name, NAME));
    memcpy(head + 100,
           "0000644\0"
           "0000000\0"
           "0000000",
           23);
    /* The field has room for the octal digits of sizes below 8 GiB. A larger size is a binary number, and the first bit
     * of the field is set. */
    if (bytes < (int64_t)1 << 33)
        (void)snprintf(head + 124, 12, "%011llo", (long long)bytes);
    for (int i = 0; bytes >= (int64_t)1 << 33 && i < 8; i++)
        head[128 + i] = (char)(bytes >> 8 * (7 - i));
    head[124] = bytes >= (int64_t)1 << 33 ? (char)0x80 : head[124];
    memcpy(head + 136, "00000000000", 11);
    memset(head + 148, ' ', 8);
    head[156] = type;
    memcpy(head + 257,
           "ustar\0"
           "00",
           8);
    for (int i = 0; i < RECORD; i++)
        sum += (unsigned char)head[i];
    (void)snprintf(head + 148, 8, "%06o", sum);
    (void)fwrite(head, 1, RECORD, to);
}

/* Writes "LENGTH path=NAME\n", where LENGTH counts all of it. */
static void write_long_name(FILE *to, const char *name)
{
    size_t body = strlen(name) + 7, digits = 0; /* 7: a blank, "path=" and the end of the line */
    for (size_t before = 1; before != digits;) {
        before = digits;
        digits = (size_t)snprintf(NULL, 0, "%zu", body + digits);
    }
    write_head(to, "name", 'x', (int64_t)(body + digits));
    (void)fprintf(to, "%zu path=%s\n", body + digits, name);
    fill_up(to, (int64_t)(body + digits));
}

static const char disk_full[] =
    "cannot be packed: the disk of the temporary file may be full; TMPDIR chooses its folder";

static const char *write_file(FILE *to, const char *path, const char *name)
{
    char block[1 << 15];
    struct stat what;
    FILE *file = fopen(path, "rb");
    if (!file)
        return "cannot be read";
    int64_t size = fstat(fileno(file), &what) == 0 ? what.st_size : 0, done = 0;
    if (strlen(name) > NAME)
        write_long_name(to, name);
    write_head(to, name, '0', size);
    for (size_t got; done <= size && !ferror(to) && (got = fread(block, 1, sizeof block, file)) > 0;
         done += (int64_t)got)
        (void)fwrite(block, 1, got, to);
    bool good = !ferror(file) && done == size;
    fclose(file);
    fill_up(to, size);
    return ferror(to) ? disk_full : good ? NULL : "changed while it was read";
}

static bool of_system(const char *name)
{
    return strncmp(name, "._", 2) == 0 || strcmp(name, ".DS_Store") == 0 || strcasecmp(name, "Thumbs.db") == 0 ||
           strcasecmp(name, "desktop.ini") == 0 || strcmp(name, "__MACOSX") == 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* The bytes of all files of a folder; paths is of fts_open(). */
static int64_t size_of(char *const *paths)
{
    int64_t bytes = 0;
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    for (FTSENT *e; tree && (e = fts_read(tree)) != NULL;)
        if (e->fts_level > 0 && of_system(e->fts_name))
            (void)fts_set(tree, e, FTS_SKIP);
        else if (e->fts_info == FTS_F)
            bytes += e->fts_statp->st_size + RECORD;
    if (tree)
        (void)fts_close(tree);
    return bytes;
}

const char *folder_tar_write(const char *folder, FILE *to, size_t *left_out, char *path, size_t bytes)
{
    static const char end[2 * RECORD];
    char *const roots[] = {(char *)(uintptr_t)folder, NULL};
    const char *fault = NULL;
    size_t files = 0, root = strlen(folder);
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    struct statvfs disk;
    *left_out = 0;
    (void)snprintf(path, bytes, "%s", folder);
    if (tree && fstatvfs(fileno(to), &disk) == 0 && size_of(roots) > (int64_t)(disk.f_bavail * disk.f_frsize)) {
        (void)fts_close(tree);
        return "has more bytes than the disk of the temporary file has left; TMPDIR chooses its folder";
    }
    if (!tree)
        return "cannot be read";
    while (root > 0 && folder[root - 1] == '/')
        root--;
    for (FTSENT *e; !fault && (e = fts_read(tree)) != NULL;) {
        if (e->fts_level > 0 && of_system(e->fts_name)) {
            (void)fts_set(tree, e, FTS_SKIP);
            continue;
        }
        (void)snprintf(path, bytes, "%s", e->fts_path);
        if (e->fts_info == FTS_F) {
            const char *name = e->fts_path + root;
            fault = write_file(to, e->fts_path, name + strspn(name, "/"));
            files++;
        } else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS) {
            fault = "cannot be read";
        } else if (e->fts_info == FTS_SL || e->fts_info == FTS_SLNONE || e->fts_info == FTS_DEFAULT) {
            ++*left_out;
        }
    }
    if (!fault && errno != 0) /* fts_read() sets it to 0 at the end of the folder */
        fault = "cannot be read";
    (void)fts_close(tree);
    (void)fwrite(end, 1, sizeof end, to);
    if (!fault && files == 0)
        fault = *left_out > 0 ? "has links or special files, but no files" : "is a folder without files";
    return fault ? fault : fflush(to) == 0 && !ferror(to) ? NULL : disk_full;
}
