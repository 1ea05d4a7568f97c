/* motifd backup and motifd restore: the same checked copy of a database, from the one a daemon may be writing, and back
 * to where none is. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/commands/commands.h"
#include "server/daemon.h"
#include "server/settings/settings.h"
#include "storage/database/copy.h"

static const char backup_usage[] =
    "usage: motifd backup [--db FILE] COPY\n"
    "\n"
    "Copies a daemon's database (--db, MOTIFD_DB, " SETTINGS_DB
    ") as it is now, whether or not the daemon runs; it is not\n"
    "stopped, nor slowed but for the disk. The copy is one file. It is read again before it gets its name: every page, "
    "every\n"
    "reference, and every checkpoint against the digest it was stored with. What is printed is its SHA-256.\n"
    "Uploaded data sets are no part of the database: copy the folder --data as well, its files never change.\n";

static const char restore_usage[] =
    "usage: motifd restore [--db FILE] COPY\n"
    "\n"
    "Makes a daemon's database of a copy that `motifd backup` made, after looking at all of it. FILE (--db, "
    "MOTIFD_DB,\n"
    "" SETTINGS_DB
    ") must not exist: nothing is ever overwritten. Jobs that ran when the copy was made go on from their last\n"
    "checkpoint when a daemon opens it.\n";

/* ---- progress ----------------------------------------------------------------------------------------- */

struct showing {
    const char *what; /* the phase, to begin its time anew */
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
    if (s->what != what) {
        *s = (struct showing){what, time, time};
    }
    if (all <= 0 || done <= 0 || (time - s->shown < 0.2 && done < all)) {
        return;
    }
    s->shown = time;
    double left = (time - s->began) * (double)(all - done) / (double)done;
    (void)fprintf(stderr, "\r%s %3.0f %%, %.0f s left ", what, 100.0 * (double)done / (double)all, left);
}

/* ---- both commands ------------------------------------------------------------------------------------ */

/* False: wrong usage. */
static bool read_arguments(int argc, char **argv, const char **db, const char **copy)
{
    static const struct option flags[] = {{"db", required_argument, NULL, 'd'}, {NULL, 0, NULL, 0}};
    const char *named = getenv("MOTIFD_DB");
    *db = named != NULL && named[0] != '\0' ? named : SETTINGS_DB;
    optind = 1;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (flag != 'd' || optarg[0] == '\0') {
            return false;
        }
        *db = optarg;
    }
    *copy = argv[optind];
    return optind == argc - 1 && (*copy)[0] != '\0';
}

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
    if (showing.what != NULL) {
        (void)fputc('\n', stderr);
    }
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "motifd %s: %s\n", name, err.message);
        return EXIT_FAULT;
    }
    (void)printf("%s  %s\n", report.sha256, options.to);
    (void)fprintf(stderr, "%lld jobs, %lld checkpoints, %.1f MB: all of it checked\n", (long long)report.jobs,
                  (long long)report.checkpoints, (double)report.bytes / 1e6);
    return EXIT_OK;
}

static int run(int argc, char **argv, const char *usage, bool restoring)
{
    const char *db, *file;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        (void)fputs(usage, stdout);
        return EXIT_OK;
    }
    if (!read_arguments(argc, argv, &db, &file)) {
        (void)fputs(usage, stderr);
        return EXIT_USAGE;
    }
    return copy(argv[0], restoring ? (struct storage_copy_options){.from = file, .to = db, .to_be_used = true}
                                   : (struct storage_copy_options){.from = db, .to = file});
}

int command_backup(int argc, char **argv)
{
    return run(argc, argv, backup_usage, false);
}

int command_restore(int argc, char **argv)
{
    return run(argc, argv, restore_usage, true);
}
