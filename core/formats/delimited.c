/* Reads tables of data sets that an operator placed in a folder, line by line; fields are unquoted in place. */
#include "core/formats/delimited.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { PATH_BYTES = 4400, LINE_MOST = 1 << 28 };

enum status delimited_open(struct delimited *d, const char *folder, const char *name, char separator,
                           struct thread_pool *pool, struct error *err)
{
    char path[PATH_BYTES];
    *d = (struct delimited){.separator = separator, .pool = pool};
    snprintf(d->name, sizeof d->name, "%s", name);
    int bytes = snprintf(path, sizeof path, "%s/%s", folder, name);
    d->file = bytes > 0 && bytes < PATH_BYTES ? fopen(path, "rb") : NULL;
    if (!d->file)
        return error_set(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, NULL,
                         "the data set has no file %s that can be read", name);
    return STATUS_OK;
}

void delimited_close(struct delimited *d)
{
    if (d->file)
        fclose(d->file);
    free(d->line);
    free(d->fields);
    *d = (struct delimited){0};
}

static enum status add_field(struct delimited *d, char *at, struct error *err)
{
    if (d->count == d->capacity) {
        size_t capacity = d->capacity ? 2 * d->capacity : 64;
        char **fields = realloc(d->fields, capacity * sizeof *fields);
        if (!fields)
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a record of %s", d->name);
        d->fields = fields;
        d->capacity = capacity;
    }
    d->fields[d->count++] = at;
    return STATUS_OK;
}

/* Splits the line `at` into fields and removes their quotes, in place: `to` never passes `from`. */
static enum status split(struct delimited *d, char *at, struct error *err)
{
    d->count = 0;
    for (;;) {
        char *to = at, *from = at;
        bool quoted = *from == '"';
        enum status status = add_field(d, at, err);
        if (status)
            return status;
        from += quoted;
        while (*from && (quoted || *from != d->separator)) {
            if (quoted && *from == '"') {
                if (from[1] != '"') {
                    quoted = false;
                    from++;
                    continue;
                }
                from++;
            }
            *to++ = *from++;
        }
        bool last = *from == '\0';
        *to = '\0';
        if (last)
            return STATUS_OK;
        at = from + 1;
    }
}

enum status delimited_raw(struct delimited *d, bool *more, struct error *err)
{
    ssize_t bytes;
    if (thread_pool_stopped(d->pool))
        return thread_pool_check(d->pool, err);
    do {
        bytes = getline(&d->line, &d->room, d->file);
        d->number++;
    } while (bytes >= 0 && (d->line[0] == '\n' || d->line[0] == '\r'));
    *more = bytes >= 0;
    if (bytes < 0)
        return ferror(d->file) ? error_set(err, STATUS_IO, NULL, "%s cannot be read", d->name) : STATUS_OK;
    if (bytes > LINE_MOST || memchr(d->line, '\0', (size_t)bytes))
        return error_set(err, STATUS_INVALID, NULL,
                         "line %ld of %s is too long or contains a NUL; the file must be text", d->number, d->name);
    while (bytes > 0 && (d->line[bytes - 1] == '\n' || d->line[bytes - 1] == '\r'))
        d->line[--bytes] = '\0';
    return STATUS_OK;
}

enum status delimited_next(struct delimited *d, bool *more, struct error *err)
{
    enum status status = delimited_raw(d, more, err);
    if (status || !*more)
        return status;
    if (!d->separator)
        d->separator = strchr(d->line, '\t') ? '\t' : ',';
    return split(d, d->line, err);
}

enum status delimited_number(const struct delimited *d, size_t index, double *value, struct error *err)
{
    char *end = NULL;
    if (index < d->count)
        *value = strtod(d->fields[index], &end);
    if (!end || end == d->fields[index] || *end || !isfinite(*value))
        return error_set(err, STATUS_INVALID, NULL, "line %ld of %s: field %zu is not a number", d->number, d->name,
                         index + 1);
    return STATUS_OK;
}

int delimited_find(const struct delimited *d, const char *name)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->fields[i], name) == 0)
            return (int)i;
    return -1;
}
