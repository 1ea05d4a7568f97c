/* Uploaded features: the rows of the data set `dataset_name`, in place of samples that are drawn.
 *
 * The closed form assumes features that are uniform in [0, 1] where they are not zero, so that the mean of their
 * squares is 1/3. Uploaded values are therefore multiplied by one number that makes this mean 1/3, after their columns
 * were scaled if `scaling` says so. Training reads the
 * training rows in a new order in every epoch, and tests read the test rows (core/methods/shared/rows.h). */
#ifndef MOTIF_CORE_METHODS_SUPERPOSITION_FEATURES_H
#define MOTIF_CORE_METHODS_SUPERPOSITION_FEATURES_H

#include "core/base/parallel/thread_pool.h"
#include "core/methods/shared/rows.h"

enum { FEATURES_ROWS = 100 }; /* minimum number of rows of a data set */

struct features {
    struct rows rows;     /* rows.count 0: not open */
    double p;             /* share of values that are not zero */
    struct scale columns; /* of the columns, without shifts; applied before `scale` */
    double scale;         /* factor of all values */
    double variance; /* mean over features of the variance of the scaled values: the loss of a model without weights */
};

/* Opens the rows of a data set and measures p, scale and variance on all rows or, if there are more than 2^24 values,
 * on evenly spaced rows. Parameters, errors and threads as for rows_open(). STATUS_INVALID also if there are fewer than
 * FEATURES_ROWS rows, or only zeros. The caller calls features_close(), after an error too. */
enum status features_open(const struct rows_request *request, enum collection_scale scaling, struct features *out,
                          struct error *err);
void features_close(struct features *features); /* a zeroed struct is allowed */

/* Reads `count` scaled samples, [count][rows.inputs], on the threads of the pool: training samples first, first + 1,
 * ... or test samples. first + count <= rows_test_count() for tests. STATUS_INVALID with the pointer of dataset_name: a
 * value is negative or not finite. STATUS_IO. STATUS_CANCELLED: the pool was stopped. */
enum status features_read(const struct features *features, bool training, int64_t first, int count,
                          struct thread_pool *pool, float *x, struct error *err);
/* Reads test sample `index` on the calling thread, unscaled. Errors as for features_read(). */
enum status features_test(const struct features *features, int64_t index, float *x, struct error *err);

#endif
