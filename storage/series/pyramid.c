/* Writes and reads blocks of points and the stored summaries of blocks. pyramid.h explains the levels. */
#include "storage/series/pyramid.h"

#include <endian.h>
#include <math.h>
#include <string.h>

static void point_encode(struct storage_point point, unsigned char *out)
{
    uint64_t step, value;
    memcpy(&step, &point.step, 8);
    memcpy(&value, &point.value, 8);
    step = htole64(step);
    value = htole64(value);
    memcpy(out, &step, 8);
    memcpy(out + 8, &value, 8);
}

static struct storage_point point_decode(const unsigned char *bytes)
{
    struct storage_point point;
    uint64_t step, value;
    memcpy(&step, bytes, 8);
    memcpy(&value, bytes + 8, 8);
    step = le64toh(step);
    value = le64toh(value);
    memcpy(&point.step, &step, 8);
    memcpy(&point.value, &value, 8);
    return point;
}

enum status block_decode(sqlite3_stmt *stmt, int column, struct block *block, struct error *err)
{
    const unsigned char *bytes = sqlite3_column_blob(stmt, column);
    int count = sqlite3_column_bytes(stmt, column);
    if (bytes == NULL || count % POINT_BYTES != 0 || count > BLOCK_POINTS * POINT_BYTES)
        return error_set(err, STATUS_CORRUPT, NULL, "a block of metric points is malformed");
    block->count = count / POINT_BYTES;
    for (int i = 0; i < block->count; i++)
        block->points[i] = point_decode(bytes + POINT_BYTES * i);
    return STATUS_OK;
}

enum status block_write(struct db *db, int64_t id, const struct block *block, struct error *err)
{
    unsigned char bytes[BLOCK_POINTS * POINT_BYTES];
    for (int i = 0; i < block->count; i++)
        point_encode(block->points[i], bytes + POINT_BYTES * i);
    return db_run(db, err, "INSERT OR REPLACE INTO block VALUES (?, ?, ?, ?)", "iiib", id, block->points[0].step,
                  block->points[block->count - 1].step, (const void *)bytes, (size_t)block->count * POINT_BYTES);
}

enum status block_last(struct db *db, int64_t series, int64_t *id, struct block *block, struct error *err)
{
    sqlite3_stmt *stmt;
    *id = -1;
    block->count = 0;
    enum status status =
        db_query(db, &stmt, err, "SELECT id, points FROM block WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1", "ii",
                 series << BLOCK_BITS, (series + 1) << BLOCK_BITS);
    if (!status && db_row(db, stmt, &status, err)) {
        *id = sqlite3_column_int64(stmt, 0);
        status = block_decode(stmt, 1, block, err);
        db_done(stmt);
    }
    return status;
}

#define SUMMARY_BYTES (3 * POINT_BYTES)

/* ---- summaries --------------------------------------------------------------------------------------- */

void summary_clear(struct summary *summary)
{
    const struct storage_point none = {.step = INT64_MIN, .value = NAN};
    *summary = (struct summary){none, none, none};
}

/* True if `point` replaces `old` as the smallest (sign 1) or largest (sign -1) point: its value is smaller or larger,
 * or only the value of `old` is NaN. */
static bool exceeds(struct storage_point point, struct storage_point old, double sign)
{
    return !isnan(point.value) && (isnan(old.value) || sign * point.value < sign * old.value);
}

void summary_add(struct summary *summary, struct storage_point point)
{
    if (exceeds(point, summary->low, 1.0))
        summary->low = point;
    if (exceeds(point, summary->high, -1.0))
        summary->high = point;
    summary->last = point;
}

/* Adds the points of `next`, which are later, to a summary. */
static void join(struct summary *summary, const struct summary *next)
{
    if (exceeds(next->low, summary->low, 1.0))
        summary->low = next->low;
    if (exceeds(next->high, summary->high, -1.0))
        summary->high = next->high;
    summary->last = next->last;
}

