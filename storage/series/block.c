/* Blocks of metric points: how a point is encoded, and how a block is read and written. schema.c explains the layout.
 */
#include "storage/series/block.h"

#include <endian.h>
#include <string.h>

void point_encode(struct storage_point point, unsigned char *out)
{
    uint64_t step, value;
    memcpy(&step, &point.step, 8);
    memcpy(&value, &point.value, 8);
    step = htole64(step);
    value = htole64(value);
    memcpy(out, &step, 8);
    memcpy(out + 8, &value, 8);
}

struct storage_point point_decode(const unsigned char *bytes)
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
    if (status == STATUS_OK && db_row(db, stmt, &status, err)) {
        *id = sqlite3_column_int64(stmt, 0);
        status = block_decode(stmt, 1, block, err);
        db_done(stmt);
    }
    return status;
}
