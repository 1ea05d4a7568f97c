/* Private to storage/series: points of a metric and blocks of them, in memory and as stored. */
#ifndef MOTIF_STORAGE_SERIES_BLOCK_H
#define MOTIF_STORAGE_SERIES_BLOCK_H

#include "storage/storage_int.h"

struct block {
    int count; /* number of points; 1 to BLOCK_POINTS in the database */
    struct storage_point points[BLOCK_POINTS];
};

/* A stored point is POINT_BYTES long: step (int64) and value (double), both little endian. */
#define POINT_BYTES 16
void point_encode(struct storage_point point, unsigned char *out);
struct storage_point point_decode(const unsigned char *bytes);

/* Decodes a column of the current row. CORRUPT: the column does not hold 1 to BLOCK_POINTS points. */
enum status block_decode(sqlite3_stmt *stmt, int column, struct block *block, struct error *err);

/* Writes a block that has points; replaces the stored block of the same id. */
enum status block_write(struct db *db, int64_t id, const struct block *block, struct error *err);

/* Reads the last block of a series. *id is -1 and the block is empty when the series has none. */
enum status block_last(struct db *db, int64_t series, int64_t *id, struct block *block, struct error *err);

#endif
