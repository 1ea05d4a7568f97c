/* Appends points to series and cuts series back to a step. schema.c explains the layout. */
#include "storage/series/pyramid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 64
#define BATCH_MAX 4096 /* upper limit of the points in one command */
#define TAILS 32       /* upper limit of the series whose last block a command keeps in memory */

/* ---- append ------------------------------------------------------------------------------------------ */

struct entry {
    char name[NAME_BYTES];
    struct storage_point point;
};

struct batch {
    struct command base;
    char id[STORAGE_ID];
    struct entry *entries;
    size_t count, capacity;
};

struct tail { /* the last block of a series, while a command appends to it */
    const char *name;
    int64_t series, id;
    bool changed;
    struct block block;
};

static enum status tail_open(struct db *db, int64_t job, const char *name, struct tail *tail, struct error *err)
{
    tail->name = name;
    tail->changed = false;
    enum status status =
        db_integer(db, &tail->series, 0, err, "SELECT id FROM series WHERE job = ? AND name = ?", "it", job, name);
    if (!status && tail->series == 0) {
        status = db_run(db, err, "INSERT INTO series(job, name) VALUES (?, ?)", "it", job, name);
        tail->series = sqlite3_last_insert_rowid(db->handle);
    }
    if (!status)
        status = block_last(db, tail->series, &tail->id, &tail->block, err);
    if (tail->id < 0)
        tail->id = tail->series << BLOCK_BITS;
    return status;
}

static enum status tail_write(struct db *db, struct tail *tail, struct error *err)
{
    enum status status = tail->changed ? block_write(db, tail->id, &tail->block, err) : STATUS_OK;
    tail->changed = false;
    return status;
}

static enum status tail_add(struct storage *storage, struct db *db, struct tail *tail, struct storage_point point,
                            struct error *err)
{
    struct block *block = &tail->block;
    int64_t last = block->count > 0 ? block->points[block->count - 1].step : INT64_MIN;
    if (block->count > 0 && point.step < last) {
        atomic_fetch_add(&storage->writer.points_dropped, 1);
        return STATUS_OK;
    }
    if (block->count > 0 && point.step == last)
        block->count--;
    if (block->count == BLOCK_POINTS) {
        enum status status = tail_write(db, tail, err);
        if (status)
            return status;
        if (((tail->id + 1) >> BLOCK_BITS) != tail->series)
            return error_set(err, STATUS_LIMIT, NULL, "a metric series is full");
        status = pyramid_seal(db, tail->series, tail->id - (tail->series << BLOCK_BITS), block, err);
        if (status)
            return status;
        tail->id++;
        block->count = 0;
    }
    block->points[block->count++] = point;
    tail->changed = true;
    return STATUS_OK;
}

static enum status write_tails(struct db *db, struct tail *tails, int *count, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < *count && !status; i++)
        status = tail_write(db, &tails[i], err);
    *count = 0;
    return status;
}

/* Adds one event for the whole batch. A client that wants the points reads them from the series. */
static enum status announce(struct db *db, int64_t job, const struct batch *batch, struct error *err)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    char span[48];
    for (size_t i = 0; i < batch->count; i++) {
        int64_t step = batch->entries[i].point.step;
        first = step < first ? step : first;
        last = step > last ? step : last;
    }
    (void)snprintf(span, sizeof span, "%lld %lld", (long long)first, (long long)last);
    return event_add(db, job, "metric", span, err);
}

static enum status batch_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct batch *batch = (struct batch *)command;
    int64_t job;
    enum status status = job_number(db, batch->id, &job, NULL);
    if (status)
        return status == STATUS_NOT_FOUND ? STATUS_OK : error_set(err, status, NULL, "metric points cannot be stored");
    struct tail *tails = calloc(TAILS, sizeof *tails);
    if (tails == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to store metric points");
    int open = 0;
    for (size_t i = 0; i < batch->count && !status; i++) {
        const struct entry *entry = &batch->entries[i];
        int t = 0;
        while (t < open && strcmp(tails[t].name, entry->name) != 0)
            t++;
        if (t == open) {
            if (open == TAILS)
                status = write_tails(db, tails, &open, err);
            t = open;
            if (!status)
                status = tail_open(db, job, entry->name, &tails[open++], err);
        }
        if (!status)
            status = tail_add(storage, db, &tails[t], entry->point, err);
    }
    if (!status)
        status = write_tails(db, tails, &open, err);
    free(tails);
    if (!status)
        status = announce(db, job, batch, err);
    command->adds_events = !status;
    return status;
}

static void batch_destroy(struct command *command)
{
    struct batch *batch = (struct batch *)command;
    free(batch->entries);
    free(batch);
}

struct offer {
    const char *id;
    const struct storage_metric *metrics;
    size_t count;
};

static bool batch_reserve(struct batch *batch, size_t more)
{
    size_t need = batch->count + more;
    if (need > BATCH_MAX)
        return false;
    if (need > batch->capacity) {
        size_t capacity = need < 16 ? 16 : need < BATCH_MAX / 2 ? need * 2 : BATCH_MAX;
        struct entry *entries = realloc(batch->entries, capacity * sizeof *entries);
        if (entries == NULL)
            return false;
        batch->entries = entries;
        batch->base.bytes += (capacity - batch->capacity) * sizeof *entries;
        batch->capacity = capacity;
    }
    return true;
}

static bool batch_same(const struct command *earlier, const struct command *later)
{
    return strcmp(((const struct batch *)earlier)->id, ((const struct batch *)later)->id) == 0;
}

