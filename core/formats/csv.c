/* The CSV reader: one record in memory at a time, fields unquoted in place. Before the header it reads as many bytes
 * as the first two records have, and chooses the dialect by them. */
#include "core/formats/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/utf8.h"

enum { BLOCK = 1 << 16, END = -1 };

static enum status csv_fault(const struct csv *csv, enum status status, const char *what, struct error *err)
{
    return error_set(err, status, NULL, "row %lld %s", (long long)csv->row, what);
}

/* Appends bytes of the source to the block. */
static enum status fill(struct csv *csv, struct error *err)
{
    const struct byte_source from = text_source_bytes(&csv->text);
    size_t got = 0;
    if (csv->filled + BLOCK > csv->block_room) {
        size_t room = csv->block_room ? 2 * csv->block_room : BLOCK;
        unsigned char *block = realloc(csv->block, room);
        if (!block)
            return error_memory(err, "a table");
        csv->block = block;
        csv->block_room = room;
    }
    enum status status = byte_source_read(&from, csv->block + csv->filled, BLOCK, &got, err);
    csv->filled += status ? 0 : got;
    csv->ended = !status && got == 0;
    return status;
}

/* Reads the next byte without consuming it; END at the end of the source. */
static enum status peek(struct csv *csv, int *byte, struct error *err)
{
    if (csv->at == csv->filled && !csv->ended) {
        csv->at = csv->filled = 0;
        enum status status = fill(csv, err);
        if (status)
            return status;
    }
    *byte = csv->at == csv->filled ? END : csv->block[csv->at];
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
    return byte == END || byte == '\n' || byte == '\r' || byte == csv->separator;
}

static bool ends_line(int byte)
{
    return byte == END || byte == '\n' || byte == '\r';
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Skips blanks; *byte is the first byte after them. */
static enum status skip_blanks(struct csv *csv, int *byte, struct error *err)
{
    enum status status = peek(csv, byte, err);
    while (!status && (*byte == ' ' || (*byte == '\t' && csv->separator != '\t'))) {
        csv->at++;
        status = peek(csv, byte, err);
    }
    return status;
}

static enum status read_field(struct csv *csv, int *byte, struct error *err)
{
    enum status status = begin_field(csv, err);
    if (!status)
        status = skip_blanks(csv, byte, err);
    if (!status && *byte == '"') {
        csv->at++;
        status = read_quoted(csv, err);
        if (!status)
            status = csv->separator == ' ' ? peek(csv, byte, err) : skip_blanks(csv, byte, err);
        if (!status && !ends_field(csv, *byte))
            return csv_fault(csv, STATUS_INVALID,
                             "has text after a closing quote; a quote inside a quoted field must be doubled", err);
        return status ? status : csv_put(csv, '\0', err);
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
    while (!status && csv->used > csv->start[csv->count - 1] && blank(csv->record[csv->used - 1]))
        csv->used--;
    return status ? status : csv_put(csv, '\0', err);
}

/* Consumes the end of a line: LF, CR LF, CR or the end of the source. */
static enum status end_line(struct csv *csv, int byte, struct error *err)
{
    enum status status = STATUS_OK;
    if (byte == '\r') {
        csv->at++;
        status = peek(csv, &byte, err);
    }
    csv->at += !status && byte == '\n';
    return status;
}

static enum status csv_finish(struct csv *csv, struct error *err)
{
    for (int i = 0; i < csv->count; i++) {
        csv->field[i] = csv->record + csv->start[i];
        size_t length = (i + 1 < csv->count ? csv->start[i + 1] : csv->used) - csv->start[i] - 1;
        if (strlen(csv->field[i]) != length || !utf8_valid(csv->field[i], length))
            return csv_fault(csv, STATUS_INVALID,
                             "is not UTF-8; save the file in this encoding (of "
                             "Latin-1: iconv -f WINDOWS-1252 -t UTF-8 FILE)",
                             err);
    }
    return STATUS_OK;
}

/* Reads a line that is not empty; *more is false at the end. */
static enum status read_line(struct csv *csv, bool *more, struct error *err)
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
        if (!status && byte == csv->separator && byte != END) {
            csv->at++;
            if (csv->separator == ' ') /* several blanks separate as one does, and the last ones separate nothing */
                status = skip_blanks(csv, &byte, err);
        }
    } while (!status && !ends_line(byte));
    if (!status)
        status = end_line(csv, byte, err);
    return status ? status : csv_finish(csv, err);
}

