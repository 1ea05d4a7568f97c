/* Reads text tables in a data set's folder; each line is a record. Commas or tabs separate fields; a field in double
 * quotes may contain separators and doubled quotes. Lines may end in CRLF. One line is in memory at a time; one
 * thread at a time. */
#ifndef MOTIF_CORE_FORMATS_DELIMITED_H
#define MOTIF_CORE_FORMATS_DELIMITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

struct delimited {
    FILE *file;
    char separator;
    char *line; /* the current line; fields point into it */
    size_t room;
    char **fields; /* [count] texts of the fields, NUL-terminated */
    size_t count, capacity;
    long number;   /* number of the current line, from 1 */
    char name[64]; /* name of the file, for messages */
    struct thread_pool *pool;
};

/* Opens FOLDER/NAME; the caller closes it, after an error too. When `pool` is stopped, the functions that read return
 * STATUS_CANCELLED (NULL: never). separator 0: tab if the first line contains one,
 * otherwise comma. STATUS_NOT_FOUND: there is no such file. STATUS_IO: it cannot be opened. */
enum status delimited_open(struct delimited *d, const char *folder, const char *name, char separator,
                           struct thread_pool *pool, struct error *err);
void delimited_close(struct delimited *d); /* a zeroed struct is allowed */
/* Reads the next record; *more is false at the end. Empty lines are skipped. */
enum status delimited_next(struct delimited *d, bool *more, struct error *err);
/* Reads the next line into d->line without splitting it. */
enum status delimited_raw(struct delimited *d, bool *more, struct error *err);
/* Parses field `index` as a finite number. STATUS_INVALID if it is not one; the message names file and line. */
enum status delimited_number(const struct delimited *d, size_t index, double *value, struct error *err);
/* Index of the field with this text in the current record, usually the header; -1 if no field has it. */
int delimited_find(const struct delimited *d, const char *name);

#endif
