/* motifd compact: returns the free space of a database to the file system, while no daemon runs. A running daemon does
 * so by itself (storage/database/sweep.c). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/commands/commands.h"
#include "server/commands/usage.h"
#include "server/commands/watching.h"
#include "server/daemon.h"
#include "server/settings/settings.h"
#include "storage/storage.h"

static const struct config_field option_table[] = {
    OPTION_TEXT("db", "FILE", "the database of the daemon (MOTIFD_DB, or " SETTINGS_DB ")"),
    OPTIONS_END,
};
static const char *const lines[] = {"compact [--db FILE]", NULL};
static const struct command_usage usage = {
    .name = "compact",
    .lines = lines,
    .text = "Makes the file of a database as small as what it stores: removes what deleted jobs left, and moves pages "
            "to the\nfront of the file. No daemon may run on the database; a running daemon does the same while it is "
            "idle, as soon as\nmore than a tenth of the file is free. Needs no further disk space than the log of a "
            "few megabytes.\n",
    .options = option_table,
    .example = "  motifd compact --db motifd.db\n",
    .least = 0,
    .most = 0,
};

int command_compact(int argc, char **argv)
{
    struct options given;
    struct storage *storage = NULL;
    struct storage_stats before, after;
    struct error err = {0};
    int code;
    if (!command_read(&usage, argc, argv, &given, &code))
        return code;
    const char *path = command_setting(&given, "db", "MOTIFD_DB", SETTINGS_DB);
    if (path[0] == '\0')
        return command_misused(&usage, "the name of a file is empty");
    if (access(path, F_OK) != 0) {
        (void)fprintf(stderr, "motifd compact: %s: %s\n", path, strerror(errno));
        return EXIT_FAULT;
    }
    enum status status = storage_open(&(struct storage_options){.path = path}, &storage, &err);
    if (!status)
        status = storage_stats_read(storage, &before, &err);
    if (!status)
        status = storage_compact(storage, &err);
    if (!status)
        status = storage_stats_read(storage, &after, &err);
    storage_close(storage);
    if (status) {
        (void)fprintf(stderr, "motifd compact: %s: %s%s\n", path, err.message,
                      status == STATUS_CONFLICT ? "; a running daemon compacts its database itself" : "");
        return EXIT_FAULT;
    }
    bool whole = printf("%s: %.1f MB before, %.1f MB now\n", path, (double)before.file_bytes / 1e6,
                        (double)after.file_bytes / 1e6) >= 0;
    if (fflush(stdout) == 0 && whole)
        return EXIT_OK;
    (void)fputs("motifd compact: the output is incomplete\n", stderr);
    return EXIT_FAULT;
}
