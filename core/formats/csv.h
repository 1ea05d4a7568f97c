/* Comma- or tab-separated records from a source (RFC 4180): a field in double quotes may hold separators, ends of lines
 * and, doubled, quotes. The first record is the header; every other has as many fields. Tab where the header has one,
 * else comma.
 *
 * Foreign bytes: STATUS_INVALID names the row (the header is row 1) for a wrong number of fields, a stray or open
 * quote, a NUL or what is not UTF-8; STATUS_LIMIT for a record of more than CSV_RECORD bytes or CSV_FIELDS fields. A
 * byte order mark before the header is dropped, empty lines are skipped. One thread at a time. */
#ifndef MOTIF_CORE_FORMATS_CSV_H
#define MOTIF_CORE_FORMATS_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "core/formats/byte_source.h"

enum { CSV_RECORD = 16 << 20, CSV_FIELDS = 100000 };

struct csv {
    struct source from;
    char separator;
    int64_t row;        /* of the present record, from 1; lines inside quotes are not counted */
    char **field;       /* [count], terminated */
    int count, columns; /* columns: of the header */
    /* private */
    char *record;
    size_t used, room, *start;
    int fields_room;
    unsigned char *block;
    size_t at, filled;
    bool ended;
};

/* Reads the header: its names are the fields until csv_next(). Names are neither empty nor twice there. */
enum status csv_open(struct csv *csv, const struct source *from, struct error *err);
void csv_close(struct csv *csv); /* zeroed is fine */
enum status csv_next(struct csv *csv, bool *more, struct error *err);
/* Which column is called so; -1: none. Only before csv_next(). */
int csv_find(const struct csv *csv, const char *name);
/* A field as a finite float; false: it is none. */
bool csv_number(const char *field, float *value);

#endif
