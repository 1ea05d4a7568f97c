/* Scheduling: threads that answer requests run before threads that compute.
 *
 * Both are ordinary threads. `--job-nice` raises the nice value of threads that compute. Threads that answer ask the
 * kernel for short time slices, so that a thread that wakes up need not wait until the slice of a computing thread ends
 * (Linux 6.12 and later; earlier kernels ignore the request). Both settings apply to the calling thread and to the
 * threads that it starts. */
#ifndef MOTIF_SERVER_PROCESS_PRIORITY_H
#define MOTIF_SERVER_PROCESS_PRIORITY_H

#include <stdbool.h>

/* Gives the calling thread short slices. */
void priority_answer(void);
/* Gives the calling thread default slices and raises its nice value by `nice`, which may be 0. Returns false when the
 * system refuses. */
bool priority_compute(int nice);

#endif
