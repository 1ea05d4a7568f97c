/* motifd check: verifies a database and, with --with-data, the data sets beside it. Changes nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "server/commands/commands.h"
#include "server/commands/usage.h"
#include "server/commands/watching.h"
#include "server/daemon.h"
#include "server/settings/settings.h"
#include "storage/files/dataset_digest.h"

static const struct config_field option_table[] = {
    OPTION_TEXT("db", "FILE", "the database of the daemon, or a copy of it (MOTIFD_DB, or " SETTINGS_DB ")"),
    OPTION_FLAG("with-data", "also the files of the uploaded data sets"),
    OPTION_TEXT("data", "DIR", "with --with-data: folder of data sets (MOTIFD_DATA, or " SETTINGS_DATA ")"),
    OPTIONS_END,
};
static const char *const lines[] = {"check [--db FILE] [--with-data [--data DIR]]", NULL};
static const struct command_usage usage = {
    .name = "check",
    .lines = lines,
    .text =
        "Reads all of a database and finds damage: every page and index, every row against its digest, every "
        "checkpoint\n"
        "against its SHA-256, and every reference. Use it after a failure of a disk, before an upgrade, or on a copy. "
        "The\n"
        "daemon may run meanwhile; the command changes nothing. It prints a line for each fault, which says what is "
        "hurt and\n"
        "what you can do. Exit code: 0 no fault, 1 faults, 2 the check could not be made.\n",
    .options = option_table,
    .example = "  motifd check --db motifd.db --with-data\n  motifd check --db motifd-2026-01-31.copy\n",
    .least = 0,
    .most = 0,
};

static int not_made(const char *path, const struct error *err)
{
    (void)fprintf(stderr, "motifd check: %s: %s\n", path, err->message);
    return EXIT_USAGE;
}

/* Verifies the database. Returns an exit code. */
static int check_database(const char *path)
{
    static const struct log_hook silent;
    struct storage_verify_report report;
    struct watching watching;
    struct error err = {0};
    const struct storage_watch watch = watching_begin(&watching, stdout);
    enum status status = storage_verify(path, &silent, &watch, &report, &err);
    watching_end(&watching);
    if (status)
        return not_made(path, &err);
    if (report.without_digests)
        (void)printf("the rows have no digests: an earlier version of motifd wrote the file; the daemon adds them at "
                     "its next start\n");
    (void)printf("%s: %lld jobs, %lld rows, %lld checkpoints, %.1f MB: ", path, (long long)report.jobs,
                 (long long)report.rows, (long long)report.checkpoints, (double)report.bytes / 1e6);
    (void)printf(report.faults == 0 ? "no faults\n" : "%lld faults\n", (long long)report.faults);
    return report.faults == 0 ? EXIT_OK : EXIT_FAULT;
}

/* Verifies the data sets. Returns an exit code. */
static int check_data(const char *folder)
{
    struct dataset_verify_report report;
    struct watching watching;
    struct error err = {0};
    const struct storage_watch watch = watching_begin(&watching, stdout);
    enum status status = dataset_verify(folder, &watch, &report, &err);
    watching_end(&watching);
    if (status)
        return not_made(folder, &err);
    (void)printf("%s: %lld data sets, %lld files, %.1f MB: ", folder, (long long)report.sets, (long long)report.files,
                 (double)report.bytes / 1e6);
    (void)printf(report.faults == 0 ? "no faults\n" : "%lld faults\n", (long long)report.faults);
    if (report.without > 0)
        (void)printf("%lld of the data sets have no digests of their files: an earlier version of motifd stored them\n",
                     (long long)report.without);
    return report.faults == 0 ? EXIT_OK : EXIT_FAULT;
}

int command_check_database(int argc, char **argv)
{
    struct options given;
    int code, data_code = EXIT_OK;
    if (!command_read(&usage, argc, argv, &given, &code))
        return code;
    const char *db = command_setting(&given, "db", "MOTIFD_DB", SETTINGS_DB);
    const char *data = command_setting(&given, "data", "MOTIFD_DATA", SETTINGS_DATA);
    if (options_has(&given, "data") && !options_has(&given, "with-data"))
        return command_misused(&usage, "--data needs --with-data");
    if (db[0] == '\0' || data[0] == '\0')
        return command_misused(&usage, "the name of a file is empty");
    code = check_database(db);
    if (options_has(&given, "with-data"))
        data_code = check_data(data);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)fputs("motifd check: the output is incomplete\n", stderr);
        return EXIT_USAGE;
    }
    return code > data_code ? code : data_code;
}
