/* Who goes first on a processor: threads that answer requests before threads that compute.
 *
 * Both are ordinary threads. Those that compute are nicer by `--job-nice`; those that answer ask the scheduler for
 * short slices, so that one that wakes up need not wait until a computing thread's slice has ended (Linux 6.12 and
 * later; earlier ones take no notice). Both hold for the calling thread and those that it starts. */
#ifndef MOTIF_SERVER_PROCESS_PRIORITY_H
#define MOTIF_SERVER_PROCESS_PRIORITY_H

#include <stdbool.h>

void priority_answer(void);
/* Slices as the system has them, and a nice value that is higher by `nice`, which 0 leaves alone. False: the system
 * does not let it. */
bool priority_compute(int nice);

#endif
