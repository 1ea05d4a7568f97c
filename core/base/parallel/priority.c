/* Sets nice values and time slices of threads by sched_setattr(2). */
#include "core/base/parallel/priority.h"

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANSWER_SLICE_NS 100000 /* the shortest slice that the kernel accepts */

/* struct sched_attr of the kernel; the C library does not define it. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period; /* for an ordinary thread `runtime` is its slice in ns, 0: the default */
};

static void ask_for_slice(int thread, uint64_t ns)
{
    struct attributes wanted = {
        .size = sizeof wanted, .policy = SCHED_OTHER, .nice = getpriority(PRIO_PROCESS, (id_t)thread), .runtime = ns};
    /* if an administrator has chosen another policy, it stays unchanged */
    if (sched_getscheduler(thread) == SCHED_OTHER)
        (void)syscall(SYS_sched_setattr, thread, &wanted, 0); /* a refusal has no effect except slower answers */
}

void priority_answer(void)
{
    ask_for_slice(0, ANSWER_SLICE_NS);
}

bool priority_compute(int thread, int nice)
{
    id_t id = (id_t)thread;
    ask_for_slice(thread, 0);
    return nice <= 0 || setpriority(PRIO_PROCESS, id, getpriority(PRIO_PROCESS, id) + nice) == 0;
}

int64_t priority_used_us(clockid_t clock)
{
    struct timespec used = {0};
    (void)clock_gettime(clock, &used);
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}
