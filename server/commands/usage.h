/* The command line of a command of motifd, as data: its usage, its explanation and its options. */
#ifndef MOTIF_SERVER_COMMANDS_USAGE_H
#define MOTIF_SERVER_COMMANDS_USAGE_H

#include <stdbool.h>

#include "core/base/options.h"

struct command_usage {
    const char *name;                   /* name of the command, such as "backup" */
    const char *const *lines;           /* usage lines without the leading "motifd "; ends with NULL */
    const char *text;                   /* what the command does and when to use it; ends with a newline */
    const struct config_field *options; /* the command's own options; --help is added */
    const char *example;                /* command lines, each indented by two spaces and ended with a newline */
    size_t least, most;                 /* minimum and maximum number of positional arguments */
};

/* Reads argv[1..] (argv[0] is the name of the command) into `out`. Returns true if the command can run. Otherwise the
 * command returns *code: 0 after the help was printed on standard output, or 2 after a fault and the help were printed
 * on standard error. */
bool command_read(const struct command_usage *usage, int argc, char **argv, struct options *out, int *code);

/* Prints a fault that the command found itself, and the help, on standard error; returns the exit code 2. */
int command_misused(const struct command_usage *usage, const char *fault);

#endif
