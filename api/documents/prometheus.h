/* Counters of responses, and the Prometheus text format.
 *
 * Counting needs only a few relaxed atomic additions, so that requests do not wait for each other. Any thread may call
 * these functions. */
#ifndef MOTIF_API_DOCUMENTS_PROMETHEUS_H
#define MOTIF_API_DOCUMENTS_PROMETHEUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/histogram.h"

struct api_route;
struct counters;
struct route_table;

/* Creates a counter for each route of the table and one for requests that match no route. The table must outlive the
 * counters. */
enum status counters_create(const struct route_table *routes, struct counters **counters, struct error *err);
void counters_destroy(struct counters *counters); /* NULL is fine */
/* Counts a response. route: NULL when no route matched. */
void counters_add(struct counters *counters, const struct api_route *route, bool head, int status, double seconds);
/* Appends the metrics whose names begin with motifd_http_. */
void counters_write(const struct counters *counters, struct buf *out);

/* Appends the lines # HELP and # TYPE of a metric. type: "counter", "gauge" or "histogram". */
void prometheus_family(struct buf *out, const char *name, const char *type, const char *help);
/* Appends a sample without labels. */
void prometheus_value(struct buf *out, const char *name, double value);
/* Appends the samples of a histogram, after prometheus_family(). labels: `a="b",c="d"`, or "". */
void prometheus_histogram(struct buf *out, const char *name, const char *labels, const struct histogram_counts *counts);
/* Appends the value of a label, escaped and in quotes. */
void prometheus_label(struct buf *out, const char *value);

#endif
