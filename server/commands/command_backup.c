/* motifd backup and motifd restore. Both make a checked copy of a database: backup from a database that a daemon may be
 * writing, restore to a place where no database exists. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/data/dataset.h"
#include "server/commands/commands.h"
#include "server/commands/data_copy.h"
#include "server/commands/usage.h"
#include "server/commands/watching.h"
#include "server/daemon.h"
#include "server/process/backup_record.h"
#include "server/settings/settings.h"
#include "storage/database/copy.h"

static const struct config_field backup_options[] = {
    OPTION_TEXT("db", "FILE", "the database of the daemon (MOTIFD_DB, or " SETTINGS_DB ")"),
    OPTION_TEXT("into", "DIR", "folder for the copy, instead of COPY; its name is motifd-YYYYMMDD-HHMMSS.db, in UTC"),
    OPTION_INTEGER("keep", "N", NULL, 1, 100000,
                   "with --into: keep the N newest copies in the folder, and remove the others (all)"),
    OPTION_FLAG("with-data", "also the uploaded data sets; their copy is the folder COPY.data"),
    OPTION_TEXT("data", "DIR", "with --with-data: folder of data sets (MOTIFD_DATA, or " SETTINGS_DATA ")"),
    OPTIONS_END,
};
static const struct config_field restore_options[] = {
    OPTION_TEXT("db", "FILE", "the database of the daemon (MOTIFD_DB, or " SETTINGS_DB ")"),
    OPTION_FLAG("with-data", "also the uploaded data sets; their copy is the folder COPY.data"),
    OPTION_TEXT("data", "DIR", "with --with-data: folder of data sets (MOTIFD_DATA, or " SETTINGS_DATA ")"),
    OPTIONS_END,
};

static const char *const backup_lines[] = {"backup [--db FILE] [--with-data [--data DIR]] COPY",
                                           "backup [--db FILE] [--with-data [--data DIR]] --into DIR [--keep N]", NULL};
static const struct command_usage backup_usage = {
    .name = "backup",
    .lines = backup_lines,
    .text =
        "Copies the database of a daemon to the file COPY, which must not exist. Use it for backups: the daemon may "
        "run\n"
        "meanwhile and keeps serving. The command verifies the copy as `motifd check` does before it gives the copy "
        "its\n"
        "name. After a fault it prints what is hurt, and there is no copy. The copy carries a digest of all that it "
        "contains,\n"
        "which `motifd restore` verifies. The command prints the SHA-256 of the copy.\n"
        "Uploaded data sets are not in the database. With --with-data the command copies them, too, into the folder\n"
        "COPY.data, and compares every copied file with its source. Timers use --into and --keep; with --into, files "
        "of\n"
        "data sets that the newest copy in the folder has already become hard links of them and take no space.\n",
    .options = backup_options,
    .example = "  motifd backup --db motifd.db --with-data motifd-$(date +%F).copy\n",
    .least = 0,
    .most = 1,
};

static const char *const restore_lines[] = {"restore [--db FILE] [--with-data [--data DIR]] COPY", NULL};
static const struct command_usage restore_usage = {
    .name = "restore",
    .lines = restore_lines,
    .text =
        "Makes a database from COPY, a file that `motifd backup` wrote. Use it after a loss, or to move a daemon to\n"
        "another machine. The database must not exist: the command never overwrites a file. It verifies the whole "
        "copy\n"
        "first, as `motifd check` does, and makes no database from a damaged one. Jobs that were running when the copy "
        "was made continue from their last checkpoint as soon as a daemon\n"
        "opens the database. With --with-data it also copies the data sets of COPY.data; it leaves a data set that "
        "exists\n"
        "as it is.\n",
    .options = restore_options,
    .example = "  motifd restore --db motifd.db motifd-2026-01-31.copy && motifd serve --db motifd.db\n",
    .least = 1,
    .most = 1,
};

/* ---- both commands ------------------------------------------------------------------------------------ */

