/* Reads groups, attributes and arrays of an untrusted HDF5 file.
 *
 * The functions follow only hard links, so a file cannot lead them to another file. An array has at most two
 * dimensions, and its bytes are in the file itself: virtual arrays, bytes in other files, and filters other than those
 * of libhdf5 are refused. Sizes are checked before memory is allocated. Messages name the object. STATUS_INVALID: the
 * file has another form than expected. STATUS_CORRUPT: libhdf5 cannot read it. STATUS_NO_MEMORY: there is not enough
 * memory. Only one thread may call them. */
#ifndef MOTIF_CONVERT_HDF5_READ_H
#define MOTIF_CONVERT_HDF5_READ_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* Returns whether a group has a child of this name, of any type. The name must not contain a slash. */
bool hdf5_has(hid_t group, const char *name);
bool hdf5_is_group(hid_t group, const char *name);
/* Opens a group that is a child of `group`. The caller closes *child with H5Gclose(). */
enum status hdf5_open_group(hid_t group, const char *name, hid_t *child, struct error *err);

/* Reads an attribute that is a text into text[room]. Returns false if there is no such attribute, if it is not a
 * text, or if it is too long. */
bool hdf5_text_attribute(hid_t object, const char *name, char *text, size_t room);
/* Reads an attribute that is a list of two integers. */
bool hdf5_pair_attribute(hid_t object, const char *name, int64_t pair[2]);

struct hdf5_array {
    char name[64]; /* for messages */
    hid_t set, type;
    H5T_class_t class;
    int rank;       /* 1 or 2; 0 for a single element */
    int64_t dim[2]; /* sizes of the axes; 1 for an axis that the array does not have */
};
enum status hdf5_open_array(hid_t group, const char *name, struct hdf5_array *array, struct error *err);
void hdf5_close_array(struct hdf5_array *array); /* allowed if `set` is 0 */
/* Returns whether elements are integers, floats or booleans. */
bool hdf5_is_number(const struct hdf5_array *array);
/* Reads elements [begin, begin + count) of the first axis, with all of the second. memory: type of an element of
 * `to`. */
enum status hdf5_read(const struct hdf5_array *array, int64_t begin, int64_t count, hid_t memory, void *to,
                      struct error *err);

#endif
