/* Implements fault_vfs.h. Each operation goes to the real VFS, unless the test chose it to fail. For each file the
 * VFS keeps what a power failure would leave. */
#include "tests/unit/storage/fault_vfs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>

#define SECTOR 512

struct change { /* a change since the last sync: bytes at an offset, or a new length */
    struct change *next;
    int64_t at;
    int count; /* number of bytes; -1: the file was cut to length `at` */
    unsigned char bytes[];
};

struct image { /* the content of a file at its last sync */
    unsigned char *bytes;
    int64_t size, capacity;
    struct change *first, **last;
};

enum { IMAGE_NONE = -1, IMAGE_DB, IMAGE_WAL, IMAGES };

struct fault_file {
    sqlite3_file base;
    int image;
    sqlite3_file *real; /* the file of the real VFS, stored behind this struct */
};

static struct {
    sqlite3_vfs vfs, *real;
    sqlite3_io_methods methods;
    pthread_mutex_t lock;
    int follow, reads, writes, syncs, failures;
    int read_after, read_code, read_forever;
    int write_after, write_code, write_forever;
    int sync_after, sync_code, sync_forever;
    struct image images[IMAGES];
} fault;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct fault_file *)(void *)file)->real;
}

/* ---- images ------------------------------------------------------------------------------------------ */

static void image_clear(struct image *image)
{
    while (image->first != NULL) {
        struct change *next = image->first->next;
        free(image->first);
        image->first = next;
    }
    free(image->bytes);
    memset(image, 0, sizeof *image);
    image->last = &image->first;
}

static void put(struct image *image, int64_t at, const unsigned char *bytes, int64_t count)
{
    int64_t end = at + count;
    if (end > image->capacity) {
        image->capacity = end * 2;
        image->bytes = realloc(image->bytes, (size_t)image->capacity);
        if (image->bytes == NULL)
            abort();
    }
    if (at > image->size)
        memset(image->bytes + image->size, 0, (size_t)(at - image->size));
    if (count > 0)
        memcpy(image->bytes + at, bytes, (size_t)count);
    if (end > image->size)
        image->size = end;
}

static void apply(struct image *image, const struct change *change)
{
    if (change->count >= 0)
        put(image, change->at, change->bytes, change->count);
    else if (change->at < image->size)
        image->size = change->at;
}

static void follow(struct fault_file *file, const void *bytes, int count, int64_t at)
{
    if (!fault.follow || file->image == IMAGE_NONE)
        return;
    struct image *image = &fault.images[file->image];
    size_t room = count > 0 ? (size_t)count : 0;
    struct change *change = malloc(sizeof *change + room);
    if (change == NULL)
        abort();
    *change = (struct change){.at = at, .count = count};
    if (room > 0)
        memcpy(change->bytes, bytes, room);
    *image->last = change;
    image->last = &change->next;
}

static void settle(struct fault_file *file)
{
    if (!fault.follow || file->image == IMAGE_NONE)
        return;
    struct image *image = &fault.images[file->image];
    while (image->first != NULL) {
        struct change *change = image->first;
        apply(image, change);
        image->first = change->next;
        free(change);
    }
    image->last = &image->first;
}

static uint32_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void write_image(const struct image *image, const char *path, uint64_t *seed)
{
    struct image left = {0};
    put(&left, 0, image->bytes, image->size);
    uint32_t mood = draw(seed) % 4; /* at random, keep all unsynced writes, none, or a part of them */
    for (const struct change *c = image->first; c != NULL; c = c->next) {
        if (mood == 0)
            continue;
        if (mood == 1 || c->count < 0) {
            if (mood == 1 || draw(seed) % 2)
                apply(&left, c);
            continue;
        }
        for (int at = 0; at < c->count; at += SECTOR) {
            int some = c->count - at < SECTOR ? c->count - at : SECTOR;
            if (draw(seed) % 2)
                put(&left, c->at + at, c->bytes + at, some);
        }
    }
    FILE *file = fopen(path, "wb");
    if (file == NULL || (left.size > 0 && fwrite(left.bytes, 1, (size_t)left.size, file) != (size_t)left.size) ||
        fclose(file) != 0)
        abort();
    free(left.bytes);
}

void fault_power_loss(const char *path, uint64_t *seed)
{
    char wal[512];
    (void)snprintf(wal, sizeof wal, "%s-wal", path);
    pthread_mutex_lock(&fault.lock);
    write_image(&fault.images[IMAGE_DB], path, seed);
    write_image(&fault.images[IMAGE_WAL], wal, seed);
    pthread_mutex_unlock(&fault.lock);
}

/* ---- operations that can fail ------------------------------------------------------------------------ */

static int trip(int *after, int *code, int forever)
{
    if (*code == 0 || (*after)-- > 0)
        return SQLITE_OK;
    int now = *code;
    fault.failures++;
    *after = 0;
    if (!forever)
        *code = 0;
    return now;
}

/* The lock protects only the counter. The read itself happens without the lock, because several threads read at
 * once. */
static int fault_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 at)
{
    pthread_mutex_lock(&fault.lock);
    fault.reads++;
    int code = trip(&fault.read_after, &fault.read_code, fault.read_forever);
    pthread_mutex_unlock(&fault.lock);
    return code == SQLITE_OK ? real_of(file)->pMethods->xRead(real_of(file), bytes, count, at) : code;
}

