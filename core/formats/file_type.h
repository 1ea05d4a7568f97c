/* The file formats that queries read and write: the name, the media type and the file endings of each.
 *
 * The formats are rows of a constant table. The api sends the rows to clients, together with the queries that use them,
 * so no client needs a table of its own. To add a format, add a row in file_type.c. */
#ifndef MOTIF_CORE_FORMATS_FILE_TYPE_H
#define MOTIF_CORE_FORMATS_FILE_TYPE_H

#include <stddef.h>

enum { FILE_TYPE_ENDINGS = 3 };

struct file_type {
    const char *name;       /* such as "bed"; the value of motifctl's option --format */
    const char *media_type; /* "text/x-bed" */
    /* Endings of file names without the dot; new files have the first one. Unused ones are NULL. */
    const char *endings[FILE_TYPE_ENDINGS];
    /* Where a large file can be cut into several files. "records": before each record, which begins with '>' at the
     * start of a line. "rows": before each line, except the header. "axis": the file is an array, whose first axis may
     * count inputs (?batch=1). NULL: nowhere. */
    const char *pieces;
};

/* Returns the row of a media type; NULL: there is none. */
const struct file_type *file_type_of(const char *media_type);

#endif
