/* Writes the document of a study from its row and its jobs, page by page, so that large results are in memory for a
 * page only. */
#include "api/studies/study_document.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/job_document.h"
#include "api/rights/caller.h"
#include "core/methods/method.h"
#include "core/metrics/interval.h"
#include "protocol/json.h"
#include "protocol/json_sink.h"

struct study_entry {
    size_t row;
    const double *values; /* [STUDY_RESULTS_MAX] NaN: the job does not have this result */
};

/* Begins a table for the stored grid of a study, a JSON object. fold: the field whose values the table summarises;
 * NULL: none. */
static enum status study_table_begin(struct study_table *table, const char *grid, const char *fold, struct arena *arena,
                                     struct error *err)
{
    cJSON *root;
    *table = (struct study_table){.arena = arena};
    enum status status = json_parse(grid, strlen(grid), &root, err);
    if (status)
        return status;
    size_t fields = (size_t)cJSON_GetArraySize(root);
    table->fields = arena_zalloc(arena, fields + 1, sizeof *table->fields);
    table->rows = arena_zalloc(arena, STORAGE_STUDY_JOBS, sizeof *table->rows);
    table->entries = arena_zalloc(arena, STORAGE_STUDY_JOBS, sizeof *table->entries);
    bool made = table->fields != NULL && table->rows != NULL && table->entries != NULL;
    JSON_EACH (axis, root) {
        if (fold != NULL && strcmp(fold, axis->string) == 0)
            continue;
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
    if (status)
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

/* Adds a job; at most STORAGE_STUDY_JOBS. The table copies what it needs. */
static enum status study_table_add(struct study_table *table, const struct storage_job *job, struct error *err)
{
    cJSON *config;
    if (table->job_count == STORAGE_STUDY_JOBS)
        return error_set(err, STATUS_LIMIT, NULL, "a study has at most %d jobs", STORAGE_STUDY_JOBS);
    struct study_cell *cells = arena_zalloc(table->arena, table->field_count + 1, sizeof *cells);
    if (cells == NULL)
        return error_memory(err, "the table of a study");
    enum status status = json_parse(job->config, strlen(job->config), &config, err);
    if (status)
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
    struct study_summary s = {0, NAN, NAN, NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < table->entry_count; i++)
        if (table->entries[i].row == row && isfinite(table->entries[i].values[result]))
            values[s.count++] = table->entries[i].values[result];
    if (s.count == 0)
        return s;
    qsort(values, s.count, sizeof values[0], compare);
    s.min = values[0];
    s.max = values[s.count - 1];
    s.median = (values[(s.count - 1) / 2] + values[s.count / 2]) / 2;
    struct interval interval = interval_mean(values, (int)s.count, &s.mean);
    s.low = interval.low;
    s.high = interval.high;
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
        sink_number(out, "mean", s.mean);
        sink_number(out, "low", s.low);
        sink_number(out, "high", s.high);
        sink_end_object(out);
    }
    sink_end_object(out);
    sink_end_object(out);
}

/* Writes the table as the member "table" of a document, and as CSV with a header. */
static void study_table_json(const struct study_table *table, const struct sink *out)
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

enum { PAGE = 50 };

bool exchange_study(struct exchange *x, struct storage_study *study)
{
    struct error err;
    error_clear(&err);
    enum status status = storage_study_get(x->api->options.storage, exchange_param(x, "id"), &x->arena, study, &err);
    if (!status && !caller_may(x, study->owner, study->team, study->visibility, ACTION_READ))
        status = STATUS_NOT_FOUND;
    if (status == STATUS_NOT_FOUND)
        respond_problem(x, PROBLEM_NOT_FOUND, "There is no study %s.", exchange_param(x, "id"));
    else if (status)
        respond_error(x, &err);
    return !status;
}

/* The state of a study follows from its jobs: the first of these states that one of its jobs has. */
static enum job_state state_of(const struct storage_study *study)
{
    static const enum job_state order[] = {JOB_RUNNING, JOB_QUEUED,    JOB_PAUSED,
                                           JOB_FAILED,  JOB_CANCELLED, JOB_SUCCEEDED};
    size_t i = 0;
    while (i + 1 < sizeof order / sizeof order[0] && study->jobs[order[i]] == 0)
        i++;
    return order[i];
}

static void write_links(const struct sink *out, const struct storage_study *study)
{
    static const char *const actions[] = {"cancel", "pause", "resume"};
    static const bool allowed[][3] = {/* cancel, pause, resume */
                                      [JOB_QUEUED] = {true, true, false},
                                      [JOB_RUNNING] = {true, true, false},
                                      [JOB_PAUSED] = {true, false, true},
                                      [JOB_CANCELLED] = {false, false, false}};
    char path[128];
    sink_begin_object(out, "links");
    (void)snprintf(path, sizeof path, "/v1/studies/%s", study->id);
    sink_text(out, "self", path);
    (void)snprintf(path, sizeof path, "/v1/studies/%s/chart", study->id);
    sink_text(out, "chart", path);
    (void)snprintf(path, sizeof path, "/v1/jobs?study=%s", study->id);
    sink_text(out, "jobs", path);
    for (int a = 0; a < 3; a++) {
        bool some = false;
        for (int state = JOB_QUEUED; state <= JOB_PAUSED; state++)
            some = some || (study->jobs[state] > 0 && allowed[state][a]);
        (void)snprintf(path, sizeof path, "/v1/studies/%s/%s", study->id, actions[a]);
        if (some)
            sink_text(out, actions[a], path);
    }
    sink_end_object(out);
}

static void write_members(struct exchange *x, const struct storage_study *study)
{
    const struct sink *out = x->out;
    sink_text(out, "id", study->id);
    sink_text(out, "kind", study->kind);
    sink_text(out, "preset", study->preset[0] != '\0' ? study->preset : NULL);
    sink_text(out, "name", study->name[0] != '\0' ? study->name : NULL);
    sink_text(out, "owner", study->owner[0] != '\0' ? study->owner : NULL);
    sink_text(out, "team", study->team[0] != '\0' ? study->team : NULL);
    sink_text(out, "visibility", visibility_name(study->visibility));
    sink_text(out, "state", job_state_name(state_of(study)));
    stored_json(&x->json, "grid", study->grid);
    sink_integer(out, "seeds", study->seeds);
    sink_integer(out, "count", study->count);
    sink_begin_object(out, "states");
    for (int state = 0; state < JOB_STATES; state++)
        sink_integer(out, job_state_name((enum job_state)state), study->jobs[state]);
    sink_end_object(out);
    sink_number(out, "fraction", study->fraction);
    sink_time(out, "created_at", study->created_at);
    sink_time(out, "finished_at", study->finished_at);
    write_links(out, study);
}

void study_item(struct exchange *x, const struct storage_study *study)
{
    sink_begin_object(x->out, NULL);
    write_members(x, study);
    sink_end_object(x->out);
}

/* Adds a page of jobs to the table. *after is the id of the last job, and becomes that of the last job of the page. */
static enum status add_page(struct exchange *x, const struct storage_study *study, char after[STORAGE_ID],
                            struct study_table *table, struct arena *page, size_t *count,
                            void (*each)(struct exchange *x, const struct storage_job *job), struct error *err)
{
    struct storage_job *jobs;
    arena_reset(page);
    enum status status = storage_study_jobs(x->api->options.storage, study->id, after, PAGE, page, &jobs, count, err);
    for (size_t i = 0; !status && i < *count; i++) {
        status = study_table_add(table, &jobs[i], err);
        if (!status && each != NULL)
            each(x, &jobs[i]);
        memcpy(after, jobs[i].id, STORAGE_ID);
    }
    return status;
}

bool study_table_read(struct exchange *x, const struct storage_study *study, struct study_table *table,
                      void (*each)(struct exchange *x, const struct storage_job *job))
{
    struct error err;
    struct arena page;
    char after[STORAGE_ID] = "";
    size_t count = PAGE;
    error_clear(&err);
    arena_init(&page, 1 << 16, (size_t)512 << 20);
    const struct method *method = api_method(x->api, study->kind);
    enum status status =
        study_table_begin(table, study->grid, method != NULL ? method->fold_field : NULL, &x->arena, &err);
    while (!status && count == PAGE)
        status = add_page(x, study, after, table, &page, &count, each, &err);
    arena_close(&page);
    if (status)
        respond_error(x, &err);
    return !status;
}

static void write_job(struct exchange *x, const struct storage_job *job)
{
    job_list_item(x, job, NULL, false);
}

void respond_study(struct exchange *x, int status, const char *id, bool whole)
{
    struct storage_study study;
    struct study_table table;
    struct error err;
    error_clear(&err);
    if (storage_study_get(x->api->options.storage, id, &x->arena, &study, &err)) {
        respond_error(x, &err);
        return;
    }
    sink_begin_object(x->out, NULL);
    write_members(x, &study);
    if (whole) {
        sink_begin_list(x->out, "jobs");
        if (!study_table_read(x, &study, &table, write_job))
            return;
        sink_end_list(x->out);
        study_table_json(&table, x->out);
    }
    sink_end_object(x->out);
    respond_json(x, status);
}
