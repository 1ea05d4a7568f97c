/* Private to metric*.c and schema.c: what stretches of a series come to, so that a chart of ten million points reads
 * thousands of rows and not tens of thousands.
 *
 * A summary says of consecutive points: the smallest, the largest, the last. Level 1 has one for every block of a
 * series but its last (the only one that still changes), level L one for every PYRAMID_FAN of level L - 1 that are
 * all there; so how many points a summary stands for, BLOCK_POINTS * PYRAMID_FAN^(L - 1), need not be kept. A row
 * of the table holds up to PYRAMID_FAN of them, one behind the other. They are written in the transaction that
 * begins the next block: one small row for 240 points. */
#ifndef MOTIF_STORAGE_SERIES_PYRAMID_H
#define MOTIF_STORAGE_SERIES_PYRAMID_H

#include "storage/series/block.h"

#define PYRAMID_FAN 64
#define PYRAMID_LEVELS 4 /* 64^4 blocks are all that BLOCK_BITS allow */

struct summary {
    struct storage_point low, high; /* value NaN: there is no number among the points. Of equal ones the first */
    struct storage_point last;
};

void summary_clear(struct summary *summary);
void summary_add(struct summary *summary, struct storage_point point);
void summary_join(struct summary *summary, const struct summary *next); /* of points behind its own */
/* The one to three points in step order, each once; gives their number. */
size_t summary_points(const struct summary *summary, struct storage_point out[3]);

/* Block `number` of a series will not change any more: it is full and another follows. In a transaction. */
enum status pyramid_seal(struct db *db, int64_t series, int64_t number, const struct block *block, struct error *err);
/* Forgets all but what is about the first `sealed` blocks. In a transaction. */
enum status pyramid_cut(struct db *db, int64_t series, int64_t sealed, struct error *err);

struct pyramid_row { /* as it lies in the table */
    int64_t number;  /* -1: none was read */
    int count;
    struct summary summaries[PYRAMID_FAN];
};
struct pyramid_reader {
    struct db *db;
    int64_t series;
    struct pyramid_row rows[PYRAMID_LEVELS]; /* the last that was read of each level */
};
void pyramid_reader_init(struct pyramid_reader *reader, struct db *db, int64_t series);
/* Joins to `into` what blocks [from, to), all sealed, come to. CORRUPT when a summary is missing. */
enum status pyramid_join(struct pyramid_reader *reader, int64_t from, int64_t to, struct summary *into,
                         struct error *err);

#endif
