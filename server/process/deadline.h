/* Bounds the time that the process takes to end, whatever its threads compute. Used once, by the main thread. */
#ifndef MOTIF_SERVER_PROCESS_DEADLINE_H
#define MOTIF_SERVER_PROCESS_DEADLINE_H

#include <stdint.h>

#include "server/process/journal.h"

/* Starts a thread that reads the signals from now on (signals.h). It ends the process `ms` milliseconds after this call
 * with exit code 0, and at once with 1 at a signal other than SIGHUP. Everything that an answer acknowledged is on disk
 * by then. Without memory for a thread there is no bound. */
void deadline_start(struct journal *journal, int64_t ms);
/* Ends the thread. Does nothing when there is none. */
void deadline_stop(void);

#endif
