/* Opens an uploaded HDF5 file, whose bytes are untrusted.
 *
 * libhdf5 reads the file through a driver of our own. The driver reads from one open descriptor and cannot open
 * files, so external links lead nowhere, and the process needs no permission to open files. Filters of plugins are
 * switched off. */
#ifndef MOTIF_CONVERT_HDF5_FILE_H
#define MOTIF_CONVERT_HDF5_FILE_H

#include <hdf5.h>

#include "core/base/error.h"

/* Initialises libhdf5. Call it once, before sandbox_enter(). */
enum status hdf5_start(struct error *err);
/* descriptor: a regular file that can be read at any offset; borrowed. The caller closes *file with H5Fclose().
 * STATUS_CORRUPT: it is no HDF5 file. */
enum status hdf5_file_open(int descriptor, hid_t *file, struct error *err);

#endif
