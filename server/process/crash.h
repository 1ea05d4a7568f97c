/* What is left behind when the process ends by a fault of its own (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT).
 *
 * crash_prepare() opens everything that the handler needs, so that the handler, on a stack of its own, calls nothing
 * but write(2), raise(2) and the like. The report says the build, the signal and its address, the job of the thread,
 * where each frame of the stack returns to, the loaded files (so that addresses can be looked up) and the last lines of
 * the log; it goes to the log's descriptor and to PATH.crash beside the database, which begins empty and is removed at
 * a good end. Nothing of memory is dumped: no configuration, no token, no body. Then the signal does what it does
 * without us. */
#ifndef MOTIF_SERVER_PROCESS_CRASH_H
#define MOTIF_SERVER_PROCESS_CRASH_H

#include "core/base/error.h"

/* Once, in main(). beside: the database's path; build: copied. */
enum status crash_prepare(const char *beside, const char *build, struct error *err);
/* The calling thread gets a stack for the handler; every thread that runs our code for long. Freed with the thread. */
void crash_thread(void);
/* What the thread works on; "" for nothing. Kept as a copy. */
void crash_job(const char *job);
/* A line of the log, to be remembered among the last ones. Lock-free; any thread. */
void crash_note(const char *line, unsigned long count);
/* A good end: the empty file goes. */
void crash_finish(void);

#endif
