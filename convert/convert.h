/* The file formats that motif-convert reads. Each function reads an open HDF5 file and writes the table to `to`. */
#ifndef MOTIF_CONVERT_CONVERT_H
#define MOTIF_CONVERT_CONVERT_H

#include <hdf5.h>

#include "core/formats/table/table_stream.h"

/* The user's options; "": not set. */
struct convert_options {
    const char *layer;              /* name of the matrix that contains the values */
    const char *label, *group, *id; /* names of the columns of obs with the labels, the groups and the names of cells */
};

/* The next two functions convert AnnData files (.h5ad) and HDF5 files of 10x Genomics. STATUS_LIMIT: a part of the
 * table is too large. Other errors as in hdf5_read.h. */
enum status convert_h5ad(hid_t file, const struct convert_options *options, struct table_writer *to, struct error *err);
enum status convert_10x(hid_t file, const struct convert_options *options, struct table_writer *to, struct error *err);

struct convert_format {
    const char *name; /* the name of the upload format */
    enum status (*convert)(hid_t file, const struct convert_options *options, struct table_writer *to,
                           struct error *err);
};
extern const struct convert_format convert_formats[]; /* ends with name == NULL */

#endif
