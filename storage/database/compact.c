/* Returns the free pages of the database file to the file system, a few at a time. The file has SQLite's incremental
 * vacuum switched on from its first page (storage.c). Moving a page costs a write, and training jobs soon need the
 * pages of a deleted checkpoint again, so the writer leaves some free pages alone while jobs run. */
#include "storage/storage_int.h"

#define STEP "PRAGMA incremental_vacuum(128)" /* a MiB */
#define FEW 256                               /* free pages that are never worth a write: 2 MiB */
#define MANY 8192                             /* free pages that are too many even while jobs run: 64 MiB */

static enum status count_pages(struct db *db, int64_t *unused, int64_t *pages, struct error *err)
{
    enum status status = db_integer(db, unused, 0, err, "PRAGMA freelist_count", "");
    return status ? status : db_integer(db, pages, 0, err, "PRAGMA page_count", "");
}

/* Moves pages to the front and cuts the end of the file. *more: the next step would shrink it again. */
static enum status shrink(struct db *db, int64_t unused, bool *more, struct error *err)
{
    int64_t left = unused, pages;
    enum status status = db_run(db, err, STEP, "");
    if (!status)
        status = count_pages(db, &left, &pages, err);
    *more = !status && left > 0 && left < unused;
    return status;
}

enum status compact_step(struct db *db, bool *more, struct error *err)
{
    int64_t unused, pages, running = 0;
    *more = false;
    enum status status = count_pages(db, &unused, &pages, err);
    if (!status)
        status = db_integer(db, &running, 0, err, "SELECT number FROM tally WHERE what = 'running'", "");
    bool worth = running > 0 ? unused > MANY && unused * 4 > pages : unused > FEW && unused * 11 > pages;
    return status || !worth ? status : shrink(db, unused, more, err);
}

struct compact {
    struct command base;
    bool more;
};

static enum status compact_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct compact *c = (struct compact *)command;
    int64_t unused, pages;
    enum status status = sweep_step(storage, db, &c->more, err);
    if (status || c->more)
        return status;
    status = count_pages(db, &unused, &pages, err);
    return status || unused == 0 ? status : shrink(db, unused, &c->more, err);
}

enum status storage_compact(struct storage *storage, struct error *err)
{
    enum status status;
    struct compact c;
    do {
        c = (struct compact){.base = {.run = compact_run}};
        status = writer_call(storage, &c.base, err);
    } while (!status && c.more);
    return status;
}
