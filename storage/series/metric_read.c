/* Reads series, and reduces those that have more points than requested.
 *
 * All blocks of a series but the last are full. So the number of points follows from the last block, and a binary
 * search over the blocks finds the first point after `since`. A bucket (storage_metric_read()) consists of whole
 * blocks, which are read as summaries (pyramid.h), and of points of the two blocks at its edges. The result is the same
 * as if all points had been read. Memory is proportional to the answer. */
#include "storage/series/pyramid.h"

#include <stdlib.h>
#include <string.h>

/* Finds the index of the first point with step > since, given the index of the last block. */
static enum status find_start(struct db *db, int64_t series, int64_t last_number, int64_t since, int64_t *start,
                              struct error *err)
{
    int64_t low = 0, high = last_number + 1; /* the last step of each block below `low` is at most `since` */
    enum status status = STATUS_OK;
    while (low < high && !status) {
        int64_t middle = low + (high - low) / 2, last;
        status = db_integer(db, &last, INT64_MAX, err, "SELECT last FROM block WHERE id = ?", "i",
                            (series << BLOCK_BITS) + middle);
        if (last <= since)
            low = middle + 1;
        else
            high = middle;
    }
    *start = low * BLOCK_POINTS;
    if (status || low > last_number)
        return status;
    sqlite3_stmt *stmt;
    struct block block = {0};
    status = db_query(db, &stmt, err, "SELECT points FROM block WHERE id = ?", "i", (series << BLOCK_BITS) + low);
    if (!status && db_row(db, stmt, &status, err)) {
        status = block_decode(stmt, 0, &block, err);
        db_done(stmt);
    }
    for (int i = 0; i < block.count && block.points[i].step <= since; i++)
        ++*start;
    return status;
}

/* ---- reading consecutive points, block by block ------------------------------------------------------ */

struct stretch {
    struct db *db;
    int64_t series, number; /* number: index of the block in memory; -1 if there is none */
    struct block block;
};

/* Reads block `number` if it is not in memory. CORRUPT: it has fewer than `count` points. */
static enum status stretch_hold(struct stretch *stretch, int64_t number, int count, struct error *err)
{
    sqlite3_stmt *stmt;
    if (stretch->number == number)
        return STATUS_OK;
    stretch->number = -1;
    stretch->block.count = 0;
    enum status status = db_query(stretch->db, &stmt, err, "SELECT points FROM block WHERE id = ?", "i",
                                  (stretch->series << BLOCK_BITS) + number);
    if (!status && db_row(stretch->db, stmt, &status, err)) {
        status = block_decode(stmt, 0, &stretch->block, err);
        db_done(stmt);
    }
    if (!status && stretch->block.count < count)
        status = error_set(err, STATUS_CORRUPT, NULL, "a block of a metric series is missing");
    if (!status)
        stretch->number = number;
    return status;
}

/* Calls `take` for each point with an index in [from, to). */
static enum status stretch_each(struct stretch *stretch, int64_t from, int64_t to,
                                void (*take)(void *context, struct storage_point point), void *context,
                                struct error *err)
{
    enum status status = STATUS_OK;
    while (from < to && !status) {
        int64_t number = from / BLOCK_POINTS, begin = number * BLOCK_POINTS;
        int end = (int)(to - begin < BLOCK_POINTS ? to - begin : BLOCK_POINTS);
        status = stretch_hold(stretch, number, end, err);
        for (int i = (int)(from - begin); i < end && !status; i++)
            take(context, stretch->block.points[i]);
        from = begin + end;
    }
    return status;
}

static void take_point(void *context, struct storage_point point)
{
    struct storage_series *out = context;
    out->points[out->count++] = point;
}

static void take_summary(void *context, struct storage_point point)
{
    summary_add(context, point);
}

/* ---- reduced series ---------------------------------------------------------------------------------- */

/* Summarises the points with indices in [from, to). Whole blocks use their stored summaries, except for the last block
 * of the series, which has none. */
static enum status metric_read_summarise(struct stretch *stretch, struct pyramid_reader *pyramid, int64_t from,
                                         int64_t to, int64_t sealed, struct summary *out, struct error *err)
{
    int64_t first = (from + BLOCK_POINTS - 1) / BLOCK_POINTS, last = to / BLOCK_POINTS;
    last = last < sealed ? last : sealed;
    summary_clear(out);
    if (first >= last)
        return stretch_each(stretch, from, to, take_summary, out, err);
    enum status status = stretch_each(stretch, from, first * BLOCK_POINTS, take_summary, out, err);
    if (status)
        return status;
    status = pyramid_join(pyramid, first, last, out, err);
    if (status)
        return status;
    return stretch_each(stretch, last * BLOCK_POINTS, to, take_summary, out, err);
}