/* Reads a record, and skips lines that contain only blanks if the table has several columns. */
static enum status read_record(struct csv *csv, bool *more, struct error *err)
{
    enum status status = read_line(csv, more, err);
    while (!status && *more && csv->count == 1 && csv->field[0][0] == '\0' && csv->columns > 1) {
        csv->row--;
        status = read_line(csv, more, err);
    }
    return status;
}

enum status csv_next(struct csv *csv, bool *more, struct error *err)
{
    enum status status = read_record(csv, more, err);
    if (!status && *more && csv->count != csv->columns)
        return error_set(err, STATUS_INVALID, NULL,
                         "row %lld has %d fields, but the header has %d, with '%s' between them; %s",
                         (long long)csv->row, csv->count, csv->columns,
                         csv->separator == '\t'  ? "tab"
                         : csv->separator == ' ' ? "blank"
                                                 : (char[]){csv->separator, '\0'},
                         csv->count == csv->columns + 1 && csv->field[csv->columns][0] == '\0'
                             ? "remove the separator at the end of the line"
                             : "a line \"sep=;\" before the header states another separator");
    if (!status && !*more && csv->unclear_row > 0 && !csv->clear)
        return error_set(err, STATUS_INVALID, NULL,
                         "row %lld, column '%.60s': '%s' may have a decimal comma or a separator of thousands, and no "
                         "other number shows which; write numbers with a decimal point and without separators",
                         (long long)csv->unclear_row, csv->name[csv->unclear_column], csv->unclear);
    return status;
}

/* ---- the dialect ------------------------------------------------------------------------------------------- */

/* Of equally good ones, the first is taken. '|' and blanks separate only where none of the others does. */
static const char separators[] = "\t;,| ";
enum { SEPARATORS = sizeof separators - 1, USUAL = 3, BLANKS = SEPARATORS - 1 };

/* The bytes of a record that was not read yet. */
struct ahead {
    size_t begin, end;     /* bytes [begin, end) of the block */
    int count[SEPARATORS]; /* number of each separator outside quotes; several blanks in a row count as one */
    bool last_empty;       /* the last byte is a separator */
};

/* Looks at the first record at or after `at` that is not empty. It has no bytes at the end of the source. */
static enum status look_ahead(struct csv *csv, size_t at, struct ahead *out, struct error *err)
{
    bool quoted = false, gap = false, begun = false;
    size_t from = at; /* empty lines count, because they stay in memory */
    enum status status = STATUS_OK;
    *out = (struct ahead){at, at, {0}, false};
    for (;; at++) {
        while (!status && at == csv->filled && !csv->ended)
            status = fill(csv, err);
        if (status || at == csv->filled || at - from > CSV_RECORD)
            break;
        char byte = (char)csv->block[at];
        if (!quoted && (byte == '\n' || byte == '\r')) {
            if (at > out->begin)
                break;
            out->begin = at + 1;
            gap = false;
            continue;
        }
        if (!quoted && byte == ' ') {
            gap = begun;
            continue;
        }
        out->count[BLANKS] += gap;
        begun = true;
        gap = false;
        quoted = quoted != (byte == '"');
        const char *found = quoted || byte == '\0' ? NULL : strchr(separators, byte);
        if (found)
            out->count[found - separators]++;
        out->last_empty = found != NULL;
    }
    out->end = at;
    return status;
}

/* Reads a line such as "sep=;", which Excel understands, and removes it. */
static enum status take_stated(struct csv *csv, const struct ahead *line, struct error *err)
{
    const char *text = (const char *)csv->block + line->begin;
    size_t size = line->end - line->begin, quotes = size > 1 && text[0] == '"' && text[size - 1] == '"';
    if (size != 5 + 2 * quotes || strncasecmp(text + quotes, "sep=", 4) != 0)
        return STATUS_OK;
    csv->separator = text[4 + quotes];
    csv->stated = true;
    csv->at = line->end;
    bool good = strchr("\t;,|:", csv->separator) != NULL && csv->separator != '\0';
    return good ? STATUS_OK
                : error_set(err, STATUS_INVALID, NULL,
                            "the line before the header states a separator that is not "
                            "allowed; use a tab, ';', ',', '|' or ':'");
}