size_t summary_points(const struct summary *summary, struct storage_point out[3])
{
    bool low_first = summary->low.step <= summary->high.step;
    const struct storage_point order[3] = {low_first ? summary->low : summary->high,
                                           low_first ? summary->high : summary->low, summary->last};
    size_t count = 0;
    for (int i = 0; i < 3; i++)
        if ((i == 2 || !isnan(order[i].value)) && (count == 0 || order[i].step > out[count - 1].step))
            out[count++] = order[i];
    return count;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

/* Reads a row of summaries; without such a row, the result has no summaries. */
static enum status row_read(struct db *db, int64_t series, int level, int64_t number, struct pyramid_row *row,
                            struct error *err)
{
    sqlite3_stmt *stmt;
    row->number = number;
    row->count = 0;
    enum status status =
        db_query(db, &stmt, err, "SELECT summaries FROM pyramid WHERE series = ? AND level = ? AND number = ?", "ini",
                 series, level, number);
    if (status || !db_row(db, stmt, &status, err))
        return status;
    const unsigned char *bytes = sqlite3_column_blob(stmt, 0);
    int size = sqlite3_column_bytes(stmt, 0);
    if (bytes == NULL || size % SUMMARY_BYTES != 0 || size > PYRAMID_FAN * SUMMARY_BYTES)
        status = error_set(err, STATUS_CORRUPT, NULL, "the summary of a metric series is malformed");
    else
        row->count = size / SUMMARY_BYTES;
    for (int i = 0; i < row->count; i++, bytes += SUMMARY_BYTES)
        row->summaries[i] = (struct summary){point_decode(bytes), point_decode(bytes + POINT_BYTES),
                                             point_decode(bytes + 2 * POINT_BYTES)};
    db_done(stmt);
    return status;
}

static enum status row_write(struct db *db, int64_t series, int level, const struct pyramid_row *row, struct error *err)
{
    unsigned char bytes[PYRAMID_FAN * SUMMARY_BYTES], *at = bytes;
    for (int i = 0; i < row->count; i++, at += SUMMARY_BYTES) {
        point_encode(row->summaries[i].low, at);
        point_encode(row->summaries[i].high, at + POINT_BYTES);
        point_encode(row->summaries[i].last, at + 2 * POINT_BYTES);
    }
    return db_run(db, err, "INSERT OR REPLACE INTO pyramid VALUES (?, ?, ?, ?)", "inib", series, level, row->number,
                  (const void *)bytes, (size_t)row->count * SUMMARY_BYTES);
}

/* ---- writing ------------------------------------------------------------------------------------------ */

/* Appends summary `index` of a level. Each row that becomes full yields a summary of the next level. */
static enum status append_summary(struct db *db, int64_t series, int level, int64_t index, struct summary summary,
                                  struct error *err)
{
    struct pyramid_row row;
    enum status status = STATUS_OK;
    for (; level <= PYRAMID_LEVELS && !status; level++, index /= PYRAMID_FAN) {
        status = row_read(db, series, level, index / PYRAMID_FAN, &row, err);
        if (!status && row.count != index % PYRAMID_FAN)
            status = error_set(err, STATUS_CORRUPT, NULL, "a summary of a metric series is missing");
        if (status)
            return status;
        row.summaries[row.count++] = summary;
        status = row_write(db, series, level, &row, err);
        if (row.count < PYRAMID_FAN)
            return status;
        summary = row.summaries[0];
        for (int i = 1; i < row.count; i++)
            join(&summary, &row.summaries[i]);
    }
    return status;
}

enum status pyramid_seal(struct db *db, int64_t series, int64_t number, const struct block *block, struct error *err)
{
    struct summary summary;
    summary_clear(&summary);
    for (int i = 0; i < block->count; i++)
        summary_add(&summary, block->points[i]);
    return append_summary(db, series, 1, number, summary, err);
}

enum status pyramid_cut(struct db *db, int64_t series, int64_t sealed, struct error *err)
{
    struct pyramid_row row;
    enum status status = STATUS_OK;
    for (int level = 1; level <= PYRAMID_LEVELS && !status; level++, sealed /= PYRAMID_FAN) {
        int keep = (int)(sealed % PYRAMID_FAN);
        status = row_read(db, series, level, sealed / PYRAMID_FAN, &row, err);
        if (!status && row.count > keep && keep > 0) {
            row.count = keep;
            status = row_write(db, series, level, &row, err);
        }
        if (!status)
            status = db_run(db, err, "DELETE FROM pyramid WHERE series = ? AND level = ? AND number >= ?", "ini",
                            series, level, sealed / PYRAMID_FAN + (keep > 0));
    }
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

void pyramid_reader_init(struct pyramid_reader *reader, struct db *db, int64_t series)
{
    reader->db = db;
    reader->series = series;
    for (int level = 0; level < PYRAMID_LEVELS; level++)
        reader->rows[level].number = -1;
}

static enum status join_one(struct pyramid_reader *reader, int level, int64_t index, struct summary *into,
                            struct error *err)
{
    struct pyramid_row *row = &reader->rows[level - 1];
    enum status status = STATUS_OK;
    if (row->number != index / PYRAMID_FAN)
        status = row_read(reader->db, reader->series, level, index / PYRAMID_FAN, row, err);
    if (!status && index % PYRAMID_FAN >= row->count)
        status = error_set(err, STATUS_CORRUPT, NULL, "a summary of a metric series is missing");
    if (!status)
        join(into, &row->summaries[index % PYRAMID_FAN]);
    return status;
}

enum status pyramid_join(struct pyramid_reader *reader, int64_t from, int64_t to, struct summary *into,
                         struct error *err)
{
    enum status status = STATUS_OK;
    while (from < to && !status) {
        int level = 1;
        int64_t span = 1; /* number of blocks in the largest summary that begins at block `from` and ends at or before
                             block `to` */
        while (level < PYRAMID_LEVELS && from % (span * PYRAMID_FAN) == 0 && from + span * PYRAMID_FAN <= to) {
            span *= PYRAMID_FAN;
            level++;
        }
        status = join_one(reader, level, from / span, into, err);
        from += span;
    }
    return status;
}
