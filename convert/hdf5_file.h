/* Opens an HDF5 file that somebody uploaded.
 *
 * libhdf5 reads the file through a driver of our own, which reads one open descriptor and can open nothing. So an
 * external link finds no file, and the process needs no permission to open files. Filters of plugins are switched off.
 */
#ifndef MOTIF_CONVERT_HDF5_FILE_H
#define MOTIF_CONVERT_HDF5_FILE_H

#include <hdf5.h>

#include "core/base/error.h"

/* Initialises libhdf5; call it once, before anything is forbidden to the process. */
enum status hdf5_start(struct error *err);
/* descriptor: a regular file that can be read at any offset; borrowed. The caller closes *file with H5Fclose().
 * STATUS_CORRUPT: it is no HDF5 file. */
enum status hdf5_file_open(int descriptor, hid_t *file, struct error *err);

#endif
