/* The one table of routes.
 *
 * A row says everything about a route: how it is reached, what it takes, what it answers, who may call
 * it and which function does the work. Routing, 404, 405 with Allow, admission, query validation and the OpenAPI
 * document are all read from it (routes.c), so they cannot drift apart. */
#ifndef MOTIF_API_HTTP_ROUTE_H
#define MOTIF_API_HTTP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/http/message.h"
#include "core/base/error.h"

struct exchange;

enum parameter_type { PARAMETER_END, PARAMETER_INTEGER, PARAMETER_FLAG, PARAMETER_CHOICE, PARAMETER_TEXT };

struct api_parameter { /* parameters of the query string; a list ends with PARAMETER_END */
    enum parameter_type type;
    const char *name;
    int64_t min, max;           /* INTEGER: range; TEXT: maximum number of bytes in `max` */
    const char *const *choices; /* CHOICE: NULL-terminated */
    const char *meaning;
};

struct api_answer { /* responses of a route, errors included; a list ends with status 0 */
    int status;
    const char *media_type; /* NULL: no body */
    const char *schema;     /* a name among the components of the OpenAPI document, or NULL */
    const char *meaning;
};

#define ROUTE_PARAMS 3
#define ROUTE_PARAM_BYTES 72
/* name under which handlers find the item of a query, whatever the pattern calls that parameter */
#define ROUTE_ITEM "item"

struct api_route {
    const char *method;  /* GET answers HEAD too */
    const char *pattern; /* "/v1/jobs/{id}"; see the table of path parameters in route.c */
    const char *name;    /* operationId */
    const char *summary;
    enum api_scope scope;
    size_t body_limit; /* 0: takes no body */
    bool body_optional;
    const char *const *media_types; /* of the body; NULL-terminated */
    const char *request_schema;     /* of a JSON body */
    const struct api_parameter *query;
    const struct api_answer *answers;
    void (*handle)(struct exchange *x);
};

struct route_table { /* borrowed */
    const struct api_route *routes;
    size_t count;
};

struct route_match {
    const struct api_route *route; /* NULL: see `status` */
    int status;                    /* status: 200 if the route was found; else 400 (wrong encoding), 404, 405 or 414 */
    char allow[64];                /* 405: methods of the path */
    size_t count;                  /* path parameters */
    const char *names[ROUTE_PARAMS];
    char values[ROUTE_PARAMS][ROUTE_PARAM_BYTES];
    const char *query; /* behind '?', or NULL */
    struct error err;  /* 400: why */
};
void route_match(const struct route_table *table, const char *method, const char *target, struct route_match *match);
/* The route of a method and a target, or NULL when the table has none. */
const struct api_route *route_find(const struct route_table *table, const char *method, const char *target);
/* True when the route takes a body of this Content-Type; NULL is the type of a request without that header. */
bool route_takes(const struct api_route *route, const char *content_type);
/* True when the route takes its body as a stream (an upload). */
bool route_streams(const struct api_route *route);

/* Finds the next "{name}" of a pattern, starting at *at. Returns its length, or 0 if there is none, and moves *at
 * behind it. For code that generates documents. */
size_t route_pattern_param(const char *pattern, size_t *at, const char **name);
/* What a path parameter may look like, as a regular expression, and what it means. */
const char *route_param_pattern(const char *name, size_t bytes, const char **meaning);

#endif
