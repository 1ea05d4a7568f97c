/* The CSV reader: one record in memory at a time, fields unquoted in place. */
#include "core/formats/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

enum { BLOCK = 1 << 16, END = -1 };

static enum status csv_fault(const struct csv *csv, enum status status, const char *what, struct error *err)
{
    return error_set(err, status, NULL, "row %lld %s", (long long)csv->row, what);
}

/* Reads the next byte without consuming it; END at the end of the source. */
static enum status peek(struct csv *csv, int *byte, struct error *err)
{
    if (csv->at == csv->filled && !csv->ended) {
        enum status status = csv->from.read(csv->from.context, csv->block, BLOCK, &csv->filled, err);
        if (status)
            return status;
        csv->at = 0;
        csv->ended = csv->filled == 0;
    }
    *byte = csv->ended ? END : csv->block[csv->at];
    return STATUS_OK;
}

static enum status csv_put(struct csv *csv, char byte, struct error *err)
{
    if (csv->used == csv->room) {
        size_t room = csv->room ? 2 * csv->room : 1024;
        if (csv->used >= CSV_RECORD)
            return csv_fault(csv, STATUS_LIMIT, "is longer than 16 MiB; is a quote not closed?", err);
        char *record = realloc(csv->record, room);
        if (!record)
            return error_memory(err, "a record");
        csv->record = record;
        csv->room = room;
    }
    csv->record[csv->used++] = byte;
    return STATUS_OK;
}

static enum status begin_field(struct csv *csv, struct error *err)
{
    if (csv->count == csv->fields_room) {
        int room = csv->fields_room ? 2 * csv->fields_room : 64;
        if (csv->count >= CSV_FIELDS)
            return csv_fault(csv, STATUS_LIMIT, "has more than 100000 fields, the most that is allowed", err);
        char **field = realloc(csv->field, (size_t)room * sizeof *field);
        csv->field = field ? field : csv->field;
        size_t *start = field ? realloc(csv->start, (size_t)room * sizeof *start) : NULL;
        if (!start)
            return error_memory(err, "a record");
        csv->start = start;
        csv->fields_room = room;
    }
    csv->start[csv->count++] = csv->used;
    return STATUS_OK;
}

/* Reads the rest of a quoted field, from after the opening quote to the closing quote. */
static enum status read_quoted(struct csv *csv, struct error *err)
{
    for (;;) {
        int byte;
        enum status status = peek(csv, &byte, err);
        if (!status && byte == END)
            return csv_fault(csv, STATUS_INVALID, "has an opening quote without a closing one", err);
        csv->at++;
        if (!status && byte == '"') {
            int next;
            status = peek(csv, &next, err);
            if (status || next != '"')
                return status;
            csv->at++;
        }
        if (!status)
            status = csv_put(csv, (char)byte, err);
        if (status)
            return status;
    }
}

static bool ends_field(const struct csv *csv, int byte)
{
    return byte == END || byte == '\n' || byte == '\r' ||
           (csv->separator ? byte == csv->separator : byte == ',' || byte == '\t');
}

static enum status read_field(struct csv *csv, int *byte, struct error *err)
{
    enum status status = begin_field(csv, err);
    if (!status)
        status = peek(csv, byte, err);
    if (!status && *byte == '"') {
        csv->at++;
        status = read_quoted(csv, err);
        if (!status)
            status = peek(csv, byte, err);
        if (!status && !ends_field(csv, *byte))
            return csv_fault(csv, STATUS_INVALID,
                             "has text after a closing quote; a quote inside a quoted field must be doubled", err);
    }
    while (!status && !ends_field(csv, *byte)) {
        csv->at++;
        status = *byte == '"'
                     ? csv_fault(csv, STATUS_INVALID,
                                 "has a quote inside an unquoted field; quote the field and double the quote", err)
                     : csv_put(csv, (char)*byte, err);
        if (!status)
            status = peek(csv, byte, err);
    }
    return status ? status : csv_put(csv, '\0', err);
}

/* Consumes the end of a line: LF, CR LF or the end of the source. */
static enum status end_line(struct csv *csv, int byte, struct error *err)
{
    if (byte == '\r') {
        csv->at++;
        enum status status = peek(csv, &byte, err);
        if (status)
            return status;
        if (byte != '\n' && byte != END)
            return csv_fault(csv, STATUS_INVALID, "has a carriage return that is not followed by a line feed", err);
    }
    csv->at += byte == '\n';
    return STATUS_OK;
}

static enum status csv_finish(struct csv *csv, struct error *err)
{
    for (int i = 0; i < csv->count; i++) {
        csv->field[i] = csv->record + csv->start[i];
        size_t length = (i + 1 < csv->count ? csv->start[i + 1] : csv->used) - csv->start[i] - 1;
        if (strlen(csv->field[i]) != length || !utf8_valid(csv->field[i], length))
            return csv_fault(csv, STATUS_INVALID, "is not UTF-8; save the file in this encoding", err);
    }
    return STATUS_OK;
}

