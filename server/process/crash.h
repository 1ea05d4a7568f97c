/* The report of a crash: SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT.
 *
 * crash_prepare() opens everything that the handler needs. The handler runs on a stack of its own and calls only
 * async-signal-safe functions such as write(2) and raise(2). The report contains the build, the signal and its address,
 * the job of the thread, the return address of each stack frame, the loaded files (to look up the addresses) and the
 * last lines of the log. It is written to the log's descriptor and to PATH.crash beside the database; that file is
 * created empty and removed at a normal end. The report contains no memory: no configuration, no token, no body. After
 * the report the signal takes its default action. */
#ifndef MOTIF_SERVER_PROCESS_CRASH_H
#define MOTIF_SERVER_PROCESS_CRASH_H

#include "core/base/error.h"

/* Installs the handler. Call once, in main(). beside: path of the database; build: copied. */
enum status crash_prepare(const char *beside, const char *build, struct error *err);
/* Returns how many pages of stored data sets were missing when they were read, because their file had become shorter.
 * The handler replaced them by zeros, so that the process continues; a job that has read zeros must fail. Any thread.
 */
int crash_missing_pages(void);
/* Gives the calling thread a stack for the handler. Every long-lived thread of ours must call it. The stack is freed
 * with the thread. */
void crash_thread(void);
/* Sets the job of the calling thread for the report, "" for none. Copies the id. */
void crash_job(const char *job);
/* Adds a line of the log to those that the report repeats. Lock-free; any thread. */
void crash_note(const char *line, unsigned long count);
/* Removes the empty report file at a normal end. */
void crash_finish(void);

#endif
