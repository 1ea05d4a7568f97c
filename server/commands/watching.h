/* What the commands backup, restore and check print while they read a database: faults, one per line, and on a terminal
 * the progress with the remaining time. Also how these commands find the files that they read. */
#ifndef MOTIF_SERVER_COMMANDS_WATCHING_H
#define MOTIF_SERVER_COMMANDS_WATCHING_H

#include <stdint.h>
#include <stdio.h>

#include "core/base/options.h"
#include "storage/database/verify.h"

struct watching {
    FILE *faults;     /* where faults go */
    int64_t count;    /* faults that were reported */
    const char *what; /* the current phase; a new phase restarts the estimate of the remaining time */
    double began, shown;
};

/* Begins; the result refers to *watching and may be used until watching_end(). The progress goes to standard error, if
 * this is a terminal. */
struct storage_watch watching_begin(struct watching *watching, FILE *faults);
/* Ends the line of the progress, and says how many faults were not printed. */
void watching_end(struct watching *watching);

/* The value of an option; without the option, of an environment variable that is not empty, or else `absent`. */
const char *command_setting(const struct options *given, const char *option, const char *variable, const char *absent);

#endif
