/* Writes a data set into a folder as an upload does. */
#ifndef MOTIF_TESTS_SUPPORT_STORED_SET_H
#define MOTIF_TESTS_SUPPORT_STORED_SET_H

#include "core/base/error.h"

/* Parses `text` as a file of the named format (core/data/uploads/collection.h), creates the folder and stores the data
 * in it. Fails with STATUS_IO, or with an error of collection_read(). */
enum status stored_set(const char *folder, const char *format, const char *text, struct error *err);
/* As stored_set(), with an id for each sample: ids[i], ending with NULL. */
enum status stored_set_with_ids(const char *folder, const char *format, const char *text, const char *const *ids,
                                struct error *err);

#endif
