/* The settings of the daemon. One list, settings.inc, gives each setting its member here, its flag, its
 * environment variable, its key in the configuration file, its default, its range and its description in `--help`.
 *
 * Sources, strongest first: flags, environment, file, defaults. `--db FILE` is MOTIFD_DB in the environment and "db" in
 * the file; `--threads-per-job N` is MOTIFD_THREADS_PER_JOB and "threads_per_job". Every fault is reported, not only
 * the first. Call these functions on one thread, before others start. */
#ifndef MOTIF_SERVER_SETTINGS_SETTINGS_H
#define MOTIF_SERVER_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/error.h"

#define SETTINGS_TEXT 1024
#define SETTINGS_DB "motifd.db"     /* default file of the database */
#define SETTINGS_DATA "motifd-data" /* default folder of data sets */

struct settings {
#define SETTING_TEXT(flag, member, ...) char member[SETTINGS_TEXT];
#define SETTING_INTEGER(flag, member, ...) int64_t member;
#include "server/settings/settings.inc"
#undef SETTING_TEXT
#undef SETTING_INTEGER
};

/* `add` is called once for each fault; `setting` is the flag's name without dashes. */
struct settings_faults {
    void *context;
    void (*add)(void *context, const char *setting, const char *source, const char *detail);
};

/* Sets every setting to its default. */
void settings_defaults(struct settings *settings);

/* Reads argv[1..] after the command, then the environment, then the file of --config or MOTIFD_CONFIG. STATUS_INVALID
 * when there was a fault. *help is set by --help. */
enum status settings_read(struct settings *settings, int argc, char **argv, const struct settings_faults *faults,
                          bool *help);

/* Reads a configuration file alone, for check-config. `text` is its JSON. Settings that are marked in `taken` do not
 * change (NULL: all may change). */
enum status settings_read_json(struct settings *settings, const char *text, size_t size, const bool *taken,
                               const struct settings_faults *faults);

/* Prints the table as help text. False: not enough memory, or it cannot be written. */
bool settings_help(FILE *to);

/* Splits ADDR:PORT, [ADDR]:PORT or PORT alone. The address must be numeric or "localhost". *loopback: the address is a
 * loopback address. STATUS_INVALID says what is wrong. */
enum status settings_address(const char *listen, char *host, size_t host_bytes, uint16_t *port, bool *loopback,
                             struct error *err);

#endif
