/* Writes a bigWig file with libBigWig. The library can write only to a path, and it seeks back to fill in the index. So
 * the code gives it a memory file, by the path of the file's descriptor in /proc, which this process alone can open. */
#include "core/genomics/files/bigwig.h"

#ifdef MOTIF_BIGWIG

#include <bigWig.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/descriptor.h"

/* Zoom levels let browsers draw large regions fast. libBigWig takes time for them that grows with the square of the
 * number of sequences, and cannot be stopped there, so files of many sequences have none. */
enum { ZOOMS = 10, ZOOMED_MOST = 1000, BLOCK = 4096 };

static void initialise(void)
{
    (void)bwInit(1 << 17); /* fails only for files with a URL, which motifd does not open */
}

/* Initialises libBigWig at the first call. Further calls do nothing: the library has global state, so a process
 * initialises it once. */
static void bigwig_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, initialise);
}

/* Writes `count` intervals of one chromosome, the first of which is *at. */
static int write_chromosome(bigWigFile_t *file, const char *name, const struct bigwig_interval *at, size_t count,
                            struct work *work)
{
    const char *names[BLOCK];
    uint32_t start[BLOCK], end[BLOCK];
    float value[BLOCK];
    int failed = 0;
    for (size_t done = 0; !failed && !work_stopped(work) && done < count;) {
        uint32_t now = 0;
        for (; now < BLOCK && done + now < count; now++) {
            names[now] = name;
            start[now] = at[done + now].start;
            end[now] = at[done + now].end;
            value[now] = at[done + now].value;
        }
        failed = done == 0 ? bwAddIntervals(file, names, start, end, value, now)
                           : bwAppendIntervals(file, start, end, value, now);
        done += now;
    }
    return failed;
}

static int write_all(bigWigFile_t *file, const char *const *names, const uint32_t *lengths, int chromosomes,
                     const struct bigwig_interval *intervals, size_t count, struct work *work)
{
    int failed = bwCreateHdr(file, chromosomes <= ZOOMED_MOST ? ZOOMS : 0);
    if (failed)
        return failed;
    file->cl = bwCreateChromList(names, lengths, chromosomes);
    failed = file->cl == NULL || bwWriteHdr(file);
    for (size_t first = 0, end; !failed && !work_stopped(work) && first < count; first = end) {
        for (end = first; end < count && intervals[end].chromosome == intervals[first].chromosome;)
            end++;
        failed = write_chromosome(file, names[intervals[first].chromosome], intervals + first, end - first, work);
    }
    return failed;
}

static enum status append_file(int file, struct buf *out, struct error *err)
{
    char block[1 << 14];
    off_t at = 0;
    ssize_t got;
    while ((got = pread(file, block, sizeof block, at)) > 0) {
        buf_append(out, block, (size_t)got);
        at += got;
    }
    return got < 0 ? error_set(err, STATUS_IO, NULL, "a bigWig file cannot be read back")
                   : buf_status(out, "the bigWig file", err);
}

enum status bigwig_write(const char *const *names, const uint32_t *lengths, int chromosomes,
                         const struct bigwig_interval *intervals, size_t count, struct work *work, struct buf *out,
                         struct error *err)
{
    char path[64];
    int file = memfd_create("bigwig", MFD_CLOEXEC);
    if (file < 0)
        return error_set(err, STATUS_IO, NULL, "there is no room for a bigWig file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    bigwig_prepare();
    bigWigFile_t *to = bwOpen(path, NULL, "w");
    int failed = !to || write_all(to, names, lengths, chromosomes, intervals, count, work);
    bool stopped = work_stopped(work);
    if (to && stopped && to->hdr)
        to->hdr->nLevels = 0; /* spares the time for zoom levels; bwClose() frees the index only where it writes it */
    if (to)
        bwClose(to); /* writes the index */
    enum status status = stopped  ? work_check(work, err)
                         : failed ? error_set(err, STATUS_NO_MEMORY, NULL, "a bigWig file cannot be written")
                                  : append_file(file, out, err);
    descriptor_close(&file);
    return status;
}

#else

enum status bigwig_write(const char *const *names, const uint32_t *lengths, int chromosomes,
                         const struct bigwig_interval *intervals, size_t count, struct work *work, struct buf *out,
                         struct error *err)
{
    (void)names, (void)lengths, (void)chromosomes, (void)intervals, (void)count, (void)work, (void)out;
    return error_set(err, STATUS_CONFLICT, NULL, "this build writes no bigWig files; ask for bedGraph");
}

#endif
