/* Rows of numbers in an uploaded data set: activations of a model, one row for each sample or token.
 *
 * A table [n][d] has n rows. An array [n][tokens][d] has n * tokens rows: row i is token i mod tokens of sample
 * i / tokens. The values stay on disk: a row is read when it is needed, so memory does not grow with the data.
 *
 * Neighbouring rows often come from the same text, so they stay together: whole blocks of rows are test rows, about a
 * tenth of all. If the samples have groups, or if the file states parts, these decide instead
 * (core/data/division/division.h). Training reads its blocks of rows in a new random order in every epoch, and mixes
 * the rows of WINDOW blocks at a time. Large data are therefore read from disk in long pieces. The order is a function
 * of the seed.
 *
 * Struct rows is read-only once open, so any number of threads may use it. */
#ifndef MOTIF_CORE_METHODS_SHARED_ROWS_H
#define MOTIF_CORE_METHODS_SHARED_ROWS_H

#include "core/base/config.h"
#include "core/base/random/permutation.h"
#include "core/base/sink.h"
#include "core/data/division/division.h"
#include "core/data/uploads/collection.h"

enum { ROWS_LEAST = 20, ROWS_WINDOW = 64, ROWS_BLOCK = 256, ROWS_INPUTS_MOST = 16384 };

struct rows {
    struct collection set;
    int file;           /* -1: not open */
    int64_t place;      /* offset in the file at which the values begin */
    int64_t count;      /* rows */
    int inputs, tokens; /* inputs: numbers in a row; tokens: rows in a sample */
    uint64_t seed;
    int block;
    int64_t blocks, test_blocks; /* blocks: number of whole blocks; the rows after the last whole block are test rows.
                                    test_blocks: number of whole blocks that consist of test rows */
    struct permutation split;    /* the order of the blocks; the first ones are for training */
    /* With groups or parts: [samples] the training samples, then the test samples, in the order of the file; NULL
     * without. Blocks are then blocks of training rows; the rows after the last whole block are not read. */
    int64_t *sample;
    struct division division; /* with groups or parts */
};

/* Which rows to open. data: folder of data sets. hash: the configuration's dataset_hash; "" accepts any data. */
struct rows_request {
    const char *data, *name, *hash;
    uint64_t seed;
    enum division_split split; /* DIVIDE_SAMPLES: blocks, although there are groups or parts */
    const char *test_group;    /* as in struct division_request */
};

/* Opens a data set. STATUS_INVALID: the set has no rows of numbers, or they cannot be divided so; STATUS_NOT_FOUND;
 * STATUS_CONFLICT: another file was uploaded under the name. Errors point to /config/dataset_name, dataset_split or
 * dataset_test_group. The caller calls rows_close(), after an error too. */
enum status rows_open(const struct rows_request *request, struct rows *out, struct error *err);
void rows_close(struct rows *rows); /* a zeroed struct is allowed */
/* Computes the hash of a data set (without regard to request->hash) and the length of its rows, for resolve(), and sets
 * *scaling as source_fit() does. AUTO and a data set without a scale of its own give NONE, except for a table whose
 * columns have names of their own: columns c0, c1, ... and arrays are numbers of one kind. */
enum status rows_resolve(const struct rows_request *request, enum collection_scale wish, char hash[CONFIG_TEXT],
                         int64_t *inputs, int *scaling, struct error *err);
/* Writes the member `division` of an object that the caller has opened: how open rows are divided. STATUS_NO_MEMORY. */
enum status rows_division(const struct rows *rows, const struct sink *out, struct error *err);
/* The same for rows that are not open. Errors: those of rows_open(). */
enum status rows_division_of(const struct rows_request *request, const struct sink *out, struct error *err);
/* The names of a table's columns; NULL: an array, which has none. */
char *const *rows_names(const struct rows *rows);
/* Fits a scale (core/data/scale.h) to training rows: to all, or to 4 million of their values. The caller closes
 * *scale. */
enum status rows_fit_scale(const struct rows *rows, enum collection_scale kind, bool centred, struct scale *scale,
                           struct error *err);

int64_t rows_test_count(const struct rows *rows);
/* Return the index of the row that is test sample `index` in [0, rows_test_count()), or training sample `index` >=
 * 0. */
int64_t rows_test(const struct rows *rows, int64_t index);
int64_t rows_train(const struct rows *rows, int64_t index);
/* Reads a row. x: [inputs]. STATUS_IO: the file cannot be read. */
enum status rows_read(const struct rows *rows, int64_t row, float *x, struct error *err);
/* If training sample `index` is the first one of a window of blocks, tells the operating system that the rows of the
 * next window will be read soon. */
void rows_expect(const struct rows *rows, int64_t index);
/* Writes what is known about a row: row, sample, token (if there are several), id, group, label. */
void rows_describe(const struct rows *rows, int64_t row, const struct sink *out);

#endif
