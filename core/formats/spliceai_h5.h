/* SpliceAI's data files (dataset_train_all.h5, dataset_test_0.h5): HDF5 with data sets X0, X1, ... of [n][length + 2
 * flank][4], one-hot A, C, G, T and all zero where the base is not known, and Y0, Y1, ... of [1][n][length][3], one-hot
 * null, acceptor, donor. A window at a time is in memory.
 *
 * Built with -Dhdf5=enabled only; without it everything here is STATUS_UNAVAILABLE. libhdf5 keeps global state, so all
 * calls are made one at a time, whatever the thread. */
#ifndef MOTIF_CORE_FORMATS_SPLICEAI_H5_H
#define MOTIF_CORE_FORMATS_SPLICEAI_H5_H

#include <stdint.h>

#include "core/base/error.h"

/* Sizes of the one-hot axes. */
enum { SPLICEAI_BASES = 4, SPLICEAI_CLASSES = 3 };

struct splicing_h5;

/* STATUS_IO: cannot be opened as HDF5. STATUS_CORRUPT: other data sets or shapes than these. */
enum status splicing_h5_open(const char *path, struct splicing_h5 **file, struct error *err);
void splicing_h5_close(struct splicing_h5 *file);

int64_t
splicing_h5_windows(const struct splicing_h5 *file);    /* in all data sets, 0-based in the order of their numbers */
int splicing_h5_length(const struct splicing_h5 *file); /* labelled bases of a window: 5000 */
int splicing_h5_flank(const struct splicing_h5 *file);  /* bases before and behind them: 5000 */

/* The order in which training takes windows: the data sets shuffled with the legacy generator of `seed` (mod 2^32),
 * then one permutation of each, in that order. order: [windows]. */
enum status splicing_h5_order(const struct splicing_h5 *file, int64_t seed, int64_t *order, struct error *err);

/* bases, classes: [flank + length + flank]; no labels in the flanks. STATUS_CORRUPT: a row is not one-hot. */
enum status splicing_h5_read(struct splicing_h5 *file, int64_t window, uint8_t *bases, uint8_t *classes,
                             struct error *err);

#endif
