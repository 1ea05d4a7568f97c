/* Counts responses by route and status, and writes the Prometheus text format. */
#include "api/documents/prometheus.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/route.h"

/* Statuses that are counted separately; the last entry counts all others. */
static const int statuses[] = {200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 406, 408, 409, 412,
                               413, 414, 415, 416, 417, 421, 422, 429, 431, 500, 501, 503, 504, 0};
#define STATUSES (sizeof statuses / sizeof statuses[0])
struct row {
    _Atomic uint64_t by_status[2][STATUSES]; /* the first index is 1 for HEAD, else 0 */
    struct histogram times;
};

struct counters {
    const struct route_table *routes;
    size_t rows; /* one for each route, and one for requests that match no route */
    struct row row[];
};

enum status counters_create(const struct route_table *routes, struct counters **counters, struct error *err)
{
    *counters = calloc(1, sizeof **counters + (routes->count + 1) * sizeof(struct row));
    if (*counters == NULL)
        return error_memory(err, "counters");
    (*counters)->routes = routes;
    (*counters)->rows = routes->count + 1;
    return STATUS_OK;
}

void counters_destroy(struct counters *counters)
{
    free(counters);
}

static void prometheus_add(_Atomic uint64_t *to, uint64_t count)
{
    atomic_fetch_add_explicit(to, count, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

void counters_add(struct counters *counters, const struct api_route *route, bool head, int status, double seconds)
{
    struct row *row = &counters->row[route != NULL ? (size_t)(route - counters->routes->routes) : counters->rows - 1];
    size_t s = 0;
    while (s + 1 < STATUSES && statuses[s] != status)
        s++;
    prometheus_add(&row->by_status[head ? 1 : 0][s], 1);
    histogram_add(&row->times, seconds);
}

void prometheus_family(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void prometheus_value(struct buf *out, const char *name, double value)
{
    buf_format(out, "%s %.17g\n", name, value);
}

void prometheus_histogram(struct buf *out, const char *name, const char *labels, const struct histogram_counts *counts)
{
    const char *comma = labels[0] != '\0' ? "," : "";
    for (int b = 0; b < HISTOGRAM_BOUNDS; b++) {
        buf_format(out, "%s_bucket{%s%sle=\"%g\"} %llu\n", name, labels, comma, histogram_bounds[b],
                   (unsigned long long)counts->below[b]);
    }
    buf_format(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, labels, comma, (unsigned long long)counts->count);
    const char *open = labels[0] != '\0' ? "{" : "", *close = labels[0] != '\0' ? "}" : "";
    buf_format(out, "%s_sum%s%s%s %.9f\n", name, open, labels, close, counts->sum);
    buf_format(out, "%s_count%s%s%s %llu\n", name, open, labels, close, (unsigned long long)counts->count);
}

void prometheus_label(struct buf *out, const char *value)
{
    buf_text(out, "\"");
    for (const char *c = value; *c != '\0'; c++)
        if (*c == '\\' || *c == '"')
            buf_format(out, "\\%c", *c);
        else if (*c == '\n')
            buf_text(out, "\\n");
        else
            buf_append(out, c, 1);
    buf_text(out, "\"");
}

static void write_requests(const struct counters *counters, struct buf *out)
{
    const char *name = "motifd_http_requests_total";
    prometheus_family(out, name, "counter", "Requests answered, by route, method and status.");
    for (size_t i = 0; i < counters->rows; i++) {
        bool known = i < counters->routes->count;
        for (int head = 0; head < 2; head++) {
            for (size_t s = 0; s < STATUSES; s++) {
                uint64_t count = get(&counters->row[i].by_status[head][s]);
                if (count == 0)
                    continue;
                buf_format(out, "%s{route=\"%s\",method=\"%s\",status=\"", name,
                           known ? counters->routes->routes[i].pattern : "none",
                           head    ? "HEAD"
                           : known ? counters->routes->routes[i].method
                                   : "any");
                if (statuses[s] != 0)
                    buf_format(out, "%d", statuses[s]);
                else
                    buf_text(out, "other");
                buf_format(out, "\"} %llu\n", (unsigned long long)count);
            }
        }
    }
}

static void write_durations(const struct counters *counters, struct buf *out)
{
    const char *name = "motifd_http_request_duration_seconds";
    prometheus_family(out, name, "histogram", "Time from a complete request to its response, by route and method.");
    for (size_t i = 0; i < counters->rows; i++) {
        bool known = i < counters->routes->count;
        struct histogram_counts counts;
        char labels[200];
        (void)snprintf(labels, sizeof labels, "route=\"%s\",method=\"%s\"",
                       known ? counters->routes->routes[i].pattern : "none",
                       known ? counters->routes->routes[i].method : "any");
        histogram_read(&counters->row[i].times, &counts);
        if (counts.count > 0)
            prometheus_histogram(out, name, labels, &counts);
    }
}

void counters_write(const struct counters *counters, struct buf *out)
{
    write_requests(counters, out);
    write_durations(counters, out);
}