static bool batch_join(struct command *earlier, struct command *later)
{
    struct batch *to = (struct batch *)earlier;
    const struct batch *from = (const struct batch *)later;
    if (!batch_reserve(to, from->count))
        return false;
    memcpy(to->entries + to->count, from->entries, from->count * sizeof *from->entries);
    to->count += from->count;
    return true;
}
static const struct retry_rule batch_retry = {batch_same, batch_join};

static bool batch_add(struct command *queued, void *context)
{
    struct batch *batch = (struct batch *)queued;
    const struct offer *offer = context;
    if (strcmp(batch->id, offer->id) != 0 || !batch_reserve(batch, offer->count))
        return false;
    for (size_t i = 0; i < offer->count; i++) {
        struct entry *entry = &batch->entries[batch->count++];
        (void)snprintf(entry->name, sizeof entry->name, "%s", offer->metrics[i].name);
        entry->point = offer->metrics[i].point;
    }
    return true;
}

static enum status append_some(struct storage *storage, struct offer *offer, struct error *err)
{
    if (writer_merge(storage, batch_run, batch_add, offer))
        return STATUS_OK;
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to store metric points");
    batch->base.run = batch_run;
    batch->base.destroy = batch_destroy;
    batch->base.bytes = sizeof *batch;
    batch->base.retry = &batch_retry;
    (void)snprintf(batch->id, sizeof batch->id, "%s", offer->id);
    if (!batch_add(&batch->base, offer)) {
        batch_destroy(&batch->base);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to store metric points");
    }
    return writer_post(storage, &batch->base, err);
}

enum status storage_metric_append(struct storage *storage, const char *id, const struct storage_metric *metrics,
                                  size_t count, struct error *err)
{
    if (strlen(id) >= STORAGE_ID)
        return STATUS_OK; /* no job has an id of this length, and points of an unknown job are dropped */
    for (size_t i = 0; i < count; i++)
        if (metrics[i].name[0] == '\0' || strlen(metrics[i].name) >= NAME_BYTES)
            return error_set(err, STATUS_INVALID, NULL, "a metric's name must have 1 to %d bytes", NAME_BYTES - 1);
    enum status status = STATUS_OK;
    for (size_t done = 0; done < count && !status;) {
        size_t some = count - done < BATCH_MAX ? count - done : BATCH_MAX;
        struct offer offer = {.id = id, .metrics = metrics + done, .count = some};
        status = append_some(storage, &offer, err);
        done += some;
    }
    return status;
}

/* ---- import of complete series ----------------------------------------------------------------------- */

static enum status check_series(const struct storage_series *series, struct error *err)
{
    if (series->name[0] == '\0' || strlen(series->name) >= NAME_BYTES)
        return error_set(err, STATUS_INVALID, NULL, "the name of a series must have 1 to %d bytes", NAME_BYTES - 1);
    for (size_t i = 1; i < series->count; i++)
        if (series->points[i].step <= series->points[i - 1].step)
            return error_set(err, STATUS_INVALID, NULL, "the steps of series %s do not increase", series->name);
    return STATUS_OK;
}

enum status metric_fill(struct db *db, int64_t job, const struct storage_series *series, struct error *err)
{
    struct block block;
    enum status status = check_series(series, err);
    if (!status)
        status = db_run(db, err, "INSERT INTO series(job, name) VALUES (?, ?)", "it", job, series->name);
    int64_t number = sqlite3_last_insert_rowid(db->handle);
    for (size_t at = 0; !status && at < series->count; at += BLOCK_POINTS) {
        size_t left = series->count - at;
        block.count = left < BLOCK_POINTS ? (int)left : BLOCK_POINTS;
        memcpy(block.points, series->points + at, (size_t)block.count * sizeof *block.points);
        status = block_write(db, (number << BLOCK_BITS) + (int64_t)(at / BLOCK_POINTS), &block, err);
        if (!status && left > BLOCK_POINTS)
            status = pyramid_seal(db, number, (int64_t)(at / BLOCK_POINTS), &block, err);
    }
    return status;
}

/* ---- rewind ------------------------------------------------------------------------------------------ */

static enum status rewind_series(struct db *db, int64_t series, int64_t last_step, struct error *err)
{
    struct block block;
    int64_t id;
    enum status status = db_run(db, err, "DELETE FROM block WHERE id >= ? AND id < ? AND first > ?", "iii",
                                series << BLOCK_BITS, (series + 1) << BLOCK_BITS, last_step);
    if (status)
        return status;
    status = block_last(db, series, &id, &block, err);
    if (status)
        return status;
    status = pyramid_cut(db, series, id < 0 ? 0 : id - (series << BLOCK_BITS), err);
    if (status)
        return status;
    if (id < 0)
        return db_run(db, err, "DELETE FROM series WHERE id = ?", "i", series);
    int keep = block.count;
    while (keep > 0 && block.points[keep - 1].step > last_step)
        keep--;
    if (keep == block.count)
        return STATUS_OK;
    block.count = keep; /* at least 1, because the block's first point is not after last_step */
    return block_write(db, id, &block, err);
}

enum status metric_rewind(struct db *db, int64_t job, int64_t last_step, struct error *err)
{
    int64_t series = 0;
    for (;;) {
        enum status status =
            db_integer(db, &series, 0, err, "SELECT id FROM series WHERE job = ? AND id > ? ORDER BY id LIMIT 1", "ii",
                       job, series);
        if (status || series == 0)
            return status;
        status = rewind_series(db, series, last_step, err);
        if (status)
            return status;
    }
}
