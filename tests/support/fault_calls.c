/* Counts system calls and lets them fail (fault_calls.h). The linker redirects the program's own calls to this file
 * (--wrap). */
#include "tests/support/fault_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/support/fault_count.h"

static struct fault_count places = FAULT_COUNT;
static atomic_int failure;
static _Atomic(const char *) name; /* name of the first call that failed */

void fault_call_after(int left, int code, bool forever)
{
    atomic_store(&failure, code);
    atomic_store(&name, NULL);
    fault_count_arm(&places, left, forever);
}

const char *fault_call_happened(void)
{
    return fault_count_stop(&places) ? atomic_load(&name) : NULL;
}

int fault_call_left(void)
{
    return fault_count_left(&places);
}

bool fault_call_now(const char *call)
{
    if (!fault_count_down(&places))
        return false;
    const char *none = NULL;
    (void)atomic_compare_exchange_strong(&name, &none, call);
    errno = atomic_load(&failure);
    return true;
}

/* Defines the wrapper of a system call: CALL(type of the result, name, result on failure, parameters, arguments). */
#define CALL(type, call, bad, parameters, arguments)                                                                   \
    type __real_##call parameters;                                                                                     \
    type __wrap_##call parameters;                                                                                     \
    type __wrap_##call parameters                                                                                      \
    {                                                                                                                  \
        return fault_call_now(#call) ? (bad) : __real_##call arguments;                                                \
    }

CALL(DIR *, opendir, NULL, (const char *path), (path))
CALL(struct dirent64 *, readdir64, NULL, (DIR * dir), (dir))
CALL(int, stat64, -1, (const char *path, struct stat *out), (path, out))
CALL(int, lstat64, -1, (const char *path, struct stat *out), (path, out))
CALL(int, fstatat64, -1, (int dir, const char *path, struct stat *out, int flags), (dir, path, out, flags))
CALL(int, ftruncate64, -1, (int fd, off_t bytes), (fd, bytes))
CALL(ssize_t, pwrite64, -1, (int fd, const void *bytes, size_t count, off_t at), (fd, bytes, count, at))
CALL(int, fsync, -1, (int fd), (fd))
CALL(int, flock, -1, (int fd, int how), (fd, how))
CALL(int, link, -1, (const char *from, const char *to), (from, to))
CALL(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
CALL(char *, mkdtemp, NULL, (char *path), (path))
CALL(int, mkostemp64, -1, (char *path, int flags), (path, flags))
CALL(int, renameat2, -1, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags))
CALL(int, fstat64, -1, (int fd, struct stat *out), (fd, out))
CALL(ssize_t, read, -1, (int fd, void *bytes, size_t count), (fd, bytes, count))
CALL(ssize_t, pread64, -1, (int fd, void *bytes, size_t count, off_t at), (fd, bytes, count, at))
CALL(FILE *, fopen64, NULL, (const char *path, const char *mode), (path, mode))
CALL(size_t, fwrite, 0, (const void *bytes, size_t size, size_t count, FILE *file), (bytes, size, count, file))
CALL(int, fflush, EOF, (FILE * file), (file))
CALL(ssize_t, getrandom, -1, (void *bytes, size_t count, unsigned flags), (bytes, count, flags))
CALL(int, pthread_condattr_init, ENOMEM, (pthread_condattr_t * made), (made))
CALL(int, pthread_condattr_setclock, EINVAL, (pthread_condattr_t * made, clockid_t clock), (made, clock))
CALL(int, pthread_cond_init, ENOMEM, (pthread_cond_t * made, const pthread_condattr_t *how), (made, how))
CALL(int, pthread_mutex_init, ENOMEM, (pthread_mutex_t * made, const pthread_mutexattr_t *how), (made, how))
CALL(int, pthread_create, EAGAIN, (pthread_t * made, const pthread_attr_t *how, void *(*run)(void *), void *context),
     (made, how, run, context))

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    unsigned mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;
    va_end(args);
    return fault_call_now("open") ? -1 : __real_open64(path, flags, mode);
}

static atomic_ulong system_type;
static atomic_bool system_read_only;

void fault_file_system(unsigned long type, bool read_only)
{
    atomic_store(&system_type, type);
    atomic_store(&system_read_only, read_only);
}

int __real_fstatfs64(int fd, struct statfs *out);
int __wrap_fstatfs64(int fd, struct statfs *out);
int __wrap_fstatfs64(int fd, struct statfs *out)
{
    if (fault_call_now("fstatfs64") || __real_fstatfs64(fd, out) != 0)
        return -1;
    if (atomic_load(&system_type) != 0)
        out->f_type = (__typeof__(out->f_type))atomic_load(&system_type);
    return 0;
}

int __real_fstatvfs64(int fd, struct statvfs *out);
int __wrap_fstatvfs64(int fd, struct statvfs *out);
int __wrap_fstatvfs64(int fd, struct statvfs *out)
{
    if (fault_call_now("fstatvfs64") || __real_fstatvfs64(fd, out) != 0)
        return -1;
    out->f_flag |= atomic_load(&system_read_only) ? ST_RDONLY : 0;
    return 0;
}