/* Chooses among the separators [begin, end) the one that splits the header and the first record alike and into most
 * fields. Without one, header and record may differ by the name of the column of row names. */
static void choose_among(struct csv *csv, int begin, int end, const struct ahead *header, const struct ahead *first)
{
    for (int names = 0; names < 2 && !csv->separator; names++)
        for (int i = begin, most = 0; i < end; i++) {
            if (first->count[i] != header->count[i] + names || header->count[i] <= most)
                continue;
            most = header->count[i];
            csv->separator = separators[i];
        }
}

static void choose_separator(struct csv *csv, const struct ahead *header, const struct ahead *first)
{
    choose_among(csv, 0, USUAL, header, first);
    for (int i = USUAL; i < SEPARATORS; i++)
        choose_among(csv, i, i + 1, header, first);
    int most = USUAL - 1; /* if none fits, a later message says how many fields differ */
    for (int i = 0; i < USUAL; i++)
        most = header->count[i] > header->count[most] ? i : most;
    csv->separator = csv->separator ? csv->separator : separators[most];
}

/* Whether a line is a comment: it begins with '#', and the next line is split into another number of fields. */
static bool is_comment(const struct csv *csv, const struct ahead *line, const struct ahead *next)
{
    bool sharp = line->end > line->begin && csv->block[line->begin] == '#' && line->end < CSV_RECORD, table = false;
    for (int i = 0; sharp && i < (table ? USUAL : SEPARATORS); i++) {
        sharp = line->count[i] == 0 || next->count[i] != line->count[i];
        table = table || next->count[i] > 0;
    }
    return sharp && (table || (next->end > next->begin && csv->block[next->begin] == '#'));
}

static enum status recognise(struct csv *csv, struct error *err)
{
    struct ahead header, first;
    enum status status = look_ahead(csv, 0, &header, err);
    if (!status)
        status = take_stated(csv, &header, err);
    if (!status && csv->stated)
        status = look_ahead(csv, header.end, &header, err);
    if (!status)
        status = look_ahead(csv, header.end, &first, err);
    while (!status && is_comment(csv, &header, &first)) {
        csv->comments = true;
        csv->at = header.end;
        header = first;
        status = look_ahead(csv, header.end, &first, err);
    }
    if (status)
        return status;
    if (!csv->stated)
        choose_separator(csv, &header, &first);
    const char *known = strchr(separators, csv->separator);
    int at = known ? (int)(known - separators) : 0;
    csv->row_names = known && header.count[at] > 0 && first.count[at] == header.count[at] + 1 && !first.last_empty;
    return STATUS_OK;
}

/* ---- the header -------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum status check_header(struct csv *csv, struct error *err)
{
    char **sorted = malloc((size_t)csv->count * sizeof *sorted);
    enum status status = sorted ? STATUS_OK : error_memory(err, "a header");
    if (sorted) {
        memcpy(sorted, csv->field, (size_t)csv->count * sizeof *sorted);
        qsort(sorted, (size_t)csv->count, sizeof *sorted, compare_names);
    }
    for (int i = 0; !status && i < csv->count; i++) {
        if (i > 0 && csv->field[i][0] == '\0') /* the first name may be empty: the column may have names of rows */
            status = error_set(err, STATUS_INVALID, NULL,
                               "row 1: column %d has no name; only the first may have none: name it, or remove the "
                               "separator at the end of each line",
                               i + 1);
        else if (i > 0 && strcmp(sorted[i - 1], sorted[i]) == 0)
            status = error_set(err, STATUS_INVALID, NULL, "row 1: two columns are called '%.60s'; names must be unique",
                               sorted[i]);
    }
    free(sorted);
    return status;
}

