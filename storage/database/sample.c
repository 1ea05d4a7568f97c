/* Reads stored data again while the store is used, and compares them with their digests: a disk can lose bits of data
 * that nobody reads for months. The check thread (check.c) does this, with a low priority, one piece after another: the
 * rows of a table, the bytes of a checkpoint, the files of a data set. It waits between two pieces, for at least
 * options.sample_seconds and IDLE times as long as the piece took, or BUSY times if the store was written to meanwhile.
 *
 * A fault counts if a second look finds it too, because a data set may be deleted while its files are read. As during
 * the check after an unclean stop, the writer interrupts a statement that keeps the write-ahead log from restarting;
 * the piece is then left out until the next pass. */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "storage/database/row_digest.h"
#include "storage/files/dataset.h"
#include "storage/files/dataset_digest.h"
#include "storage/storage_int.h"

#define IDLE 19.0 /* 5 % of the time */
#define BUSY 99.0

struct sampling {
    struct storage *storage;
    struct storage_watch watch;
    int64_t faults;  /* of this pass */
    int64_t found;   /* of the piece in progress */
    char first[600]; /* the first of them */
};

/* A piece: a table, the checkpoint after number `id`, or a data set. */
struct piece {
    const char *table, *set;
    int64_t id;
};

static void note_fault(void *context, const struct storage_fault *fault)
{
    struct sampling *s = context;
    if (s->found++ == 0)
        (void)snprintf(s->first, sizeof s->first, "%s %s: %s", fault->where, fault->what, fault->remedy);
}

static enum status look(struct sampling *s, struct piece *piece, struct error *err)
{
    struct check *check = &s->storage->check;
    struct storage_verify_report report = {.faults = 0};
    struct dataset_verify_report sets = {.faults = 0};
    enum status status;
    s->found = 0;
    check_reading(check, true);
    if (piece->set != NULL)
        status = dataset_verify_set(s->storage->options.datasets, piece->set, &s->watch, &sets, err);
    else if (piece->table != NULL)
        status = verify_table(&check->db, piece->table, &s->watch, &report, err);
    else
        status = verify_checkpoint(&check->db, &piece->id, &s->watch, &report, err);
    check_reading(check, false);
    check->rows += report.rows;
    check->checkpoints += report.checkpoints;
    check->files += sets.files;
    return status;
}

static int64_t commits_of(struct storage *storage)
{
    struct writer *w = &storage->writer;
    pthread_mutex_lock(&w->lock);
    int64_t commits = w->commits;
    pthread_mutex_unlock(&w->lock);
    return commits;
}

/* Waits, then reads a piece, and reports a fault that a second look confirms. Returns false if the thread must stop. */
static bool examine(struct sampling *s, struct piece *piece, double *seconds)
{
    struct storage *storage = s->storage;
    struct error err = {0};
    struct piece again = *piece;
    int64_t commits = commits_of(storage);
    double least = storage->options.sample_seconds;
    check_wait(&storage->check, *seconds * IDLE > least ? *seconds * IDLE : least);
    if (commits_of(storage) != commits)
        check_wait(&storage->check, *seconds * (BUSY - IDLE));
    if (atomic_load(&storage->check.stop))
        return false;
    double start = clock_seconds();
    enum status status = look(s, piece, &err);
    if (!status && s->found > 0)
        status = look(s, &again, &err);
    *seconds = clock_seconds() - start;
    if (status || s->found == 0)
        return !atomic_load(&storage->check.stop);
    s->faults += s->found;
    if (s->faults > storage->check.faults)
        storage->check.faults = s->faults;
    log_line(&storage->log, LOG_LEVEL_ERROR, "stored data are damaged (%lld faults): %s", (long long)s->found,
             s->first);
    return true;
}

/* Reads everything once. Lists of tables and data sets are those at the beginning. */
static void pass(struct sampling *s, double *seconds)
{
    struct storage *storage = s->storage;
    struct arena arena;
    struct error err = {0};
    const char **sets = NULL, *tables[64];
    size_t set_count = 0, table_count = 0;
    sqlite3_stmt *stmt;
    bool more = true;
    arena_init(&arena, 4096, 0);
    enum status status =
        db_query(&storage->check.db, &stmt, &err, ROW_DIGEST_TABLES " UNION ALL SELECT 'sqlite_sequence'", "");
    while (!status && db_row(&storage->check.db, stmt, &status, &err)) {
        const char *name = db_text(stmt, 0, &arena, &more);
        if (more && table_count < sizeof tables / sizeof tables[0])
            tables[table_count++] = name;
    }
    more = true;
    if (storage->options.datasets != NULL && dataset_list(storage->options.datasets, &arena, &sets, &set_count, &err))
        set_count = 0;
    for (size_t i = 0; i < table_count && more; i++)
        more = examine(s, &(struct piece){.table = tables[i]}, seconds);
    for (struct piece piece = {.id = 0}; more && piece.id >= 0;)
        more = examine(s, &piece, seconds);
    for (size_t i = 0; i < set_count && more; i++)
        more = examine(s, &(struct piece){.set = sets[i]}, seconds);
    arena_close(&arena);
    if (!more)
        return;
    storage->check.faults = s->faults;
    storage->check.passes++;
}

void sample_until_stopped(struct storage *storage)
{
    double seconds = 0;
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), 19); /* of this thread; jobs may have up to 19 as well */
    while (!atomic_load(&storage->check.stop)) {
        struct sampling s = {.storage = storage};
        s.watch = (struct storage_watch){.fault = note_fault, .context = &s};
        pass(&s, &seconds);
    }
}
