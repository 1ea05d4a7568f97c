/* motifd backup and motifd restore. Both make a checked copy of a database: backup from a database that a daemon may be
 * writing, restore to a place where no database exists. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/commands/commands.h"
#include "server/commands/usage.h"
#include "server/daemon.h"
#include "server/settings/settings.h"
#include "storage/database/copy.h"

static const struct option_spec option_table[] = {
    {"db", "FILE", "the database of the daemon (MOTIFD_DB, or " SETTINGS_DB ")"},
    {NULL, NULL, NULL},
};

static const char *const backup_lines[] = {"backup [--db FILE] COPY", NULL};
static const struct command_usage backup_usage = {
    .name = "backup",
    .lines = backup_lines,
    .text =
        "Copies the database of a daemon to the file COPY, which must not exist. Use it for backups: the daemon may "
        "run\n"
        "meanwhile and keeps serving. The command reads the copy again before it gives the copy its name, and checks\n"
        "every page, every reference, and every checkpoint against its digest. It prints the SHA-256 of the copy.\n"
        "Uploaded data sets are not in the database: copy the folder of --data too. Files in it never change.\n",
    .options = option_table,
    .example = "  motifd backup --db motifd.db motifd-$(date +%F).copy\n",
    .least = 1,
    .most = 1,
};

static const char *const restore_lines[] = {"restore [--db FILE] COPY", NULL};
static const struct command_usage restore_usage = {
    .name = "restore",
    .lines = restore_lines,
    .text =
        "Makes a database from COPY, a file that `motifd backup` wrote. Use it after a loss, or to move a daemon to\n"
        "another machine. The database must not exist: the command never overwrites a file. It checks the whole copy\n"
        "first. Jobs that were running when the copy was made continue from their last checkpoint as soon as a daemon\n"
        "opens the database.\n",
    .options = option_table,
    .example = "  motifd restore --db motifd.db motifd-2026-01-31.copy && motifd serve --db motifd.db\n",
    .least = 1,
    .most = 1,
};

/* ---- progress ----------------------------------------------------------------------------------------- */

struct showing {
    const char *what; /* the current phase of the copy; a new phase restarts the estimate of the remaining time */
    double began, shown;
};

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void show(void *context, const char *what, int64_t done, int64_t all)
{
    struct showing *s = context;
    double time = now();
    if (s->what != what)
        *s = (struct showing){what, time, time};
    if (all <= 0 || done <= 0 || (time - s->shown < 0.2 && done < all))
        return;
    s->shown = time;
    double left = (time - s->began) * (double)(all - done) / (double)done;
    (void)fprintf(stderr, "\r%s %3.0f %%, %.0f s left ", what, 100.0 * (double)done / (double)all, left);
}

/* ---- both commands ------------------------------------------------------------------------------------ */

static int copy(const char *name, struct storage_copy_options options)
{
    struct storage_copy_report report;
    struct showing showing = {.what = NULL};
    struct error err = {0};
    if (isatty(STDERR_FILENO)) {
        options.progress = show;
        options.context = &showing;
    }
    enum status status = storage_copy(&options, &report, &err);
    if (showing.what != NULL)
        (void)fputc('\n', stderr);
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "motifd %s: %s\n", name, err.message);
        return EXIT_FAULT;
    }
    (void)printf("%s  %s\n", report.sha256, options.to);
    (void)fprintf(stderr, "%lld jobs, %lld checkpoints, %.1f MB: all of it checked\n", (long long)report.jobs,
                  (long long)report.checkpoints, (double)report.bytes / 1e6);
    return EXIT_OK;
}

static int run(int argc, char **argv, const struct command_usage *usage, bool restoring)
{
    struct options given;
    int code;
    if (!command_read(usage, argc, argv, &given, &code))
        return code;
    const char *named = getenv("MOTIFD_DB"), *db = options_value(&given, "db"), *file = given.positional[0];
    if (db == NULL)
        db = named != NULL && named[0] != '\0' ? named : SETTINGS_DB;
    if (db[0] == '\0' || file[0] == '\0')
        return command_misused(usage, "the name of a file is empty");
    return copy(usage->name, restoring ? (struct storage_copy_options){.from = file, .to = db, .to_be_used = true}
                                       : (struct storage_copy_options){.from = db, .to = file});
}

int command_backup(int argc, char **argv)
{
    return run(argc, argv, &backup_usage, false);
}

int command_restore(int argc, char **argv)
{
    return run(argc, argv, &restore_usage, true);
}
