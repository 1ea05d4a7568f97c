/* A library to preload (LD_PRELOAD) into a daemon under test. Its wall clock then follows the file that MOTIF_CLOCK
 * names, which contains the offset in milliseconds as an int64_t. The monotonic clock is unchanged. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic(int64_t) *offset;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("MOTIF_CLOCK");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd >= 0 ? mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    offset = at != MAP_FAILED ? at : NULL;
    if (fd >= 0)
        (void)close(fd);
}

int clock_gettime(clockid_t which, struct timespec *out)
{
    long code = syscall(SYS_clock_gettime, which, out);
    if (code == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE) && offset != NULL) {
        int64_t ms = (int64_t)out->tv_sec * 1000 + out->tv_nsec / 1000000 + atomic_load(offset);
        out->tv_sec = (time_t)(ms / 1000);
        out->tv_nsec = (long)(ms % 1000) * 1000000;
    }
    return (int)code;
}

time_t time(time_t *out)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}
