/* Tables in JSON Lines (json_rows.h), with libcjson. Texts stay in the object of the current line; the fields point to
 * them. */
#include "core/formats/json/json_rows.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

static enum status json_rows_fault(const struct json_rows *rows, const char *what, const char *name, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, what, (long long)rows->lines.number, name);
}

/* Whether a line has the escape of a NUL, which would end a text. */
static bool has_nul(struct plain_line line)
{
    for (size_t i = 0; i + 5 < line.size; i += line.at[i] == '\\' ? 2 : 1)
        if (memcmp(line.at + i, "\\u0000", 6) == 0)
            return true;
    return false;
}

/* Reads the next line that is not empty into rows->object; NULL at the end. */
static enum status read_object(struct json_rows *rows, struct error *err)
{
    struct plain_line line;
    bool more = true;
    enum status status = STATUS_OK;
    cJSON_Delete(rows->object);
    rows->object = NULL;
    do {
        status = text_stream_next(&rows->lines, &line, &more, err);
        line = !status && more ? plain_trimmed(line) : (struct plain_line){NULL, 0};
    } while (!status && more && line.size == 0);
    if (status || !more)
        return status;
    if (!utf8_valid(line.at, line.size))
        return json_rows_fault(rows, "line %lld is not UTF-8; save the file in this encoding%s", "", err);
    if (has_nul(line))
        return json_rows_fault(rows, "line %lld has a NUL in a text (\\u0000); remove it%s", "", err);
    const char *end = NULL;
    rows->object = cJSON_ParseWithLengthOpts(line.at, line.size, &end, 0);
    if (cJSON_IsArray((cJSON *)rows->object) && rows->lines.number == 1)
        return json_rows_fault(
            rows,
            "line %lld is a list; each line must be an object, such as {\"text\": \"...\", \"label\": "
            "\"...\"}: jq -c '.[]' FILE writes the items of a list so%s",
            "", err);
    if (!cJSON_IsObject((cJSON *)rows->object) || end != line.at + line.size)
        return json_rows_fault(
            rows, "line %lld is no JSON object; write each sample as an object on a line of its own%s", "", err);
    return STATUS_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct json_rows_name *)a)->name, ((const struct json_rows_name *)b)->name);
}

/* Takes the members of the first object as columns. */
static enum status take_columns(struct json_rows *rows, struct error *err)
{
    struct csv *csv = rows->csv;
    const int count = cJSON_GetArraySize(rows->object);
    const cJSON *item;
    size_t bytes = 0;
    if (count == 0 || count > CSV_FIELDS)
        return error_set(err, count ? STATUS_LIMIT : STATUS_INVALID, NULL,
                         "line %lld has %d members; 1 to %d are allowed", (long long)rows->lines.number, count,
                         CSV_FIELDS);
    cJSON_ArrayForEach (item, (cJSON *)rows->object)
        bytes += strlen(item->string) + 1;
    csv->names = malloc(bytes);
    csv->name = malloc((size_t)count * sizeof *csv->name);
    csv->field = malloc((size_t)count * sizeof *csv->field);
    csv->list = calloc((size_t)count, sizeof *csv->list);
    rows->field = calloc((size_t)count, sizeof *rows->field);
    rows->sorted = malloc((size_t)count * sizeof *rows->sorted);
    if (!csv->names || !csv->name || !csv->field || !csv->list || !rows->field || !rows->sorted)
        return error_memory(err, "a row");
    bytes = 0;
    cJSON_ArrayForEach (item, (cJSON *)rows->object) {
        csv->name[csv->columns] = strcpy(csv->names + bytes, item->string);
        rows->sorted[csv->columns] = (struct json_rows_name){csv->name[csv->columns], csv->columns};
        bytes += strlen(item->string) + 1;
        csv->columns++;
    }
    qsort(rows->sorted, (size_t)count, sizeof *rows->sorted, by_name);
    for (int i = 1; i < count; i++)
        if (by_name(&rows->sorted[i - 1], &rows->sorted[i]) == 0)
            return json_rows_fault(rows, "line %lld has the member \"%.60s\" twice", rows->sorted[i].name, err);
    return STATUS_OK;
}

enum status json_rows_open(struct json_rows *rows, struct csv *csv, const struct byte_source *from, struct error *err)
{
    *rows = (struct json_rows){.csv = csv, .read = true};
    *csv = (struct csv){.what = "line", .separator = ','};
    text_stream_open(&rows->lines, from, CSV_RECORD);
    enum status status = read_object(rows, err);
    if (!status && !rows->object)
        status = error_set(err, STATUS_INVALID, NULL, "there are no lines; the file needs at least one object");
    return status ? status : take_columns(rows, err);
}

