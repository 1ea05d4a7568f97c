/* Tables in text, a record a line: comma or tab between fields, a field in double quotes may hold either and,
 * doubled, quotes. Ends of lines may be CRLF. One pass, a line in memory at a time. */
#ifndef MOTIF_CORE_FORMATS_DELIMITED_H
#define MOTIF_CORE_FORMATS_DELIMITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/base/error.h"

struct delimited {
    FILE *file;
    char separator;
    char *line; /* of the present record; fields point into it */
    size_t room;
    char **fields; /* [count] NUL-terminated */
    size_t count, capacity;
    long number;   /* of the line, from 1 */
    char name[64]; /* of the file, for messages */
};

/* FOLDER/NAME. STATUS_NOT_FOUND when it is not there. separator 0: tab if the first line has one, else comma. */
enum status delimited_open(struct delimited *d, const char *folder, const char *name, char separator,
                           struct error *err);
void delimited_close(struct delimited *d); /* zeroed is fine */
/* The next record; `*more` false at the end. */
enum status delimited_next(struct delimited *d, bool *more, struct error *err);
/* The next line as it is, in `line`. */
enum status delimited_raw(struct delimited *d, bool *more, struct error *err);
/* Field `index` as a number: STATUS_INVALID naming file and line where it is none. */
enum status delimited_number(const struct delimited *d, size_t index, double *value, struct error *err);
/* Which field is called so; -1: none. */
int delimited_find(const struct delimited *d, const char *name);

#endif