static int command_backup_copy(const char *name, struct storage_copy_options options)
{
    struct storage_copy_report report;
    struct watching watching;
    struct error err = {0};
    options.watch = watching_begin(&watching, stderr);
    enum status status = storage_copy(&options, &report, &err);
    watching_end(&watching);
    if (status) {
        (void)fprintf(stderr, "motifd %s: from %s to %s: %s\n", name, options.from, options.to, err.message);
        return EXIT_FAULT;
    }
    (void)printf("%s  %s\n", report.sha256, options.to);
    (void)fprintf(stderr, "%lld jobs, %lld checkpoints, %.1f MB: all of it checked\n", (long long)report.jobs,
                  (long long)report.checkpoints, (double)report.bytes / 1e6);
    return EXIT_OK;
}

static int data_fault(const struct command_usage *usage, const struct error *err)
{
    (void)fprintf(stderr, "motifd %s: %s\n", usage->name, err->message);
    return EXIT_FAULT;
}

struct data_folders {
    const char *from, *to;
    const char *previous; /* an earlier copy of the data sets, or NULL */
};

/* Copies the data sets. A second call after the database adds those that were uploaded meanwhile. */
static int copy_data(const struct command_usage *usage, const struct data_folders *data,
                     struct data_copy_report *report)
{
    struct error err = {0};
    return data_copy(data->from, data->to, data->previous, report, &err) ? data_fault(usage, &err) : EXIT_OK;
}

/* Copies the database. With --with-data, also copies the data sets between the daemon's folder and the folder beside
 * the copy of the database. A backup copies the data sets first, and then those that were uploaded meanwhile: so a data
 * set that a job of the copied database needs is there, even if it was deleted in between. Fails before anything is
 * copied if the folder to copy does not exist. */
static int copy_all(const struct command_usage *usage, const struct options *given, const char *file, bool restoring,
                    const char *previous, const struct storage_copy_options *database)
{
    struct data_copy_report before = {0}, report;
    struct error err = {0};
    char beside[DATASET_PATH];
    const char *data = command_setting(given, "data", "MOTIFD_DATA", SETTINGS_DATA);
    bool with_data = options_has(given, "with-data");
    if (snprintf(beside, sizeof beside, "%s.data", file) >= (int)sizeof beside)
        return command_misused(usage, "the name of a file is too long");
    const struct data_folders folders = {restoring ? beside : data, restoring ? data : beside, previous};
    if (with_data && data_exists(folders.from, &err))
        return data_fault(usage, &err);
    /* a copy that exists is not touched; storage_copy() refuses it below */
    bool first = with_data && !restoring && access(database->to, F_OK) != 0 && access(beside, F_OK) != 0;
    int code = first ? copy_data(usage, &folders, &before) : EXIT_OK;
    if (code == EXIT_OK)
        code = command_backup_copy(usage->name, *database);
    if (code != EXIT_OK && first)
        data_remove(beside);
    if (code != EXIT_OK || !with_data)
        return code;
    if (copy_data(usage, &folders, &report) != EXIT_OK)
        return EXIT_FAULT;
    (void)fprintf(stderr, "%lld data sets, %lld files, %.1f MB: all of it compared; %lld data sets existed already",
                  (long long)(before.sets + report.sets), (long long)(before.files + report.files),
                  (double)(before.bytes + report.bytes) / 1e6, (long long)(report.kept - before.sets));
    if (before.linked + report.linked > 0)
        (void)fprintf(stderr, "; %lld files are those of the last copy", (long long)(before.linked + report.linked));
    (void)fprintf(stderr, "\n");
    return EXIT_OK;
}

/* ---- copies in a folder ------------------------------------------------------------------------------- */

#define NAME_PATTERN "motifd-%Y%m%d-%H%M%S.db"
#define NAME_BYTES sizeof "motifd-YYYYMMDD-HHMMSS.db"

static int is_copy(const struct dirent *entry)
{
    const char *name = entry->d_name;
    return strlen(name) == NAME_BYTES - 1 && strncmp(name, "motifd-", 7) == 0 && strspn(name + 7, "0123456789") == 8 &&
           name[15] == '-' && strspn(name + 16, "0123456789") == 6 && strcmp(name + 22, ".db") == 0;
}

