/* The one table of routes.
 *
 * A row contains everything about a route: method and path, parameters and body, responses, required scope, and the
 * function that handles it. Routing, 404, 405 with Allow, admission, query validation and the OpenAPI document all use
 * this table (routes.c), so they always agree. */
#ifndef MOTIF_API_HTTP_ROUTE_H
#define MOTIF_API_HTTP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/http/message.h"
#include "core/base/values.h"
#include "core/base/error.h"

struct exchange;

/* Rows of a list of parameters of the query string. A text has 1 to `most` bytes. */
#define PARAMETER_INTEGER(parameter, low, high, text)                                                                  \
    {                                                                                                                  \
        .name = parameter, .type = FIELD_INT, .min = low, .max = high, .meaning = text                                 \
    }
#define PARAMETER_FLAG(parameter, text)                                                                                \
    {                                                                                                                  \
        .name = parameter, .type = FIELD_BOOL, .meaning = text                                                         \
    }
#define PARAMETER_CHOICE(parameter, values, text)                                                                      \
    {                                                                                                                  \
        .name = parameter, .type = FIELD_CHOICE, .choices = values, .meaning = text                                    \
    }
#define PARAMETER_TEXT(parameter, most, text)                                                                          \
    {                                                                                                                  \
        .name = parameter, .type = FIELD_TEXT, .max = most, .meaning = text                                            \
    }
#define PARAMETERS_END                                                                                                 \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

/* Two names have a meaning of their own. A request that states the format of its body needs no Content-Type. */
#define PARAMETER_FORMAT "format"
/* Stands for every name that begins with "result.": a bound on a member of the result (query_check.h). */
#define PARAMETER_RESULT "result.NAME"

struct api_answer { /* a response of a route, which may be an error; a list ends with status 0 */
    int status;
    const char *media_type; /* NULL: no body */
    const char *schema;     /* name of a schema in the OpenAPI document, or NULL */
    const char *meaning;
};

/* Rules of a protocol that others have defined, for routes that follow it. */
struct api_dialect {
    const char *error; /* name of an additional member of a problem document: clients of the protocol look for the
                          detail there */
    bool typeless;     /* a body may come without Content-Type */
    const char *header, *header_meaning; /* for the OpenAPI document: the name of a further header of requests, and its
                                            meaning; both may be NULL */
};

/* What a route does with the job, study or data set that its path names (rights/admit.h checks it). */
enum api_right {
    RIGHT_UNSTATED, /* no row may have it: api_create() fails */
    RIGHT_NOTHING,  /* the path names no object; an answer contains only what the caller may read */
    RIGHT_TRAINER,  /* the caller is the job's trainer (API_SCOPE_TRAINER) */
    RIGHT_READ,
    RIGHT_FETCH, /* as RIGHT_READ; the request counts as a use of the job, for policies (storage/jobs/policy.h) */
    RIGHT_USE,
    RIGHT_CHANGE,
    RIGHT_DELETE,
    RIGHTS
};

#define ROUTE_PARAMS 3
#define ROUTE_PARAM_BYTES 128
/* under this name, handlers find the item of a query, whatever the pattern calls the path parameter */
#define ROUTE_ITEM "item"

struct api_route {
    const char *method;  /* a route for GET also handles HEAD */
    const char *pattern; /* such as "/v1/jobs/{id}"; route.c has a table of the path parameters */
    const char *name;    /* operationId in the OpenAPI document */
    const char *summary;
    enum api_scope scope;
    size_t body_limit; /* upper limit of the bytes of the body; 0: the route takes no body */
    bool body_optional;
    const char *const *media_types;   /* media types of the body; ends with NULL */
    const char *request_schema;       /* name of the schema of a JSON body */
    const struct config_field *query; /* ends with PARAMETERS_END; NULL: none */
    const struct api_answer *answers;
    void (*handle)(struct exchange *x);
    const struct api_dialect *dialect; /* NULL: the rules of this API */
    enum api_right right;
};

struct route_table { /* everything is borrowed */
    const struct api_route *routes;
    size_t count;
};

struct route_match {
    const struct api_route *route; /* NULL: no route was found, and `status` is the reason */
    /* the dialect of the route; if no route was found, the dialect of the routes that share the first segment of the
     * request's path; NULL: the rules of this API */
    const struct api_dialect *dialect;
    int status;     /* status: 200 if the route was found; else 400 (wrong encoding), 404, 405 or 414 */
    char allow[64]; /* for 405: the methods that the path allows */
    size_t count;   /* number of path parameters */
    const char *names[ROUTE_PARAMS];
    char values[ROUTE_PARAMS][ROUTE_PARAM_BYTES];
    const char *query; /* text behind '?', or NULL */
    struct error err;  /* for 400: what is wrong */
    /* set for a 404 of a known path whose parameter has a text that is not allowed, else NULL. refused: the meaning of
     * this parameter ("name of a data set"); pattern: the regular expression of its allowed texts */
    const char *refused, *pattern;
};
void route_match(const struct route_table *table, const char *method, const char *target, struct route_match *match);
/* Returns the route of a method and a target, or NULL if the table has none. */
const struct api_route *route_find(const struct route_table *table, const char *method, const char *target);
/* True if the route takes a body of this Content-Type; NULL stands for a request without that header. */
bool route_takes(const struct api_route *route, const char *content_type);
/* True if the table of the route has an answer with this status. */
bool route_answers(const struct api_route *route, int status);
/* True if the route follows Idempotency-Key: it creates a job or a study. */
bool route_keeps_keys(const struct api_route *route);
/* Returns the parameter of this name, or NULL. */
const struct config_field *route_parameter(const struct api_route *route, const char *name);
/* True when the route takes its body as a stream (an upload). */
bool route_streams(const struct api_route *route);

/* Finds the next "{name}" of a pattern, starting at *at. Returns its length, or 0 if there is none, and moves *at
 * behind it. For code that generates documents. */
size_t route_pattern_param(const char *pattern, size_t *at, const char **name);
/* Returns the allowed form of a path parameter as a regular expression, and its meaning. */
const char *route_param_pattern(const char *name, size_t bytes, const char **meaning);

#endif
