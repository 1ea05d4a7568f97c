/* Reading series, thinned out where there are more points than asked for.
 *
 * All blocks of a series but the last are full, so the number of points follows from the last
 * block, and the first point after `since` from a binary search over blocks. One pass then streams
 * the rest: memory is that of the answer. */
#include "storage/metric_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bucket {
    int64_t index[3]; /* of the smallest, largest and last point; -1: none */
    struct storage_point point[3];
};

static void bucket_clear(struct bucket *bucket)
{
    bucket->index[0] = bucket->index[1] = bucket->index[2] = -1;
}

static void bucket_add(struct bucket *bucket, int64_t index, struct storage_point point)
{
    if (!isnan(point.value)) {
        if (bucket->index[0] < 0 || point.value < bucket->point[0].value) {
            bucket->index[0] = index;
            bucket->point[0] = point;
        }
        if (bucket->index[1] < 0 || point.value > bucket->point[1].value) {
            bucket->index[1] = index;
            bucket->point[1] = point;
        }
    }
    bucket->index[2] = index;
    bucket->point[2] = point;
}

/* Appends what the bucket found in step order, each point once. */
static void bucket_emit(const struct bucket *bucket, struct storage_series *out)
{
    int first = bucket->index[0] <= bucket->index[1] ? 0 : 1;
    const int order[3] = {first, 1 - first, 2};
    int64_t last = -1;
    for (int i = 0; i < 3; i++) {
        int64_t index = bucket->index[order[i]];
        if (index > last) {
            out->points[out->count++] = bucket->point[order[i]];
            last = index;
        }
    }
}

/* The index of the first point with step > since, given the number of the last block. */
static enum status find_start(struct db *db, int64_t series, int64_t last_number, int64_t since, int64_t *start,
                              struct error *err)
{
    int64_t low = 0, high = last_number + 1; /* blocks below `low` end at or before `since` */
    enum status status = STATUS_OK;
    while (low < high && status == STATUS_OK) {
        int64_t middle = low + (high - low) / 2, last;
        status = db_integer(db, &last, INT64_MAX, err, "SELECT last FROM block WHERE id = ?", "i",
                            (series << BLOCK_BITS) + middle);
        if (last <= since)
            low = middle + 1;
        else
            high = middle;
    }
    *start = low * BLOCK_POINTS;
    if (status != STATUS_OK || low > last_number)
        return status;
    sqlite3_stmt *stmt;
    struct block block = {0};
    status = db_query(db, &stmt, err, "SELECT points FROM block WHERE id = ?", "i", (series << BLOCK_BITS) + low);
    if (status == STATUS_OK && db_row(db, stmt, &status, err)) {
        status = block_decode(stmt, 0, &block, err);
        db_done(stmt);
    }
    for (int i = 0; i < block.count && block.points[i].step <= since; i++)
        ++*start;
    return status;
}

/* Passes points [start, end) through `buckets` buckets; 0: takes them as they are. */
static enum status stream(struct db *db, int64_t series, int64_t start, int64_t end, int64_t buckets,
                          struct storage_series *out, struct error *err)
{
    sqlite3_stmt *stmt;
    struct bucket bucket;
    struct block block;
    int64_t at = start / BLOCK_POINTS * BLOCK_POINTS, filled = 0, n = end - start;
    bucket_clear(&bucket);
    enum status status =
        db_query(db, &stmt, err, "SELECT id, points FROM block WHERE id >= ? AND id < ? ORDER BY id", "ii",
                 (series << BLOCK_BITS) + at / BLOCK_POINTS, (series + 1) << BLOCK_BITS);
    while (status == STATUS_OK && db_row(db, stmt, &status, err)) {
        if (at >= end) { /* the rest of the block was not asked for */
            db_done(stmt);
            break;
        }
        status = block_decode(stmt, 1, &block, err);
        if (status == STATUS_OK && (sqlite3_column_int64(stmt, 0) != (series << BLOCK_BITS) + at / BLOCK_POINTS ||
                                    (block.count < BLOCK_POINTS && at + block.count < end)))
            status = error_set(err, STATUS_CORRUPT, NULL, "a metric series has a hole");
        if (status != STATUS_OK) {
            db_done(stmt);
            break;
        }
        for (int i = 0; i < block.count && at < end; i++, at++) {
            if (at < start)
                continue;
            if (buckets == 0) {
                out->points[out->count++] = block.points[i];
                continue;
            }
            bucket_add(&bucket, at, block.points[i]);
            if (at - start + 1 == (filled + 1) * n / buckets) {
                bucket_emit(&bucket, out);
                bucket_clear(&bucket);
                filled++;
            }
        }
    }
    return status;
}

