/* Groups the jobs of a study by the values of its grid, and summarises their results (study_table.h). */
#include "api/studies/study_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/json.h"
#include "protocol/json_sink.h"

struct study_entry {
    size_t row;
    const double *values; /* [STUDY_RESULTS_MAX] NaN: the job does not have this result */
};

enum status study_table_begin(struct study_table *table, const char *grid, struct arena *arena, struct error *err)
{
    cJSON *root;
    *table = (struct study_table){.arena = arena};
    enum status status = json_parse(grid, strlen(grid), &root, err);
    if (status != STATUS_OK)
        return status;
    size_t fields = (size_t)cJSON_GetArraySize(root);
    table->fields = arena_zalloc(arena, fields + 1, sizeof *table->fields);
    table->rows = arena_zalloc(arena, STORAGE_STUDY_JOBS, sizeof *table->rows);
    table->entries = arena_zalloc(arena, STORAGE_STUDY_JOBS, sizeof *table->entries);
    bool made = table->fields != NULL && table->rows != NULL && table->entries != NULL;
    JSON_EACH (axis, root) {
        const char *name = made ? arena_strdup(arena, axis->string) : NULL;
        made = name != NULL;
        if (made)
            table->fields[table->field_count++] = name;
    }
    cJSON_Delete(root);
    return made ? STATUS_OK : error_memory(err, "the table of a study");
}

/* Writes a value of a configuration as text. */
static void write_value(const cJSON *value, struct buf *out)
{
    if (cJSON_IsString(value))
        buf_text(out, value->valuestring);
    else if (cJSON_IsNumber(value))
        json_write_number(out, value->valuedouble);
    else if (cJSON_IsBool(value))
        buf_text(out, cJSON_IsTrue(value) ? "true" : "false");
}

static bool read_cells(const struct study_table *table, const cJSON *config, struct study_cell *cells)
{
    bool made = true;
    for (size_t i = 0; i < table->field_count && made; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(config, table->fields[i]);
        struct buf text;
        buf_init(&text, 1 << 16);
        write_value(value, &text);
        buf_append(&text, "", 1);
        cells[i].text = text.failed ? NULL : arena_strdup(table->arena, text.data);
        cells[i].number = cJSON_IsNumber(value) ? value->valuedouble : NAN;
        cells[i].is_flag = cJSON_IsBool(value);
        made = cells[i].text != NULL;
        buf_close(&text);
    }
    return made;
}

static bool same_cells(const struct study_table *table, const struct study_cell *a, const struct study_cell *b)
{
    for (size_t i = 0; i < table->field_count; i++)
        if (strcmp(a[i].text, b[i].text) != 0)
            return false;
    return true;
}

/* Finds the row with these cells, and adds it if there is none. The jobs of a row mostly follow one another, so the
 * search begins at the end. */
static size_t row_of(struct study_table *table, const struct study_cell *cells)
{
    for (size_t r = table->row_count; r > 0; r--)
        if (same_cells(table, table->rows[r - 1].cells, cells))
            return r - 1;
    table->rows[table->row_count] = (struct study_row){.cells = cells};
    return table->row_count++;
}

/* Finds the column of a result, and adds it if it is new; *column is -1 if the table is full. False: not enough memory.
 */
static bool find_column(struct study_table *table, const char *name, int *column)
{
    *column = study_table_result(table, name);
    if (*column >= 0 || table->result_count == STUDY_RESULTS_MAX)
        return true;
    const char *copy = arena_strdup(table->arena, name);
    if (copy == NULL)
        return false;
    *column = (int)table->result_count;
    table->results[table->result_count++] = copy;
    return true;
}

/* The seed and the threads of a result are settings of the job and no results. */
static bool is_result(const cJSON *item)
{
    return cJSON_IsNumber(item) && strcmp(item->string, "seed") != 0 && strcmp(item->string, "threads") != 0;
}

static enum status add_result(struct study_table *table, size_t row, const char *text, struct error *err)
{
    cJSON *result;
    double *values = arena_alloc(table->arena, STUDY_RESULTS_MAX * sizeof *values);
    if (values == NULL)
        return error_memory(err, "the table of a study");
    enum status status = json_parse(text, strlen(text), &result, NULL);
    if (status == STATUS_NO_MEMORY)
        return error_memory(err, "the table of a study");
    if (status != STATUS_OK)
        return STATUS_OK; /* a job whose result is no JSON has no numbers */
    bool made = true;
    for (size_t i = 0; i < STUDY_RESULTS_MAX; i++)
        values[i] = NAN;
    JSON_EACH (item, result) {
        int column = -1;
        made = made && (!is_result(item) || find_column(table, item->string, &column));
        if (column >= 0)
            values[column] = item->valuedouble;
    }
    cJSON_Delete(result);
    if (!made)
        return error_memory(err, "the table of a study");
    table->entries[table->entry_count++] = (struct study_entry){row, values};
    table->rows[row].done++;
    return STATUS_OK;
}