/* Removes the copies in the folder except the newest `keep`; their names sort by time. */
static void prune(const char *folder, long long keep)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_copy, alphasort);
    for (int i = 0; i < count; i++) {
        char path[DATASET_PATH + 8];
        if (i < count - keep && snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) < DATASET_PATH) {
            (void)unlink(path);
            (void)snprintf(path + strlen(path), 6, ".data");
            data_remove(path);
        }
        free(entries[i]);
    }
    free(entries);
}

/* Finds the data sets of the newest copy in the folder; "": there are none. */
static void newest_data(const char *folder, char out[DATASET_PATH])
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_copy, alphasort);
    out[0] = '\0';
    for (int i = 0; i < count; i++) {
        char path[DATASET_PATH];
        if (snprintf(path, sizeof path, "%s/%s.data", folder, entries[i]->d_name) < DATASET_PATH &&
            access(path, F_OK) == 0)
            memcpy(out, path, sizeof path);
        free(entries[i]);
    }
    free(entries);
}

/* Writes the name of the new copy in the folder of --into. False: it is too long. */
static bool name_copy(const char *folder, char out[DATASET_PATH])
{
    char name[NAME_BYTES];
    struct tm parts;
    time_t seconds = time(NULL);
    (void)strftime(name, sizeof name, NAME_PATTERN, gmtime_r(&seconds, &parts));
    return snprintf(out, DATASET_PATH, "%s/%s", folder, name) < DATASET_PATH;
}

static int back_up_into(const struct command_usage *usage, const struct options *given, const char *db,
                        const char *folder)
{
    struct error err = {0};
    char file[DATASET_PATH], previous[DATASET_PATH];
    long long keep = 0;
    if (options_integer(given, "keep", &keep, &err))
        return command_misused(usage, err.message);
    if (given->positional_count > 0 || !name_copy(folder, file))
        return command_misused(usage, given->positional_count > 0 ? "give COPY or --into, not both"
                                                                  : "the name of a file is too long");
    newest_data(folder, previous);
    int code = copy_all(usage, given, file, false, previous[0] != '\0' ? previous : NULL,
                        &(struct storage_copy_options){.from = db, .to = file});
    if (code == EXIT_OK && keep > 0) /* after a failure, the older copies are needed */
        prune(folder, keep);
    return code;
}

/* Writes beside the database when the last backup succeeded, for the daemon's metrics. Returns `code`. */
static int recorded(const char *db, int code, int64_t begun)
{
    struct backup_record record = {.succeeded_at = 0};
    if (code == EXIT_USAGE || access(db, F_OK) != 0)
        return code;
    (void)backup_record_read(db, &record);
    record.failed = code != EXIT_OK;
    record.succeeded_at = code == EXIT_OK ? begun : record.succeeded_at;
    backup_record_write(db, &record);
    return code;
}

static int command_backup_run(int argc, char **argv, const struct command_usage *usage, bool restoring)
{
    const int64_t begun = (int64_t)time(NULL);
    struct options given;
    int code;
    if (!command_read(usage, argc, argv, &given, &code))
        return code;
    const char *db = command_setting(&given, "db", "MOTIFD_DB", SETTINGS_DB), *file = given.positional[0];
    const char *into = options_value(&given, "into");
    if (options_has(&given, "data") && !options_has(&given, "with-data"))
        return command_misused(usage, "--data needs --with-data");
    if (options_has(&given, "keep") && into == NULL)
        return command_misused(usage, "--keep needs --into");
    if (into != NULL && into[0] != '\0' && db[0] != '\0')
        return recorded(db, back_up_into(usage, &given, db, into), begun);
    if (file == NULL)
        return command_misused(usage, "the name of the copy is missing");
    if (db[0] == '\0' || file[0] == '\0')
        return command_misused(usage, "the name of a file is empty");
    const struct storage_copy_options database = {
        .from = restoring ? file : db, .to = restoring ? db : file, .to_be_used = restoring};
    code = copy_all(usage, &given, file, restoring, NULL, &database);
    return restoring ? code : recorded(db, code, begun);
}

int command_backup(int argc, char **argv)
{
    return command_backup_run(argc, argv, &backup_usage, false);
}

int command_restore(int argc, char **argv)
{
    return command_backup_run(argc, argv, &restore_usage, true);
}
