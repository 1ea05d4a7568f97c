/* Small files that a person names on the command line. */
#ifndef MOTIF_SERVER_PROCESS_FILES_H
#define MOTIF_SERVER_PROCESS_FILES_H

#include <stddef.h>

#include "core/base/error.h"

/* The whole file ("-": standard input), malloc'ed, with a NUL after it; NULL when it cannot be read or is
 * larger than `limit`. */
char *file_read(const char *path, size_t limit, size_t *size, struct error *err);

#endif
