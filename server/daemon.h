/* `motifd serve`: starts the parts of the service in order, runs until a signal, stops them in reverse order.
 *
 *   storage → auth → executor → api → scheduler → http
 *
 * SIGTERM or SIGINT: /readyz answers 503 at once. Running jobs finish their step, save a checkpoint and return to the
 * queue on disk. Requests in progress are answered. Then the process exits with 0. A second signal ends the process at
 * once. */
#ifndef MOTIF_SERVER_DAEMON_H
#define MOTIF_SERVER_DAEMON_H

#include "server/settings/settings.h"

enum { EXIT_OK = 0, EXIT_FAULT = 1, EXIT_USAGE = 2 };

/* Returns the exit code of the process. Prints the address on standard output, everything else in the log. */
int daemon_serve(const struct settings *settings);

#endif
