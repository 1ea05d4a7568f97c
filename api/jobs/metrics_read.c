/* GET /v1/jobs/{id}/metrics: the time series of a job, thinned to at most max_points each. */
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/jobs/jobs.h"
#include "protocol/faults.h"
#include "storage/storage.h"

#define NAMES_MAX 64
#define POINTS_DEFAULT 1500 /* default of max_points: about the number of columns of a chart */

/* Splits a copy of "a,b" at its commas. False: there are too many names, or one is empty. */
static bool cut_names(struct exchange *x, const char *text, const char **names, size_t *count)
{
    char *copy = arena_strdup(&x->arena, text);
    *count = 0;
    while (copy != NULL) {
        char *comma = strchr(copy, ',');
        if (comma != NULL)
            *comma = '\0';
        if (copy[0] == '\0' || *count == NAMES_MAX)
            return false;
        size_t at = 0;
        while (at < *count && strcmp(names[at], copy) != 0)
            at++;
        names[at] = copy;
        *count += at == *count;
        copy = comma != NULL ? comma + 1 : NULL;
    }
    return *count > 0;
}

void series_write(const struct sink *out, const struct storage_series *series)
{
    sink_begin_list(out, series->name);
    for (size_t i = 0; i < series->count; i++) {
        sink_begin_list(out, NULL);
        sink_integer(out, NULL, series->points[i].step);
        sink_number(out, NULL, series->points[i].value);
        sink_end_list(out);
    }
    sink_end_list(out);
}

/* Whether a method of this build can record a series of this name. */
static bool is_metric(const struct api *api, const char *name)
{
    for (size_t m = 0; m < api->options.method_count; m++)
        if (method_has_metric(api->options.methods[m], name))
            return true;
    return false;
}

/* Checks the name of a series. A name is known if the job has the series, or if the method of any kind can record it.
 * (The page requests series before it knows the kind of the job.) For any other name, adds a fault with the nearest
 * name among the job's series and the metrics of its method. */
static enum status check_name(struct exchange *x, const struct storage_job *job, const char *name,
                              struct api_faults *faults, struct error *err)
{
    const struct method *method = api_method(x->api, job->kind);
    struct name_guess guess = {.given = name};
    struct storage_series *all;
    size_t count;
    if (is_metric(x->api, name))
        return STATUS_OK;
    for (size_t i = 0; method != NULL && i < method->metric_count; i++)
        name_guess_offer(&guess, method->metrics[i].name);
    const struct storage_metric_query newest = {.since = INT64_MAX - 1, .max_points = 3};
    enum status status = storage_metric_read(x->api->options.storage, job->id, &newest, &x->arena, &all, &count, err);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++)
        name_guess_offer(&guess, all[i].name);
    name_guess_fault(&guess, "a series of this job", "name", faults);
    return STATUS_OK;
}

/* Checks the names in the query for which it has found no series. series: [count], what it has found. Returns false if
 * a name is unknown or storage fails; the function has then responded. */
static bool names_known(struct exchange *x, const struct storage_job *job, const struct storage_metric_query *query,
                        const struct storage_series *series, size_t count)
{
    struct error err;
    error_clear(&err);
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    enum status status = faults != NULL ? STATUS_OK : error_memory(&err, "faults");
    for (size_t n = 0; n < query->name_count && !status; n++) {
        size_t at = 0;
        while (at < count && strcmp(series[at].name, query->names[n]) != 0)
            at++;
        if (at == count)
            status = check_name(x, job, query->names[n], faults, &err);
    }
    if (status)
        respond_error(x, &err);
    else if (faults->count > 0)
        respond_faults(x, PROBLEM_INVALID, "parameter", faults);
    return !status && faults->count == 0;
}

void metrics_read(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    struct storage_job job;
    const char *names[NAMES_MAX], *asked = exchange_query(x, "name");
    const int64_t until = exchange_query_integer(x, "until", INT64_MAX);
    struct storage_metric_query query = {
        .since = exchange_query_integer(x, "since", INT64_MIN),
        .until = exchange_query(x, "until") != NULL ? &until : NULL,
        .max_points = exchange_query_integer(x, "max_points", POINTS_DEFAULT),
    };
    if (asked != NULL) {
        if (!cut_names(x, asked, names, &query.name_count)) {
            respond_problem(x, PROBLEM_BAD_QUERY, "name: must be 1 to %d names, separated by commas.", NAMES_MAX);
            return;
        }
        query.names = names;
    }
    if (!exchange_job(x, &job))
        return;
    struct storage_series *series;
    size_t count;
    if (storage_metric_read(x->api->options.storage, job.id, &query, &x->arena, &series, &count, &err)) {
        respond_error(x, &err);
        return;
    }
    if (!names_known(x, &job, &query, series, count))
        return;
    sink_begin_object(x->out, NULL);
    sink_begin_object(x->out, "series");
    for (size_t i = 0; i < count; i++)
        series_write(x->out, &series[i]);
    sink_end_object(x->out);
    sink_begin_object(x->out, "points"); /* how many points of each series are stored; this answer may contain fewer */
    for (size_t i = 0; i < count; i++)
        sink_integer(x->out, series[i].name, series[i].total);
    sink_end_object(x->out);
    sink_end_object(x->out);
    respond_json(x, 200);
}
