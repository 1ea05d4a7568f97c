/* Sets nice values and time slices of threads by sched_setattr(2). */
#include "server/process/priority.h"

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

static void ask_for_slice(uint64_t ns)
{
    struct attributes wanted = {
        .size = sizeof wanted, .policy = SCHED_OTHER, .nice = getpriority(PRIO_PROCESS, 0), .runtime = ns};
    /* if an administrator has chosen another policy, it stays unchanged */
    if (sched_getscheduler(0) == SCHED_OTHER)
        (void)syscall(SYS_sched_setattr, 0, &wanted, 0); /* a refusal has no effect except slower answers */
}

void priority_answer(void)
{
    ask_for_slice(ANSWER_SLICE_NS);
}

bool priority_compute(int nice)
{
    ask_for_slice(0);
    return nice <= 0 || setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + nice) == 0;
}
