#include "server/process/priority.h"

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANSWER_SLICE_NS 100000 /* the shortest there is */

/* struct sched_attr of the kernel, which the C library does not have. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline,
        period; /* of an ordinary thread, `runtime` is its slice in ns, 0: as the system has it */
};

static void ask_for_slice(uint64_t ns)
{
    struct attributes wanted = {
        .size = sizeof wanted, .policy = SCHED_OTHER, .nice = getpriority(PRIO_PROCESS, 0), .runtime = ns};
    if (sched_getscheduler(0) == SCHED_OTHER) {          /* whoever started us may have meant another policy */
        (void)syscall(SYS_sched_setattr, 0, &wanted, 0); /* without it answers are later, and right */
    }
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
