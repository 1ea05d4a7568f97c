/* SIGTERM, SIGINT and SIGHUP (unless it was ignored) as something to wait for.
 *
 * They are caught, not blocked: a library may have started threads before main() (OpenBLAS does), which block
 * nothing, and the kernel gives a blocked process signal to any thread that takes it, where the default is death. The
 * handler writes the number into a pipe; one thread reads it. There is one pipe in a process. */
#ifndef MOTIF_SERVER_PROCESS_SIGNALS_H
#define MOTIF_SERVER_PROCESS_SIGNALS_H

#include "core/base/error.h"

/* From now on signals are kept for signals_wait(). SIGPIPE is ignored. Before other threads start. */
enum status signals_catch(struct error *err);

/* The next signal, or 0 when none came within `ms`. */
int signals_wait(int ms);

#endif