enum status study_table_add(struct study_table *table, const struct storage_job *job, struct error *err)
{
    cJSON *config;
    if (table->job_count == STORAGE_STUDY_JOBS)
        return error_set(err, STATUS_LIMIT, NULL, "a study has at most %d jobs", STORAGE_STUDY_JOBS);
    struct study_cell *cells = arena_zalloc(table->arena, table->field_count + 1, sizeof *cells);
    if (cells == NULL)
        return error_memory(err, "the table of a study");
    enum status status = json_parse(job->config, strlen(job->config), &config, err);
    if (status != STATUS_OK)
        return status;
    bool made = read_cells(table, config, cells);
    cJSON_Delete(config);
    if (!made)
        return error_memory(err, "the table of a study");
    size_t row = row_of(table, cells);
    table->rows[row].jobs++;
    table->job_count++;
    return job->result != NULL ? add_result(table, row, job->result, err) : STATUS_OK;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct study_summary study_table_summary(const struct study_table *table, size_t row, size_t result)
{
    _Static_assert(STORAGE_STUDY_JOBS <= 1000, "the values of a row fit on the stack");
    double values[STORAGE_STUDY_JOBS];
    struct study_summary s = {0, NAN, NAN, NAN};
    for (size_t i = 0; i < table->entry_count; i++)
        if (table->entries[i].row == row && isfinite(table->entries[i].values[result]))
            values[s.count++] = table->entries[i].values[result];
    if (s.count == 0)
        return s;
    qsort(values, s.count, sizeof values[0], compare);
    s.min = values[0];
    s.max = values[s.count - 1];
    s.median = (values[(s.count - 1) / 2] + values[s.count / 2]) / 2;
    return s;
}

int study_table_field(const struct study_table *table, const char *name)
{
    for (size_t i = 0; i < table->field_count; i++)
        if (strcmp(table->fields[i], name) == 0)
            return (int)i;
    return -1;
}

int study_table_result(const struct study_table *table, const char *name)
{
    for (size_t i = 0; i < table->result_count; i++)
        if (strcmp(table->results[i], name) == 0)
            return (int)i;
    return -1;
}

static void write_row(const struct study_table *table, size_t row, const struct sink *out)
{
    const struct study_row *r = &table->rows[row];
    sink_begin_object(out, NULL);
    sink_begin_object(out, "fields");
    for (size_t i = 0; i < table->field_count; i++) {
        const struct study_cell *cell = &r->cells[i];
        if (cell->is_flag)
            sink_boolean(out, table->fields[i], cell->text[0] == 't');
        else if (isfinite(cell->number))
            sink_number(out, table->fields[i], cell->number);
        else
            sink_text(out, table->fields[i], cell->text);
    }
    sink_end_object(out);
    sink_integer(out, "jobs", (int64_t)r->jobs);
    sink_integer(out, "done", (int64_t)r->done);
    sink_begin_object(out, "results");
    for (size_t i = 0; i < table->result_count; i++) {
        struct study_summary s = study_table_summary(table, row, i);
        sink_begin_object(out, table->results[i]);
        sink_integer(out, "count", (int64_t)s.count);
        sink_number(out, "median", s.median);
        sink_number(out, "min", s.min);
        sink_number(out, "max", s.max);
        sink_end_object(out);
    }
    sink_end_object(out);
    sink_end_object(out);
}

void study_table_json(const struct study_table *table, const struct sink *out)
{
    sink_begin_object(out, "table");
    sink_begin_list(out, "fields");
    for (size_t i = 0; i < table->field_count; i++)
        sink_text(out, NULL, table->fields[i]);
    sink_end_list(out);
    sink_begin_list(out, "results");
    for (size_t i = 0; i < table->result_count; i++)
        sink_text(out, NULL, table->results[i]);
    sink_end_list(out);
    sink_begin_list(out, "rows");
    for (size_t r = 0; r < table->row_count; r++)
        write_row(table, r, out);
    sink_end_list(out);
    sink_end_object(out);
}

/* Writes a text as a field of CSV (RFC 4180). */
static void csv_text(struct buf *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        buf_text(out, text);
        return;
    }
    buf_text(out, "\"");
    for (const char *c = text; *c != '\0'; c++)
        buf_format(out, *c == '"' ? "\"\"" : "%c", *c);
    buf_text(out, "\"");
}

static void csv_number(struct buf *out, double value)
{
    buf_text(out, ",");
    if (isfinite(value))
        json_write_number(out, value);
}

void study_table_csv(const struct study_table *table, struct buf *out)
{
    for (size_t i = 0; i < table->field_count; i++) {
        csv_text(out, table->fields[i]);
        buf_text(out, ",");
    }
    buf_text(out, "jobs,done");
    for (size_t i = 0; i < table->result_count; i++) {
        /* a column has one meaning: a result with the name of a field gets another name */
        const char *before = study_table_field(table, table->results[i]) >= 0 ? "result." : "",
                   *name = table->results[i];
        buf_format(out, ",%s%s,%s%s_min,%s%s_max", before, name, before, name, before, name);
    }
    buf_text(out, "\n");
    for (size_t r = 0; r < table->row_count; r++) {
        for (size_t i = 0; i < table->field_count; i++) {
            csv_text(out, table->rows[r].cells[i].text);
            buf_text(out, ",");
        }
        buf_format(out, "%zu,%zu", table->rows[r].jobs, table->rows[r].done);
        for (size_t i = 0; i < table->result_count; i++) {
            struct study_summary s = study_table_summary(table, r, i);
            csv_number(out, s.median);
            csv_number(out, s.min);
            csv_number(out, s.max);
        }
        buf_text(out, "\n");
    }
}