static enum status reduce_series(struct stretch *stretch, int64_t start, int64_t end, int64_t sealed, int64_t buckets,
                                 struct storage_series *out, struct error *err)
{
    struct pyramid_reader *pyramid = malloc(sizeof *pyramid);
    if (pyramid == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a metric series");
    pyramid_reader_init(pyramid, stretch->db, stretch->series);
    enum status status = STATUS_OK;
    int64_t n = end - start;
    for (int64_t b = 0; b < buckets && !status; b++) {
        struct summary summary;
        status = metric_read_summarise(stretch, pyramid, start + b * n / buckets, start + (b + 1) * n / buckets, sealed,
                                       &summary, err);
        if (!status)
            out->count += summary_points(&summary, out->points + out->count);
    }
    free(pyramid);
    return status;
}

static enum status read_series(struct db *db, int64_t series, const struct storage_metric_query *query,
                               struct arena *arena, struct storage_series *out, struct error *err)
{
    struct block block;
    int64_t last_id, start, max = query->max_points;
    enum status status = block_last(db, series, &last_id, &block, err);
    if (status || last_id < 0)
        return status;
    int64_t last_number = last_id - (series << BLOCK_BITS), end = last_number * BLOCK_POINTS + block.count;
    status = find_start(db, series, last_number, query->since, &start, err);
    if (!status && query->until != NULL && block.points[block.count - 1].step > *query->until)
        status = find_start(db, series, last_number, *query->until, &end, err);
    if (status || start >= end)
        return status;
    out->total = end - start;
    if (max > 0 && max < 3)
        max = 3;
    int64_t buckets = max > 0 && out->total > max ? max / 3 : 0;
    size_t capacity = (size_t)(buckets > 0 ? 3 * buckets : out->total);
    out->points = arena_alloc(arena, capacity * sizeof *out->points);
    if (out->points == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a metric series");
    struct stretch stretch = {.db = db, .series = series, .number = -1};
    return buckets > 0 ? reduce_series(&stretch, start, end, last_number, buckets, out, err)
                       : stretch_each(&stretch, start, end, take_point, out, err);
}

static bool is_wanted(const struct storage_metric_query *query, const char *name)
{
    if (query->names == NULL)
        return true;
    for (size_t i = 0; i < query->name_count; i++)
        if (strcmp(query->names[i], name) == 0)
            return true;
    return false;
}

struct found {
    int64_t id;
    const char *name;
};

/* Lists the requested series of a job, sorted by name. */
static enum status list_series(struct db *db, int64_t job, const struct storage_metric_query *query,
                               struct arena *arena, struct found **found, size_t *count, struct error *err)
{
    sqlite3_stmt *stmt;
    int64_t rows;
    enum status status = db_integer(db, &rows, 0, err, "SELECT count(*) FROM series WHERE job = ?", "i", job);
    *count = 0;
    if (status || rows == 0)
        return status;
    *found = arena_zalloc(arena, (size_t)rows, sizeof **found);
    if (*found == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list metric series");
    status = db_query(db, &stmt, err, "SELECT id, name FROM series WHERE job = ? ORDER BY name", "i", job);
    while (!status && db_row(db, stmt, &status, err)) {
        const char *name = (const char *)sqlite3_column_text(stmt, 1);
        bool ok = name != NULL;
        if (ok && *count < (size_t)rows && is_wanted(query, name)) {
            (*found)[*count].id = sqlite3_column_int64(stmt, 0);
            (*found)[(*count)++].name = db_text(stmt, 1, arena, &ok);
        }
        if (!ok) {
            status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list metric series");
            db_done(stmt);
            break;
        }
    }
    return status;
}

enum status storage_metric_read(struct storage *storage, const char *id, const struct storage_metric_query *query,
                                struct arena *arena, struct storage_series **series, size_t *count, struct error *err)
{
    struct db *db;
    struct found *found = NULL;
    int64_t job;
    *series = NULL;
    *count = 0;
    if (query->max_points < 0)
        return error_set(err, STATUS_INVALID, NULL, "max_points must not be negative");
    enum status status = reader_begin(storage, &db, err);
    if (status)
        return status;
    status = job_number(db, id, &job, err);
    if (!status)
        status = list_series(db, job, query, arena, &found, count, err);
    if (!status && *count > 0 && (*series = arena_zalloc(arena, *count, sizeof **series)) == NULL)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read metric series");
    for (size_t i = 0; i < *count && !status; i++) {
        (*series)[i].name = found[i].name;
        status = read_series(db, found[i].id, query, arena, &(*series)[i], err);
    }
    reader_end(storage, db);
    if (status) {
        *series = NULL;
        *count = 0;
    }
    return status;
}
