#include "api/prometheus.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/route.h"

static const int statuses[] = {200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 406, 408, 409,
                               412, 413, 414, 415, 416, 417, 421, 422, 429, 431, 500, 501, 503, 0 /* others */};
#define STATUSES (sizeof statuses / sizeof statuses[0])
/* Upper bounds in seconds: reads take below a millisecond, submits a disk flush, queries seconds. */
static const double bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
#define BOUNDS (sizeof bounds / sizeof bounds[0])

struct row {
    _Atomic uint64_t by_status[2][STATUSES]; /* [is HEAD] */
    _Atomic uint64_t bucket[BOUNDS + 1];     /* not cumulated */
    _Atomic uint64_t nanoseconds;
};

struct counters {
    size_t rows; /* one for each route and one for what matched none */
    struct row row[];
};

enum status counters_create(struct counters **counters, struct error *err)
{
    *counters = calloc(1, sizeof **counters + (api_route_count + 1) * sizeof(struct row));
    if (*counters == NULL) {
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for counters");
    }
    (*counters)->rows = api_route_count + 1;
    return STATUS_OK;
}

void counters_destroy(struct counters *counters)
{
    free(counters);
}

static void add(_Atomic uint64_t *to, uint64_t count)
{
    atomic_fetch_add_explicit(to, count, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

void counters_add(struct counters *counters, const struct api_route *route, bool head, int status, double seconds)
{
    struct row *row = &counters->row[route != NULL ? (size_t)(route - api_routes) : counters->rows - 1];
    size_t s = 0, b = 0;
    while (s + 1 < STATUSES && statuses[s] != status) {
        s++;
    }
    while (b < BOUNDS && seconds > bounds[b]) {
        b++;
    }
    add(&row->by_status[head ? 1 : 0][s], 1);
    add(&row->bucket[b], 1);
    add(&row->nanoseconds, (uint64_t)(fmax(seconds, 0) * 1e9));
}

void prometheus_family(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void prometheus_value(struct buf *out, const char *name, double value)
{
    buf_format(out, "%s %.17g\n", name, value);
}

void prometheus_label(struct buf *out, const char *value)
{
    buf_text(out, "\"");
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '\\' || *c == '"') {
            buf_format(out, "\\%c", *c);
        } else if (*c == '\n') {
            buf_text(out, "\\n");
        } else {
            buf_append(out, c, 1);
        }
    }
    buf_text(out, "\"");
}

static void write_requests(const struct counters *counters, struct buf *out)
{
    const char *name = "motifd_http_requests_total";
    prometheus_family(out, name, "counter", "Requests answered, by route, method and status.");
    for (size_t i = 0; i < counters->rows; i++) {
        bool known = i < api_route_count;
        for (int head = 0; head < 2; head++) {
            for (size_t s = 0; s < STATUSES; s++) {
                uint64_t count = get(&counters->row[i].by_status[head][s]);
                if (count == 0) {
                    continue;
                }
                buf_format(out, "%s{route=\"%s\",method=\"%s\",status=\"", name, known ? api_routes[i].pattern : "none",
                           head ? "HEAD" : known ? api_routes[i].method : "any");
                if (statuses[s] != 0) {
                    buf_format(out, "%d", statuses[s]);
                } else {
                    buf_text(out, "other");
                }
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
        const struct row *row = &counters->row[i];
        bool known = i < api_route_count;
        const char *route = known ? api_routes[i].pattern : "none", *method = known ? api_routes[i].method : "any";
        uint64_t total = 0;
        for (size_t b = 0; b <= BOUNDS; b++) {
            total += get(&row->bucket[b]);
        }
        if (total == 0) {
            continue;
        }
        uint64_t below = 0;
        for (size_t b = 0; b < BOUNDS; b++) {
            below += get(&row->bucket[b]);
            buf_format(out, "%s_bucket{route=\"%s\",method=\"%s\",le=\"%g\"} %llu\n", name, route, method, bounds[b],
                       (unsigned long long)(below < total ? below : total));
        }
        buf_format(out, "%s_bucket{route=\"%s\",method=\"%s\",le=\"+Inf\"} %llu\n", name, route, method,
                   (unsigned long long)total);
        buf_format(out, "%s_sum{route=\"%s\",method=\"%s\"} %.9f\n", name, route, method,
                   (double)get(&row->nanoseconds) * 1e-9);
        buf_format(out, "%s_count{route=\"%s\",method=\"%s\"} %llu\n", name, route, method, (unsigned long long)total);
    }
}

void counters_write(const struct counters *counters, struct buf *out)
{
    write_requests(counters, out);
    write_durations(counters, out);
}