/* Copies the names, because the next record takes their place. */
static enum status keep_names(struct csv *csv, struct error *err)
{
    csv->names = malloc(csv->used);
    csv->name = malloc((size_t)csv->count * sizeof *csv->name);
    if (!csv->names || !csv->name)
        return error_memory(err, "a header");
    memcpy(csv->names, csv->record, csv->used);
    for (int i = 0; i < csv->count; i++)
        csv->name[i] = csv->names + csv->start[i];
    return STATUS_OK;
}

/* Reads the header. The column of row names gets an empty name. */
static enum status read_header(struct csv *csv, struct error *err)
{
    bool more = false;
    enum status status = read_line(csv, &more, err);
    if (!status && !more)
        status = error_set(err, STATUS_INVALID, NULL, "row 1: there is no header; the first row names the columns");
    if (!status && csv->row_names) {
        status = begin_field(csv, err);
        if (!status)
            status = csv_put(csv, '\0', err);
        if (!status) {
            memmove(csv->start + 1, csv->start, (size_t)(csv->count - 1) * sizeof *csv->start);
            csv->start[0] = csv->used - 1;
            for (int i = 0; i < csv->count; i++)
                csv->field[i] = csv->record + csv->start[i];
        }
    }
    if (!status)
        status = check_header(csv, err);
    return status ? status : keep_names(csv, err);
}

enum status csv_open(struct csv *csv, const struct byte_source *from, struct error *err)
{
    *csv = (struct csv){.what = "row"};
    text_source_open(&csv->text, from);
    enum status status = fill(csv, err);
    if (!status)
        status = recognise(csv, err);
    if (!status)
        status = read_header(csv, err);
    csv->columns = csv->count;
    return status;
}

void csv_close(struct csv *csv)
{
    free(csv->record);
    free(csv->field);
    free(csv->start);
    free(csv->block);
    free(csv->names);
    free(csv->name);
    free(csv->list);
    *csv = (struct csv){0};
}

int csv_find(const struct csv *csv, const char *name)
{
    int found = -1, like = 0;
    for (int i = 0; i < csv->columns; i++) {
        if (strcmp(csv->name[i], name) == 0)
            return i;
        if (strcasecmp(csv->name[i], name) != 0)
            continue;
        found = i;
        like++;
    }
    return like == 1 ? found : -1;
}

/* ---- numbers ----------------------------------------------------------------------------------------------- */

bool csv_number(const char *field, float *value)
{
    static const char allowed[] = "+-.0123456789eE"; /* strtof() also accepts hexadecimal, nan and others */
    char *end;
    if (field[0] == '\0' || strspn(field, allowed) != strlen(field))
        return false;
    *value = strtof(field, &end);
    return *end == '\0' && isfinite(*value);
}

bool csv_rounds(const char *field, float value)
{
    char text[64];
    if (fabsf(value) < ROUNDED_FROM)
        return false;
    const char *digits = field + (field[0] == '+' || field[0] == '-');
    digits += strspn(digits, "0");
    if (digits[strspn(digits, "0123456789")] != '\0')
        return rounded_double(strtod(field, NULL));
    (void)snprintf(text, sizeof text, "%.0f", fabs((double)value)); /* a double does not hold all digits either */
    return strcmp(text, digits) != 0;
}

bool csv_missing(const char *field)
{
    static const char *const texts[] = {"", "nan", "na", "n/a", "#n/a", "<na>", "nat", "none", "null"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcasecmp(field, texts[i]) == 0)
            return true;
    return false;
}

/* What is wrong with a text that is no number, and the remedy. */
static const char *not_a_number(const char *text)
{
    const char *digits = text + strspn(text, "+-");
    if (csv_missing(text))
        return "is no number, so the value is missing; fill it in, leave the row out, or leave the column out with "
               "ignore (motifctl: --ignore COLUMN)";
    if (digits[0] >= '0' && digits[0] <= '9' && strspn(digits, "0123456789.,' \xC2\xA0\xE2\x80\xAF") == strlen(digits))
        return "contains separators of thousands; write the number without them";
    if (digits[0] >= '0' && digits[0] <= '9')
        return "is not a number; write it without units and signs, or leave the column out with ignore (motifctl: "
               "--ignore COLUMN)";
    return "is not a number; if the column is not a feature, leave it out with ignore (motifctl: --ignore COLUMN)";
}

