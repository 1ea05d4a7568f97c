/* SIGTERM, SIGINT and SIGHUP (unless it was ignored) as something to wait for.
 *
 * The signals are caught, not blocked. A library may have started threads before main() (OpenBLAS does), and these
 * block nothing: the kernel would deliver a blocked process signal to one of them, and the process would die. The
 * handler writes the signal's number into a pipe and one thread reads it. There is one pipe per process. */
#ifndef MOTIF_SERVER_PROCESS_SIGNALS_H
#define MOTIF_SERVER_PROCESS_SIGNALS_H

#include "core/base/error.h"

/* Catches the signals from now on, for signals_wait(). Ignores SIGPIPE. Call it before other threads start. */
enum status signals_catch(struct error *err);

/* Returns the next signal, or 0 when none arrived within `ms`. */
int signals_wait(int ms);

#endif
