/* The limits and the filter of system calls of motif-convert (sandbox.h). The filter is a program for the kernel's
 * seccomp. It contains a list of the system calls that are allowed; all others fail with EPERM. mmap() and mprotect()
 * are allowed only without PROT_EXEC. The process has no open socket and cannot make one, so it cannot use the network.
 * It needs no network namespace, which a service manager may forbid. */
#include "convert/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), ANSWER(SECCOMP_RET_ALLOW)
#define REFUSE ANSWER(SECCOMP_RET_ERRNO | EPERM)
/* Allows a call whose third argument, the protection, does not contain PROT_EXEC. */
#define ALLOW_DATA(call)                                                                                               \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4), LOAD(args[2]),                                                  \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), REFUSE, ANSWER(SECCOMP_RET_ALLOW)

static struct sock_filter filter[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    ALLOW(__NR_pread64),
    ALLOW(__NR_write),
    ALLOW(__NR_read),
    ALLOW(__NR_lseek),
    ALLOW(__NR_close),
    ALLOW(__NR_brk),
    ALLOW(__NR_munmap),
    ALLOW(__NR_mremap),
    ALLOW(__NR_madvise),
    ALLOW(__NR_futex),
    ALLOW(__NR_getrandom),
    ALLOW(__NR_clock_gettime),
    ALLOW(__NR_rt_sigreturn),
    ALLOW(__NR_rt_sigprocmask),
    ALLOW(__NR_exit),
    ALLOW(__NR_exit_group),
#ifdef MOTIF_SANITIZED
    ALLOW(__NR_sigaltstack), /* AddressSanitizer calls this before the process ends */
    ALLOW(__NR_getpid),
    ALLOW(__NR_gettid),
#endif
    ALLOW_DATA(__NR_mmap),
    ALLOW_DATA(__NR_mprotect),
    REFUSE,
};

static int forbid_calls(void)
{
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? -1 : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else

static int forbid_calls(void)
{
    errno = ENOSYS;
    return -1;
}

#endif

static int set_limit(__rlimit_resource_t what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now) != 0)
        return -1;
    if (now.rlim_max == RLIM_INFINITY || now.rlim_max > most)
        now.rlim_max = most;
    now.rlim_cur = now.rlim_max;
    return setrlimit(what, &now);
}

static int limit_all(int64_t bytes)
{
    int64_t seconds = SANDBOX_SECONDS + (bytes >> 20);
    seconds = seconds < SANDBOX_SECONDS_MOST ? seconds : SANDBOX_SECONDS_MOST;
    int failed = set_limit(RLIMIT_CPU, (rlim_t)seconds) | set_limit(RLIMIT_FSIZE, 0) | set_limit(RLIMIT_NOFILE, 3) |
                 set_limit(RLIMIT_NPROC, 0) | set_limit(RLIMIT_CORE, 0);
    /* Builds with sanitizers do not limit the address space, because sanitizers reserve terabytes of it. */
#ifndef MOTIF_SANITIZED
    failed |= set_limit(RLIMIT_AS, (rlim_t)SANDBOX_MEMORY_MIB << 20);
#endif
    return failed;
}

enum status sandbox_enter(int64_t bytes, struct error *err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0 || limit_all(bytes) != 0)
        return error_set(err, STATUS_UNAVAILABLE, NULL,
                         "this system does not allow motifd to limit the resources of a conversion");
    return forbid_calls() == 0 ? STATUS_OK
                               : error_set(err, STATUS_UNAVAILABLE, NULL,
                                           "this system has no filters of system calls (seccomp), "
                                           "without which uploads of HDF5 files are not read");
}
