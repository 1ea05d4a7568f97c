/* Bounds the time that the process takes to end, whatever its threads compute. Used once, by the main thread. */
#ifndef MOTIF_SERVER_PROCESS_DEADLINE_H
#define MOTIF_SERVER_PROCESS_DEADLINE_H

#include <stdint.h>

#include "server/process/journal.h"

/* Starts a thread that ends the process with exit code 0 after `ms` milliseconds. The thread also reads the signals
 * from now on (signals.h): at a signal other than SIGHUP, it ends the process at once with exit code 1. Everything that
 * an answer acknowledged is on disk by then. If there is not enough memory for a thread, the time is not bounded. */
void deadline_start(struct journal *journal, int64_t ms);
/* Ends the thread; without a thread, this has no effect. */
void deadline_stop(void);

#endif
