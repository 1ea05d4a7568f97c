/* Private to metric.c and metric_read.c: a block of points in memory. */
#ifndef MOTIF_STORAGE_SERIES_METRIC_INT_H
#define MOTIF_STORAGE_SERIES_METRIC_INT_H

#include "storage/storage_int.h"

struct block {
    int count;
    struct storage_point points[BLOCK_POINTS];
};

/* A point as it lies on disk: step and value, little endian. */
#define POINT_BYTES 16
void point_encode(struct storage_point point, unsigned char *out);
struct storage_point point_decode(const unsigned char *bytes);

/* CORRUPT when the column does not hold 1..BLOCK_POINTS points. */
enum status block_decode(sqlite3_stmt *stmt, int column, struct block *block, struct error *err);

/* The last block of a series; *id is -1 when it has none. */
enum status block_last(struct db *db, int64_t series, int64_t *id, struct block *block, struct error *err);

#endif
