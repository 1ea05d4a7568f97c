/* Scheduling: threads that answer requests run before threads that compute.
 *
 * Both are ordinary threads. `--job-nice` raises the nice value of threads that compute for jobs. A thread that has
 * computed for one request for PRIORITY_LONG_US gets a nice value that is higher by PRIORITY_LONG_NICE, so that the
 * short requests of others run first. Threads that answer ask the kernel for short time slices, so that a thread that
 * wakes up need not wait until the slice of a computing thread ends (Linux 6.12 and later; earlier kernels ignore the
 * request). A thread inherits these settings from the thread that starts it. Most processes may not lower a nice value
 * again. */
#ifndef MOTIF_CORE_BASE_PARALLEL_PRIORITY_H
#define MOTIF_CORE_BASE_PARALLEL_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { PRIORITY_LONG_US = 10000, PRIORITY_LONG_NICE = 5 };

/* Gives the calling thread short slices. */
void priority_answer(void);
/* Gives a thread (gettid(); 0: the calling one) default slices and raises its nice value by `nice`, which may be 0.
 * Returns false when the system refuses. */
bool priority_compute(int thread, int nice);
/* The processor time of a thread in microseconds (pthread_getcpuclockid()). */
int64_t priority_used_us(clockid_t clock);

#endif