static enum status value_fault(const struct csv *csv, int column, const char *what, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, "%s %lld, column '%.60s': '%.40s' %s", csv->what, (long long)csv->row,
                     csv->name[column], csv->field[column], what);
}

/* Notes the decimal sign of a number. A comma before exactly three digits may separate thousands. */
static enum status note_sign(struct csv *csv, int column, char sign, const char *text, struct error *err)
{
    char what[120];
    if (csv->decimal && csv->decimal != sign) {
        (void)snprintf(
            what, sizeof what, "has a decimal %s, but the number in %s %lld has a decimal %s; write all alike",
            sign == ',' ? "comma" : "point", csv->what, (long long)csv->decimal_row, sign == ',' ? "point" : "comma");
        return value_fault(csv, column, what, err);
    }
    if (!csv->decimal)
        csv->decimal_row = csv->row;
    csv->decimal = sign;
    if (sign == '.' || csv->clear)
        return STATUS_OK;
    const char *digits = text + strspn(text, "+-"), *comma = strchr(digits, ',');
    csv->clear = digits[0] == '0' || comma == digits || comma - digits > 3 || strspn(comma + 1, "0123456789") != 3 ||
                 comma[4] != '\0';
    if (!csv->clear && csv->unclear_row == 0) {
        csv->unclear_row = csv->row;
        csv->unclear_column = column;
        (void)snprintf(csv->unclear, sizeof csv->unclear, "%s", text);
    }
    return STATUS_OK;
}

enum status csv_value(struct csv *csv, int column, float *value, struct error *err)
{
    const char *text = csv->field[column];
    char copy[CSV_NUMBER], *comma = NULL;
    size_t size;
    text += strspn(text, " \t"); /* blanks inside quotes */
    size = strlen(text);
    while (size > 0 && strchr(" \t", text[size - 1]))
        size--;
    bool fits = size < sizeof copy;
    memcpy(copy, text, fits ? size : 0);
    copy[fits ? size : 0] = '\0';
    char sign = strchr(copy, ',') ? ',' : strchr(copy, '.') ? '.' : '\0';
    if (sign == ',') {
        comma = strchr(copy, ',');
        *comma = '.';
        if (strspn(copy, "+-.,0123456789") == size &&
            (strchr(comma + 1, ',') || strchr(copy, '.') != comma || strchr(comma + 1, '.')))
            return value_fault(csv, column, "contains separators of thousands; write the number without them", err);
    }
    if (strcasecmp(copy, "true") == 0 || strcasecmp(copy, "false") == 0) {
        csv->booleans = true;
        *value = strcasecmp(copy, "true") == 0 ? 1 : 0;
        return STATUS_OK;
    }
    if (!csv_number(copy, value)) {
        if (comma)
            *comma = ',';
        return value_fault(csv, column, not_a_number(copy), err);
    }
    if (csv_rounds(copy, *value))
        rounded_add(&csv->rounded, "%s %lld, column '%.60s': %.40s became %.0f", csv->what, (long long)csv->row,
                    csv->name[column], copy, (double)*value);
    if (comma)
        *comma = ',';
    return sign ? note_sign(csv, column, sign, copy, err) : STATUS_OK;
}

void csv_dialect(const struct csv *csv, char out[CSV_DIALECT])
{
    const char *parts[7];
    char between[32] = "blanks between fields";
    int count = 0;
    if (csv->separator != ' ')
        (void)snprintf(between, sizeof between, "'%c' between fields", csv->separator);
    if (csv->separator != ',' && csv->separator != '\t')
        parts[count++] = between;
    if (csv->decimal == ',')
        parts[count++] = "decimal commas";
    if (csv->text.form == TEXT_UTF16_LITTLE || csv->text.form == TEXT_UTF16_BIG)
        parts[count++] = "UTF-16";
    if (csv->row_names)
        parts[count++] = "names of rows in a first column without a name";
    if (csv->comments)
        parts[count++] = "comments before the header";
    if (csv->booleans)
        parts[count++] = "true and false as 1 and 0";
    out[0] = '\0';
    for (int i = 0; i < count; i++) {
        size_t used = strlen(out);
        (void)snprintf(out + used, CSV_DIALECT - used, "%s%s", i > 0 ? ", " : "", parts[i]);
    }
}
