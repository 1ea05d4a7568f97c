/* Private to storage/series: blocks of points, and stored summaries of stretches of a series. With them, a chart of ten
 * million points reads thousands of rows instead of tens of thousands.
 *
 * A summary contains the smallest, the largest and the last of some consecutive points. Level 1 has one summary for
 * each block of a series, except for the last block, which still changes. Level L has one summary for PYRAMID_FAN
 * complete summaries of level L - 1. So the number of points of a summary is BLOCK_POINTS * PYRAMID_FAN^(L - 1) and is
 * not stored. A row of the table contains up to PYRAMID_FAN consecutive summaries. The transaction that begins a new
 * block writes the summary of the previous one: one small row for 240 points. */
#ifndef MOTIF_STORAGE_SERIES_PYRAMID_H
#define MOTIF_STORAGE_SERIES_PYRAMID_H

#include "storage/storage_int.h"

/* Private to storage/series: points of a metric and blocks of them, in memory and as stored. */

struct block {
    int count; /* number of points; 1 to BLOCK_POINTS in the database */
    struct storage_point points[BLOCK_POINTS];
};

/* A stored point is POINT_BYTES long: step (int64) and value (double), both little endian. */
#define POINT_BYTES 16

/* Decodes a column of the current row. CORRUPT: the column does not hold 1 to BLOCK_POINTS points. */
enum status block_decode(sqlite3_stmt *stmt, int column, struct block *block, struct error *err);

/* Writes a block that has points; replaces the stored block of the same id. */
enum status block_write(struct db *db, int64_t id, const struct block *block, struct error *err);

/* Reads the last block of a series. *id is -1 and the block is empty when the series has none. */
enum status block_last(struct db *db, int64_t series, int64_t *id, struct block *block, struct error *err);

#define PYRAMID_FAN 64
#define PYRAMID_LEVELS 4 /* a series has at most 2^BLOCK_BITS = 64^4 blocks, so no more levels are needed */

struct summary {
    struct storage_point low, high; /* smallest and largest point; their value is NaN if no point is a number. Of equal
                                       values, the first counts */
    struct storage_point last;
};

/* summary_clear() makes a summary empty; summary_add() adds a point, which must not be earlier than the points before
 * it. */
void summary_clear(struct summary *summary);
void summary_add(struct summary *summary, struct storage_point point);
/* Writes the one to three points of a summary in step order, without duplicates, and returns their number. */
size_t summary_points(const struct summary *summary, struct storage_point out[3]);

/* In a transaction: adds the summary of block `number`, which is full and does not change any more. */
enum status pyramid_seal(struct db *db, int64_t series, int64_t number, const struct block *block, struct error *err);
/* In a transaction: removes the summaries of all blocks but the first `sealed` ones. */
enum status pyramid_cut(struct db *db, int64_t series, int64_t sealed, struct error *err);

struct pyramid_row { /* a row of the table */
    int64_t number;  /* -1: no row was read */
    int count;
    struct summary summaries[PYRAMID_FAN];
};
struct pyramid_reader {
    struct db *db;
    int64_t series;
    struct pyramid_row rows[PYRAMID_LEVELS]; /* for each level, the row that was read last */
};
/* Prepares to read the summaries of one series; `db` is borrowed. */
void pyramid_reader_init(struct pyramid_reader *reader, struct db *db, int64_t series);
/* Adds the summaries of the blocks [from, to) to `into`. Each of these blocks must be full, and so have a summary.
 * CORRUPT: a summary is missing. */
enum status pyramid_join(struct pyramid_reader *reader, int64_t from, int64_t to, struct summary *into,
                         struct error *err);

#endif
