/* Bounds the time that the process takes to end, whatever its threads compute. Used once, by the main thread. */
#ifndef MOTIF_SERVER_PROCESS_DEADLINE_H
#define MOTIF_SERVER_PROCESS_DEADLINE_H

#include <stdint.h>

#include "server/process/journal.h"

/* Starts a thread that ends the process with exit code 0 after `ms` milliseconds. From now on, this thread also reads
 * the signals (signals.h): any signal other than SIGHUP ends the process at once, with exit code 1. Nothing that an
 * answer acknowledged is lost, because it is on disk by then. Without memory for the thread, there is no deadline. */
void deadline_start(struct journal *journal, int64_t ms);
/* Ends the thread; without a thread, this has no effect. */
void deadline_stop(void);

#endif
