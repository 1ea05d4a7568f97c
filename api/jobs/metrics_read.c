/* GET /v1/jobs/{id}/metrics: the time series of a job, thinned to at most max_points each. */
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/jobs/jobs.h"
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
        size_t twin = 0;
        while (twin < *count && strcmp(names[twin], copy) != 0)
            twin++;
        names[twin] = copy;
        *count += twin == *count;
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
    if (storage_metric_read(x->api->options.storage, job.id, &query, &x->arena, &series, &count, &err) != STATUS_OK) {
        respond_error(x, &err);
        return;
    }
    sink_begin_object(x->out, NULL);
    sink_begin_object(x->out, "series");
    for (size_t i = 0; i < count; i++)
        series_write(x->out, &series[i]);
    sink_end_object(x->out);
    sink_begin_object(x->out, "points"); /* number of stored points; the series may contain fewer */
    for (size_t i = 0; i < count; i++)
        sink_integer(x->out, series[i].name, series[i].total);
    sink_end_object(x->out);
    sink_end_object(x->out);
    respond_json(x, 200);
}
