/* The memory that the run of one job allocates, and the limit on it (--job-memory).
 *
 * The linker redirects the allocations of motifd's and motif-train's own object files to job_memory_calls.c, which
 * calls job_memory_ask() and job_memory_change(). Only allocations on the thread that drives the run are counted:
 * create(), step(), save() and result() run on it and allocate the run's large arrays. Memory that libraries allocate
 * for themselves (Cairo, cJSON, SQLite) is not counted. A program without job_memory_calls.c counts nothing and
 * enforces nothing. */
#ifndef MOTIF_TRAINER_JOB_MEMORY_H
#define MOTIF_TRAINER_JOB_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job_memory {
    int64_t held, peak; /* held: bytes allocated now; peak: largest value of `held` so far */
    int64_t limit;      /* an allocation that would exceed it fails; 0: no limit */
    bool reached;       /* an allocation has failed because of the limit */
};

/* Returns how many bytes a run may allocate; 0: no limit. `allowed`: the largest estimate of a job that the daemon
 * accepts; 0: any. The limit is larger than `allowed`, because every accepted job must be able to run: an estimate can
 * be a quarter too low, and a run does not fill the blocks that it allocates completely. */
int64_t job_memory_limit(int64_t allowed);

/* Counts the allocations of the calling thread from now on, until job_memory_end(). `account` stays valid until then.
 * A thread counts for one account at a time. */
void job_memory_begin(struct job_memory *account, int64_t limit);
/* Stops counting; `account` keeps its values. Without job_memory_begin() nothing happens. */
void job_memory_end(void);

/* Makes the C library return freed memory to the operating system, in all threads. A process calls this once, before it
 * starts threads. By default, the C library allocates arrays above a certain size by mmap() and smaller ones from a
 * heap. Whenever an array from mmap() is freed, the library raises this size, up to 32 MiB. The blocks of an evaluation
 * then come from a heap. They have different sizes and leave holes, and a run needed up to twice its estimate. */
void job_memory_return_freed(void);

/* job_memory_calls.c calls these functions around each allocation. job_memory_ask() returns whether the calling
 * thread may allocate `bytes` more. After the allocation, job_memory_change() adds `bytes` to the thread's total; a
 * negative number subtracts freed bytes. */
bool job_memory_ask(size_t bytes);
void job_memory_change(int64_t bytes);

#endif
