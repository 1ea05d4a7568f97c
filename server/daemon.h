/* `motifd serve`: puts the rooms together, runs until a signal, takes them apart.
 *
 *   storage → auth → executor → api → scheduler → http        (started in this order, ended in reverse)
 *
 * SIGTERM or SIGINT: /readyz says 503 at once; running jobs finish their step, save a checkpoint and go
 * back to the queue on disk; requests in progress are answered; exit 0. A second signal ends at once. */
#ifndef MOTIF_SERVER_DAEMON_H
#define MOTIF_SERVER_DAEMON_H

#include "server/settings/settings.h"

enum { EXIT_OK = 0, EXIT_FAULT = 1, EXIT_USAGE = 2 };

/* The process's exit code. Says the address on standard output, everything else in the log. */
int daemon_serve(const struct settings *settings);

#endif
