/* SpliceAI's data files (dataset_train_all.h5, dataset_test_0.h5). They are HDF5 files with two series of data sets:
 * - X0, X1, ... of shape [n][length + 2 flank][4]: one-hot A, C, G, T, and all zero where the base is unknown
 * - Y0, Y1, ... of shape [1][n][length][3]: one-hot null, acceptor, donor
 *
 * Windows are numbered over all data sets in the order of the data sets' numbers. Bases and classes are returned as
 * indices of their one-hot axes. Only one window is in memory at a time.
 *
 * Without the build option -Dhdf5=enabled every function that can fail returns STATUS_UNAVAILABLE. libhdf5 has global
 * state, so a lock serialises all calls; any number of threads may use one file. */
#ifndef MOTIF_CORE_FORMATS_SPLICEAI_H5_H
#define MOTIF_CORE_FORMATS_SPLICEAI_H5_H

#include <stdint.h>

#include "core/base/error.h"

/* Sizes of the one-hot axes. */
enum { SPLICEAI_BASES = 4, SPLICEAI_CLASSES = 3 };

struct splicing_h5;

/* Opens a file; the caller closes it. STATUS_IO: libhdf5 cannot open it. STATUS_CORRUPT: its data sets or their shapes
 * are not those of SpliceAI's files. */
enum status splicing_h5_open(const char *path, struct splicing_h5 **file, struct error *err);
void splicing_h5_close(struct splicing_h5 *file); /* NULL is allowed */

int64_t splicing_h5_windows(const struct splicing_h5 *file); /* windows of all data sets */
/* Returns the number of labelled bases of a window: 5000 in SpliceAI's files. */
int splicing_h5_length(const struct splicing_h5 *file);
/* Returns the number of bases on either side of the labelled ones: 5000 in SpliceAI's files. */
int splicing_h5_flank(const struct splicing_h5 *file);

/* The order in which training uses the windows. NumPy's legacy random generator, seeded with `seed` mod 2^32, shuffles
 * the data sets. It then draws a permutation of the windows of each data set, in the shuffled order. order:
 * [windows]. */
enum status splicing_h5_order(const struct splicing_h5 *file, int64_t seed, int64_t *order, struct error *err);

/* Reads one window. bases: [flank + length + flank], values 0 to 3, or 4 for an unknown base. classes: [flank + length
 * + flank], 0 null, 1 acceptor, 2 donor, and 0 in the flanks. STATUS_INVALID: there is no such window. STATUS_CORRUPT:
 * a position is not one-hot. */
enum status splicing_h5_read(struct splicing_h5 *file, int64_t window, uint8_t *bases, uint8_t *classes,
                             struct error *err);

#endif