void json_rows_close(struct json_rows *rows)
{
    for (int i = 0; rows->field && i < rows->csv->columns; i++)
        cJSON_free(rows->field[i].made);
    free(rows->field);
    free(rows->sorted);
    cJSON_Delete(rows->object);
    text_stream_close(&rows->lines);
    *rows = (struct json_rows){.csv = NULL};
}

/* Sets a field to the text of a value. */
static enum status take_value(struct json_rows *rows, int column, const cJSON *value, struct error *err)
{
    struct json_rows_field *field = &rows->field[column];
    char *text = "";
    rows->csv->list[column] = cJSON_IsArray(value);
    if (cJSON_IsString(value)) {
        text = value->valuestring;
    } else if (cJSON_IsBool(value)) {
        text = cJSON_IsTrue(value) ? "true" : "false";
    } else if (cJSON_IsNumber(value)) {
        if (value->valuedouble == floor(value->valuedouble) && fabs(value->valuedouble) >= 9007199254740992.0)
            return json_rows_fault(
                rows,
                "line %lld, \"%.60s\": whole numbers of 2^53 or more lose digits in JSON; write them "
                "in quotation marks",
                rows->csv->name[column], err);
        (void)snprintf(field->number, sizeof field->number, "%.15g", value->valuedouble);
        if (strtod(field->number, NULL) != value->valuedouble)
            (void)snprintf(field->number, sizeof field->number, "%.17g", value->valuedouble);
        text = field->number;
    } else if (!cJSON_IsNull(value)) {
        text = field->made = cJSON_PrintUnformatted(value);
        if (!text)
            return error_memory(err, "a row");
    }
    rows->csv->field[column] = text;
    return STATUS_OK;
}

enum status json_rows_next(struct json_rows *rows, bool *more, struct error *err)
{
    struct csv *csv = rows->csv;
    const cJSON *item;
    enum status status = rows->read ? STATUS_OK : read_object(rows, err);
    rows->read = false;
    *more = !status && rows->object;
    if (!*more)
        return status;
    csv->row = rows->lines.number;
    csv->count = csv->columns;
    for (int i = 0; i < csv->columns; i++) {
        cJSON_free(rows->field[i].made);
        rows->field[i].made = NULL;
        csv->field[i] = NULL;
    }
    cJSON_ArrayForEach (item, (cJSON *)rows->object) {
        const struct json_rows_name wanted = {item->string, 0};
        const struct json_rows_name *found =
            bsearch(&wanted, rows->sorted, (size_t)csv->columns, sizeof wanted, by_name);
        if (!found)
            return json_rows_fault(
                rows,
                "line %lld has the member \"%.60s\", which the first line lacks; write it there too, "
                "as null if it has no value",
                item->string, err);
        if (csv->field[found->column])
            return json_rows_fault(rows, "line %lld has the member \"%.60s\" twice", item->string, err);
        status = take_value(rows, found->column, item, err);
        if (status)
            return status;
    }
    for (int i = 0; i < csv->columns; i++)
        if (!csv->field[i]) {
            csv->field[i] = "";
            csv->list[i] = false;
        }
    return STATUS_OK;
}

enum status json_list_tabs(const char *list, struct buf *out, struct error *err)
{
    cJSON *items = cJSON_Parse(list);
    const cJSON *item;
    int number = 0;
    enum status status = cJSON_IsArray(items) ? STATUS_OK : error_set(err, STATUS_INVALID, NULL, "is no list");
    cJSON_ArrayForEach (item, items) {
        const char *text = cJSON_IsString(item) ? item->valuestring : "";
        char digits[32];
        if (cJSON_IsNumber(item))
            (void)snprintf(digits, sizeof digits, "%.15g", item->valuedouble);
        text = cJSON_IsNumber(item) ? digits : text;
        if (!status && (text[strspn(text, " \t")] == '\0' || strpbrk(text, "\t\r\n")))
            status = error_set(err, STATUS_INVALID, NULL, "item %d is no text, is empty, or has a tab or a line end",
                               number + 1);
        if (number++ > 0)
            buf_text(out, "\t");
        buf_text(out, text);
    }
    cJSON_Delete(items);
    return status;
}