static enum status read_series(struct db *db, int64_t series, const struct storage_metric_query *query,
                               struct arena *arena, struct storage_series *out, struct error *err)
{
    struct block block;
    int64_t last_id, start, max = query->max_points;
    enum status status = block_last(db, series, &last_id, &block, err);
    if (status != STATUS_OK || last_id < 0)
        return status;
    int64_t last_number = last_id - (series << BLOCK_BITS), end = last_number * BLOCK_POINTS + block.count;
    status = find_start(db, series, last_number, query->since, &start, err);
    if (status == STATUS_OK && query->until != NULL && block.points[block.count - 1].step > *query->until)
        status = find_start(db, series, last_number, *query->until, &end, err);
    if (status != STATUS_OK || start >= end)
        return status;
    out->total = end - start;
    if (max > 0 && max < 3)
        max = 3;
    int64_t buckets = max > 0 && out->total > max ? max / 3 : 0;
    size_t room = (size_t)(buckets > 0 ? 3 * buckets : out->total);
    out->points = arena_alloc(arena, room * sizeof *out->points);
    if (out->points == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory left to read a metric series");
    return stream(db, series, start, end, buckets, out, err);
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

/* The wanted series of a job, by name. */
static enum status list_series(struct db *db, int64_t job, const struct storage_metric_query *query,
                               struct arena *arena, struct found **found, size_t *count, struct error *err)
{
    sqlite3_stmt *stmt;
    int64_t rows;
    enum status status = db_integer(db, &rows, 0, err, "SELECT count(*) FROM series WHERE job = ?", "i", job);
    *count = 0;
    if (status != STATUS_OK || rows == 0)
        return status;
    *found = arena_zalloc(arena, (size_t)rows, sizeof **found);
    if (*found == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory left to list metric series");
    status = db_query(db, &stmt, err, "SELECT id, name FROM series WHERE job = ? ORDER BY name", "i", job);
    while (status == STATUS_OK && db_row(db, stmt, &status, err)) {
        const char *name = (const char *)sqlite3_column_text(stmt, 1);
        bool ok = name != NULL;
        if (ok && *count < (size_t)rows && is_wanted(query, name)) {
            (*found)[*count].id = sqlite3_column_int64(stmt, 0);
            (*found)[(*count)++].name = db_text(stmt, 1, arena, &ok);
        }
        if (!ok) {
            status = error_set(err, STATUS_NO_MEMORY, NULL, "no memory left to list metric series");
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
    if (status != STATUS_OK)
        return status;
    status = job_number(db, id, &job, err);
    if (status == STATUS_OK)
        status = list_series(db, job, query, arena, &found, count, err);
    if (status == STATUS_OK && *count > 0 && (*series = arena_zalloc(arena, *count, sizeof **series)) == NULL)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "no memory left to read metric series");
    for (size_t i = 0; i < *count && status == STATUS_OK; i++) {
        (*series)[i].name = found[i].name;
        status = read_series(db, found[i].id, query, arena, &(*series)[i], err);
    }
    reader_end(storage, db);
    if (status != STATUS_OK) {
        *series = NULL;
        *count = 0;
    }
    return status;
}
