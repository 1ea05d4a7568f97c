/* A data set in a folder, as an upload leaves it. For tests. */
#ifndef MOTIF_TESTS_SUPPORT_STORED_SET_H
#define MOTIF_TESTS_SUPPORT_STORED_SET_H

#include "core/base/error.h"

/* Makes the folder and writes what `text`, a file of the format (core/data/uploads/collection.h), holds into it. */
enum status stored_set(const char *folder, const char *format, const char *text, struct error *err);

#endif
