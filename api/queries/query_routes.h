/* Routes that come from the methods' tables: queries of jobs and computations without a job.
 *
 * api_create() joins the fixed rows (routes.c) with one row for each query path and each computation of all methods, so
 * that routing, 405, admission, counters and the OpenAPI document treat all rows alike. A path that several methods
 * share is one row, which accepts the parameters of all of them; the handler then checks the request against the table
 * of the job's own method. Constant after query_routes_create(); any thread. */
#ifndef MOTIF_API_QUERIES_QUERY_ROUTES_H
#define MOTIF_API_QUERIES_QUERY_ROUTES_H

#include "api/http/route.h"
#include "core/methods/method.h"

struct query_routes;

/* The query or computation from which a row was made. If several methods share the path, it is the one of the first
 * method. */
struct query_origin {
    const struct method *method;
    const struct method_query *query;             /* NULL for a computation */
    const struct method_computation *computation; /* NULL for a query */
};

/* The names of a row's generated schemas; NULL where the row has none. */
struct query_schemas {
    const char *request, *answer;
};

/* The functions that answer the generated rows. */
struct query_handlers {
    void (*query)(struct exchange *x);
    void (*computation)(struct exchange *x);
};

/* Makes the table and copies the fixed rows into it. `methods` is borrowed for the life of the object.
 * STATUS_NO_MEMORY. */
enum status query_routes_create(const struct route_table *fixed, const struct query_handlers *handlers,
                                const struct method *const *methods, size_t method_count, struct query_routes **out,
                                struct error *err);
void query_routes_destroy(struct query_routes *routes); /* NULL is allowed */

/* Returns all rows: the fixed ones first, then the generated ones. */
struct route_table query_routes_table(const struct query_routes *routes);
/* Returns the origin of a generated row; NULL for a fixed row. */
const struct query_origin *query_routes_origin(const struct query_routes *routes, const struct api_route *route);
const struct query_schemas *query_routes_schemas(const struct query_routes *routes, const struct api_route *route);

/* True if two queries share a route: they have the same name and the same verb, and both or neither are about an
 * item. */
bool query_same_route(const struct method_query *one, const struct method_query *other);

#endif
