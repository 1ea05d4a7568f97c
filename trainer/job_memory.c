/* Counts the memory of a job in an account that belongs to the calling thread (job_memory.h). */
#include "trainer/job_memory.h"

#include <malloc.h>

#define HEAP_KEEPS (256 << 10) /* bytes of free memory that a heap may keep instead of returning them */

static _Thread_local struct job_memory *own;

int64_t job_memory_limit(int64_t allowed)
{
    const int64_t room = (int64_t)64 << 20;
    return allowed > 0 ? allowed + allowed / 2 + room : 0;
}

void job_memory_begin(struct job_memory *account, int64_t limit)
{
    *account = (struct job_memory){.limit = limit};
    own = account;
}

void job_memory_return_freed(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, HEAP_KEEPS);
    (void)mallopt(M_TRIM_THRESHOLD, HEAP_KEEPS);
}

void job_memory_end(void)
{
    own = NULL;
}

bool job_memory_ask(size_t bytes)
{
    if (own == NULL || own->limit <= 0)
        return true;
    if (bytes <= INT64_MAX && (int64_t)bytes <= own->limit - own->held)
        return true;
    own->reached = true;
    return false;
}

void job_memory_change(int64_t bytes)
{
    if (own == NULL)
        return;
    own->held += bytes;
    if (own->held > own->peak)
        own->peak = own->held;
}