/* Reads a record and skips empty lines before it; *more is false at the end. */
static enum status read_record(struct csv *csv, bool *more, struct error *err)
{
    int byte;
    enum status status = peek(csv, &byte, err);
    while (!status && (byte == '\n' || byte == '\r')) {
        status = end_line(csv, byte, err);
        if (!status)
            status = peek(csv, &byte, err);
    }
    *more = !status && byte != END;
    if (!*more)
        return status;
    csv->used = 0;
    csv->count = 0;
    csv->row++;
    do {
        status = read_field(csv, &byte, err);
        if (!status && csv->separator == 0 && (byte == ',' || byte == '\t'))
            csv->separator = (char)byte;
        if (!status && byte == csv->separator && byte != END)
            csv->at++;
    } while (!status && byte != END && byte != '\n' && byte != '\r');
    if (!status)
        status = end_line(csv, byte, err);
    return status ? status : csv_finish(csv, err);
}

enum status csv_next(struct csv *csv, bool *more, struct error *err)
{
    enum status status = read_record(csv, more, err);
    if (!status && *more && csv->count != csv->columns)
        return error_set(err, STATUS_INVALID, NULL, "row %lld has %d fields, but the header has %d",
                         (long long)csv->row, csv->count, csv->columns);
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum status check_header(struct csv *csv, struct error *err)
{
    static const char mark[] = "\xEF\xBB\xBF";
    if (strncmp(csv->field[0], mark, 3) == 0)
        csv->field[0] += 3;
    char **sorted = malloc((size_t)csv->count * sizeof *sorted);
    enum status status = sorted ? STATUS_OK : error_memory(err, "a header");
    if (sorted) {
        memcpy(sorted, csv->field, (size_t)csv->count * sizeof *sorted);
        qsort(sorted, (size_t)csv->count, sizeof *sorted, compare_names);
    }
    for (int i = 0; !status && i < csv->count; i++) {
        if (i > 0 && csv->field[i][0] == '\0') /* the first name may be empty: the column may have names of rows */
            status = error_set(err, STATUS_INVALID, NULL, "row 1: column %d has no name; only the first may have none",
                               i + 1);
        else if (i > 0 && strcmp(sorted[i - 1], sorted[i]) == 0)
            status = error_set(err, STATUS_INVALID, NULL, "row 1: two columns are called '%.60s'; names must be unique",
                               sorted[i]);
    }
    free(sorted);
    return status;
}

enum status csv_open(struct csv *csv, const struct byte_source *from, struct error *err)
{
    bool more = false;
    *csv = (struct csv){.from = *from, .block = malloc(BLOCK)};
    if (!csv->block)
        return error_memory(err, "a table");
    enum status status = read_record(csv, &more, err);
    if (!status && !more)
        status = error_set(err, STATUS_INVALID, NULL, "row 1: there is no header; the first row names the columns");
    if (!status)
        status = check_header(csv, err);
    csv->columns = csv->count;
    if (csv->separator == 0)
        csv->separator = ',';
    return status;
}

void csv_close(struct csv *csv)
{
    free(csv->record);
    free(csv->field);
    free(csv->start);
    free(csv->block);
    *csv = (struct csv){0};
}

int csv_find(const struct csv *csv, const char *name)
{
    for (int i = 0; i < csv->count; i++)
        if (strcmp(csv->field[i], name) == 0)
            return i;
    return -1;
}

bool csv_number(const char *field, float *value)
{
    static const char allowed[] = "+-.0123456789eE"; /* strtof() also accepts hexadecimal, nan and others */
    char *end;
    if (field[0] == '\0' || strspn(field, allowed) != strlen(field))
        return false;
    *value = strtof(field, &end);
    return *end == '\0' && isfinite(*value);
}

/* Reports that the table has no column of this name. The message lists the first columns, so that the user can find the
 * name that was meant. */
static enum status no_column(const struct csv *csv, const char *wanted, struct error *err)
{
    char names[120] = "";
    size_t used = 0;
    int i = 0;
    for (; i < csv->count && used + strlen(csv->field[i]) + 6 < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", csv->field[i]);
    return error_set(err, STATUS_INVALID, NULL, "row 1: no column is called '%.60s'; the columns are %s%s", wanted,
                     names, i < csv->count ? ", ..." : "");
}

static enum status find_role(const struct csv *csv, const char *wanted, const char *const *usual, int *column,
                             struct error *err)
{
    *column = -1;
    if (wanted && wanted[0] != '\0') {
        *column = csv_find(csv, wanted);
        return *column >= 0 ? STATUS_OK : no_column(csv, wanted, err);
    }
    for (; *usual && *column < 0; usual++)
        *column = csv_find(csv, *usual);
    return STATUS_OK;
}

enum status table_columns_find(const struct csv *csv, const char *label, const char *group,
                               struct table_columns *columns, struct error *err)
{
    static const char *const labels[] = {"label", "labels", "class", "target", NULL}, *const groups[] = {"group",
                                                                                                         "split", NULL};
    const char *first = csv->field[0];
    bool named =
        first[0] == '\0' || strcmp(first, "id") == 0 || strcmp(first, "name") == 0 || strcmp(first, "sample") == 0;
    enum status status = find_role(csv, label, labels, &columns->label, err);
    if (!status)
        status = find_role(csv, group, groups, &columns->group, err);
    columns->id = named && columns->label != 0 && columns->group != 0 ? 0 : -1;
    return status;
}

bool table_columns_feature(const struct table_columns *columns, int column)
{
    return column != columns->label && column != columns->group && column != columns->id;
}
