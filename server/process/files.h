/* Reads small files that a person names on the command line. */
#ifndef MOTIF_SERVER_PROCESS_FILES_H
#define MOTIF_SERVER_PROCESS_FILES_H

#include <stddef.h>

#include "core/base/error.h"

/* Returns the whole file ("-": standard input) with a NUL after its last byte; the caller frees it. Returns NULL and
 * fills `err` when the file cannot be read or is larger than `limit`. */
char *file_read(const char *path, size_t limit, size_t *size, struct error *err);

#endif