static int fault_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at)
{
    pthread_mutex_lock(&fault.lock);
    fault.writes++;
    int code = trip(&fault.write_after, &fault.write_code, fault.write_forever);
    if (code == SQLITE_OK)
        code = real_of(file)->pMethods->xWrite(real_of(file), bytes, count, at);
    if (code == SQLITE_OK)
        follow((struct fault_file *)(void *)file, bytes, count, at);
    pthread_mutex_unlock(&fault.lock);
    return code;
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    pthread_mutex_lock(&fault.lock);
    int code = real_of(file)->pMethods->xTruncate(real_of(file), size);
    if (code == SQLITE_OK)
        follow((struct fault_file *)(void *)file, NULL, -1, size);
    pthread_mutex_unlock(&fault.lock);
    return code;
}

static int fault_sync(sqlite3_file *file, int flags)
{
    pthread_mutex_lock(&fault.lock);
    fault.syncs++;
    int code = trip(&fault.sync_after, &fault.sync_code, fault.sync_forever);
    if (code == SQLITE_OK) /* no sync of the real file, because the images represent the disk */
        settle((struct fault_file *)(void *)file);
    pthread_mutex_unlock(&fault.lock);
    return code;
}

/* ---- operations that are only passed on -------------------------------------------------------------- */

static int fault_close(sqlite3_file *file)
{
    int code = real_of(file)->pMethods->xClose(real_of(file));
    return code;
}
static int fault_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}
static int fault_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}
static int fault_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}
static int fault_reserved(sqlite3_file *file, int *out)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}
static int fault_control(sqlite3_file *file, int op, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, argument);
}
static int fault_sector(sqlite3_file *file)
{
    return SECTOR;
}
static int fault_device(sqlite3_file *file)
{
    return 0; /* the simulated disk guarantees nothing about the order of writes */
}
static int fault_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}
static int fault_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}
static void fault_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}
static int fault_shm_unmap(sqlite3_file *file, int remove)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out, int flags, int *out_flags)
{
    struct fault_file *file = (struct fault_file *)(void *)out;
    file->base.pMethods = NULL;
    file->real = (sqlite3_file *)(void *)(file + 1);
    file->image = flags & SQLITE_OPEN_MAIN_DB ? IMAGE_DB : flags & SQLITE_OPEN_WAL ? IMAGE_WAL : IMAGE_NONE;
    int code = fault.real->xOpen(fault.real, name, file->real, flags, out_flags);
    if (code == SQLITE_OK)
        file->base.pMethods = &fault.methods;
    return code;
}

void fault_vfs_register(int follow_files)
{
    memset(&fault, 0, sizeof fault);
    pthread_mutex_init(&fault.lock, NULL);
    for (int i = 0; i < IMAGES; i++)
        fault.images[i].last = &fault.images[i].first;
    fault.follow = follow_files;
    fault.real = sqlite3_vfs_find(NULL);
    fault.vfs = *fault.real;
    fault.vfs.szOsFile = (int)sizeof(struct fault_file) + fault.real->szOsFile;
    fault.vfs.zName = FAULT_VFS;
    fault.vfs.pNext = NULL;
    fault.vfs.xOpen = fault_open;
    fault.methods = (sqlite3_io_methods){
        .iVersion = 2,
        .xClose = fault_close,
        .xRead = fault_read,
        .xWrite = fault_write,
        .xTruncate = fault_truncate,
        .xSync = fault_sync,
        .xFileSize = fault_size,
        .xLock = fault_lock,
        .xUnlock = fault_unlock,
        .xCheckReservedLock = fault_reserved,
        .xFileControl = fault_control,
        .xSectorSize = fault_sector,
        .xDeviceCharacteristics = fault_device,
        .xShmMap = fault_shm_map,
        .xShmLock = fault_shm_lock,
        .xShmBarrier = fault_shm_barrier,
        .xShmUnmap = fault_shm_unmap,
    };
    sqlite3_vfs_register(&fault.vfs, 0);
}

void fault_vfs_unregister(void)
{
    sqlite3_vfs_unregister(&fault.vfs);
    for (int i = 0; i < IMAGES; i++)
        image_clear(&fault.images[i]);
    pthread_mutex_destroy(&fault.lock);
}

static void set(int *after, int *code, int *forever, int new_after, int new_code, int new_forever)
{
    pthread_mutex_lock(&fault.lock);
    *after = new_after;
    *code = new_code;
    *forever = new_forever;
    pthread_mutex_unlock(&fault.lock);
}

void fault_on_read(int after, int code, int forever)
{
    set(&fault.read_after, &fault.read_code, &fault.read_forever, after, code, forever);
}

void fault_on_write(int after, int code, int forever)
{
    set(&fault.write_after, &fault.write_code, &fault.write_forever, after, code, forever);
}

void fault_on_sync(int after, int code, int forever)
{
    set(&fault.sync_after, &fault.sync_code, &fault.sync_forever, after, code, forever);
}

int fault_reads(void)
{
    pthread_mutex_lock(&fault.lock);
    int n = fault.reads;
    pthread_mutex_unlock(&fault.lock);
    return n;
}

int fault_writes(void)
{
    pthread_mutex_lock(&fault.lock);
    int n = fault.writes;
    pthread_mutex_unlock(&fault.lock);
    return n;
}

int fault_syncs(void)
{
    pthread_mutex_lock(&fault.lock);
    int n = fault.syncs;
    pthread_mutex_unlock(&fault.lock);
    return n;
}

int fault_failures(void)
{
    pthread_mutex_lock(&fault.lock);
    int n = fault.failures;
    pthread_mutex_unlock(&fault.lock);
    return n;
}
