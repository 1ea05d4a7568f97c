/* Writes the document of a study from its row and its jobs, page by page, so that large results are in memory for a
 * page only. */
#include "api/studies/study_document.h"

#include <stdio.h>
#include <string.h>

#include "api/jobs/job_document.h"

enum { PAGE = 50 };

bool exchange_study(struct exchange *x, struct storage_study *study)
{
    struct error err;
    error_clear(&err);
    enum status status = storage_study_get(x->api->options.storage, exchange_param(x, "id"), &x->arena, study, &err);
    if (status == STATUS_NOT_FOUND)
        respond_problem(x, PROBLEM_NOT_FOUND, "There is no study %s.", exchange_param(x, "id"));
    else if (status != STATUS_OK)
        respond_error(x, &err);
    return status == STATUS_OK;
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
    for (size_t i = 0; status == STATUS_OK && i < *count; i++) {
        status = study_table_add(table, &jobs[i], err);
        if (status == STATUS_OK && each != NULL)
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
    enum status status = study_table_begin(table, study->grid, &x->arena, &err);
    while (status == STATUS_OK && count == PAGE)
        status = add_page(x, study, after, table, &page, &count, each, &err);
    arena_close(&page);
    if (status != STATUS_OK)
        respond_error(x, &err);
    return status == STATUS_OK;
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
    if (storage_study_get(x->api->options.storage, id, &x->arena, &study, &err) != STATUS_OK) {
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
