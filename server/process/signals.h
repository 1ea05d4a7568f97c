/* Lets one thread wait for SIGTERM, SIGINT and SIGHUP (unless SIGHUP was ignored).
 *
 * The signals are caught, not blocked. Blocking is not enough, because a library may have started threads before main()
 * (OpenBLAS does). These threads do not block the signals. The kernel would deliver a signal to one of them and so end
 * the process. The handler writes the signal's number into a pipe, and one thread reads it. There is one pipe per
 * process. */
#ifndef MOTIF_SERVER_PROCESS_SIGNALS_H
#define MOTIF_SERVER_PROCESS_SIGNALS_H

#include "core/base/error.h"

/* Catches the signals from now on, for signals_wait(). Ignores SIGPIPE and SIGXFSZ. Call it before other threads start.
 */
enum status signals_catch(struct error *err);

/* Returns the next signal, or 0 when none arrived within `ms`. */
int signals_wait(int ms);

#endif
