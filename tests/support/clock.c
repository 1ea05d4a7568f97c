/* Implements the clock of clock.h. The linker (--wrap) redirects the program's reads of the time to this file. */
#include "tests/support/clock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

int __real_clock_gettime(clockid_t which, struct timespec *out);
int __wrap_clock_gettime(clockid_t which, struct timespec *out);
time_t __wrap_time(time_t *out);

static atomic_llong offset; /* in milliseconds */

void clock_jump_to(int64_t offset_ms)
{
    atomic_store(&offset, offset_ms);
}

int __wrap_clock_gettime(clockid_t which, struct timespec *out)
{
    int code = __real_clock_gettime(which, out);
    if (code == 0 && which == CLOCK_REALTIME) {
        int64_t ms = (int64_t)out->tv_sec * 1000 + out->tv_nsec / 1000000 + atomic_load(&offset);
        out->tv_sec = (time_t)(ms / 1000);
        out->tv_nsec = (long)(ms % 1000) * 1000000;
    }
    return code;
}

time_t __wrap_time(time_t *out)
{
    struct timespec now;
    (void)__wrap_clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}
