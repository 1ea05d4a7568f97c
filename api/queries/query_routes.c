/* Makes rows of the route table from the methods' tables of queries and computations, so that a new query needs no
 * change in api/. query_routes.h describes the rows. */
#include "api/queries/query_routes.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/uri.h"
#include "core/base/arena.h"
#include "core/data/files/input_file.h"

#define JSON "application/json"
#define INTEGER_MAX 9007199254740991
#define ANSWERS_MAX 24

struct query_routes {
    struct arena arena; /* memory of the rows, texts and lists */
    struct api_route *routes;
    struct query_origin *origins;  /* [count - fixed]: the query or computation of each generated row */
    struct query_schemas *schemas; /* [count - fixed]: the schemas of each generated row */
    size_t fixed, count;
    struct query_handlers handlers;
    const struct method *const *methods;
    size_t method_count;
    bool failed; /* an allocation failed, so api_create() must fail */
};

/* What the methods that share a route accept and produce, taken together. */
struct merged {
    const struct method_query *query; /* the query of the first of these methods */
    bool inputs, edits, sample, model, bare, file, parameters;
    bool answers, draws, arrays, rows;
    const struct method_text *texts[METHOD_TEXTS];
    size_t text_count;
};

static const char *text(struct query_routes *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *text(struct query_routes *r, const char *format, ...)
{
    char made[200];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(made, sizeof made, format, arguments);
    va_end(arguments);
    const char *copy = arena_strdup(&r->arena, made);
    r->failed = r->failed || copy == NULL;
    return copy;
}

static void *space(struct query_routes *r, size_t count, size_t size)
{
    void *bytes = arena_zalloc(&r->arena, count, size);
    r->failed = r->failed || bytes == NULL;
    return bytes;
}

bool query_same_route(const struct method_query *one, const struct method_query *other)
{
    return strcmp(one->name, other->name) == 0 && one->verb == other->verb &&
           (one->item != NULL) == (other->item != NULL);
}

/* Adds a text format of answers, unless the query of another method has already added one with the same media type. */
static void add_text(struct merged *out, const struct method_text *text)
{
    for (size_t i = 0; i < out->text_count; i++)
        if (strcmp(out->texts[i]->type, text->type) == 0)
            return;
    if (out->text_count < METHOD_TEXTS)
        out->texts[out->text_count++] = text;
}

static void query_routes_merge(const struct query_routes *r, const struct method_query *query, struct merged *out)
{
    *out = (struct merged){.query = query};
    for (size_t m = 0; m < r->method_count; m++) {
        for (size_t i = 0; i < r->methods[m]->query_count; i++) {
            const struct method_query *q = &r->methods[m]->queries[i];
            if (!query_same_route(q, query))
                continue;
            out->inputs = out->inputs || q->takes == METHOD_TAKES_INPUTS;
            out->edits = out->edits || q->takes == METHOD_TAKES_EDITS;
            out->sample = out->sample || q->takes == METHOD_TAKES_SAMPLE;
            out->model = out->model || q->takes == METHOD_TAKES_MODEL;
            out->file = out->file || q->takes == METHOD_TAKES_FILE;
            out->bare = out->bare || q->takes == METHOD_TAKES_NOTHING;
            out->parameters = out->parameters || (q->parameters != NULL && q->parameters->count > 0);
            out->answers = out->answers || q->answer != NULL;
            out->draws = out->draws || q->draw != NULL;
            out->arrays = out->arrays || q->array != NULL;
            out->rows = out->rows || q->rows != NULL;
            for (size_t t = 0; t < q->text_count; t++)
                add_text(out, &q->texts[t]);
        }
    }
}

/* Converts a name such as "motif-map" to "MotifMap". */
static void camel(const char *name, char *out, size_t room)
{
    size_t used = 0;
    bool upper = true;
    for (; *name != '\0' && used + 1 < room; name++) {
        if (isalnum((unsigned char)*name))
            out[used++] = (char)(upper ? toupper((unsigned char)*name) : *name);
        upper = !isalnum((unsigned char)*name);
    }
    out[used] = '\0';
}

/* Makes a field a parameter of the route: a number may be any short text. The handler later checks the value against
 * the field itself. */
static struct config_field parameter_of(const struct config_field *field)
{
    struct config_field p = *field;
    if (p.type == FIELD_REAL)
        p.type = FIELD_TEXT;
    if (p.type == FIELD_TEXT)
        p.max = CONFIG_TEXT;
    return p;
}

static void add_parameter(struct config_field *list, size_t *count, struct config_field parameter)
{
    for (size_t i = 0; i < *count; i++) {
        /* another method has a parameter of this name: accept the wider range */
        if (strcmp(list[i].name, parameter.name) == 0) {
            list[i].min = list[i].min < parameter.min ? list[i].min : parameter.min;
            list[i].max = list[i].max > parameter.max ? list[i].max : parameter.max;
            return;
        }
    }
    list[(*count)++] = parameter;
}

static void add_fields(const struct query_routes *r, const struct method_query *query, struct config_field *list,
                       size_t *count)
{
    for (size_t m = 0; m < r->method_count; m++) {
        for (size_t i = 0; i < r->methods[m]->query_count; i++) {
            const struct method_query *q = &r->methods[m]->queries[i];
            for (size_t f = 0; query_same_route(q, query) && q->parameters != NULL && f < q->parameters->count; f++)
                add_parameter(list, count, parameter_of(&q->parameters->fields[f]));
        }
    }
}

static size_t field_count(const struct query_routes *r)
{
    size_t count = 0;
    for (size_t m = 0; m < r->method_count; m++) {
        for (size_t i = 0; i < r->methods[m]->query_count; i++) {
            const struct method_query *q = &r->methods[m]->queries[i];
            count += q->parameters != NULL ? q->parameters->count : 0;
        }
    }
    return count;
}

static const char *const *media_types_of(struct query_routes *r, const struct merged *merged)
{
    size_t count = 1, files = 0;
    if (merged->file)
        return merged->query->files;
    while (merged->inputs && input_file_types[files] != NULL)
        files++;
    const char **list = space(r, files + 2, sizeof *list);
    if (list == NULL)
        return NULL;
    list[0] = JSON;
    for (size_t i = 0; i < files; i++)
        list[count++] = input_file_types[i];
    return list;
}

/* Makes the list of the values that ?format= can have: the short names of the media types that the body can have. */
static const char *const *formats_of(struct query_routes *r, const char *const *media_types)
{
    size_t count = 0;
    while (media_types != NULL && media_types[count] != NULL)
        count++;
    const char **list = space(r, count + 1, sizeof *list);
    for (size_t i = 0; list != NULL && i < count; i++)
        list[i] = media_short(media_types[i]);
    return list;
}

/* Makes the list of parameters of the query string; NULL if there are none. */
static const struct config_field *parameters_of(struct query_routes *r, const struct merged *merged,
                                                const char *const *media_types)
{
    static const struct config_field seed =
        PARAMETER_INTEGER("seed", 0, INTEGER_MAX, "index of the sample in the job's own domain (0)");
    static const struct config_field checkpoint =
        PARAMETER_TEXT("checkpoint", 40, "latest, best, a sequence number or density:NUMBER (latest)");
    static const struct config_field batch = PARAMETER_FLAG(
        "batch",
        "1: the body is one array, and each index of its first axis is one input; at most 4096 inputs, or at most "
        "100000 if the answer has one row for each input");
    struct config_field *list = space(r, field_count(r) + 5, sizeof *list);
    size_t count = 0;
    if (list == NULL)
        return NULL;
    if (merged->sample)
        add_parameter(list, &count, seed);
    if (merged->query->verb == METHOD_GET || merged->file || merged->inputs || merged->edits)
        add_fields(r, merged->query, list, &count);
    if (merged->inputs || merged->edits || merged->sample || merged->bare || merged->file)
        add_parameter(list, &count, checkpoint);
    if (merged->inputs || merged->edits)
        add_parameter(list, &count, batch);
    if (merged->inputs || merged->file) {
        add_parameter(list, &count,
                      (struct config_field)PARAMETER_CHOICE(
                          PARAMETER_FORMAT, formats_of(r, media_types),
                          "format of the body; with this parameter the Content-Type has no effect and may be missing"));
    }
    return count > 0 ? list : NULL; /* the end of the list is set already, because its name is NULL */
}

static void add_answer(struct api_answer *list, size_t *count, int status, const char *type, const char *schema,
                       const char *meaning)
{
    list[(*count)++] = (struct api_answer){status, type, schema, meaning};
}

static void add_problem(struct api_answer *list, size_t *count, int status, const char *meaning)
{
    add_answer(list, count, status, "application/problem+json", "Problem", meaning);
}

static const struct api_answer *answers_of(struct query_routes *r, const struct merged *merged, const char *schema)
{
    struct api_answer *list = space(r, ANSWERS_MAX, sizeof *list);
    size_t n = 0;
    bool get = merged->query->verb == METHOD_GET;
    if (list == NULL)
        return NULL;
    if (merged->answers)
        add_answer(list, &n, 200, JSON, schema, merged->query->meaning);
    if (merged->draws)
        add_answer(list, &n, 200, "image/png", NULL, "With Accept: image/png, a picture of the answer.");
    if (merged->arrays) {
        add_answer(list, &n, 200, "application/x-npy", NULL,
                   "With this Accept, the numbers as float32; the first axis counts inputs.");
    }
    for (size_t i = 0; i < merged->text_count; i++)
        add_answer(list, &n, 200, merged->texts[i]->type, NULL, merged->texts[i]->meaning);
    if (get) {
        add_answer(list, &n, 304, NULL, NULL, "If-None-Match contains the current ETag.");
        add_problem(list, &n, 400, "A query parameter is wrong.");
    }
    add_problem(list, &n, 404, "There is no such job, checkpoint or item, or its kind does not answer this query.");
    add_problem(list, &n, 406, "The query cannot produce any of the media types in Accept.");
    add_problem(list, &n, 409, "A job has no checkpoint yet, or its model cannot answer this query.");
    if (!get || merged->sample)
        add_problem(list, &n, 422, "Inputs or parameters are invalid.");
    add_problem(list, &n, 429, "Too many queries are running; Retry-After gives the time to wait.");
    add_problem(list, &n, 503, "There is not enough memory at the moment.");
    add_problem(list, &n, 504, "The query took longer than --query-seconds.");
    return list;
}

static bool named(const struct query_routes *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->routes[i].name, name) == 0)
            return true;
    return false;
}

static void add_query(struct query_routes *r, const struct method *method, const struct method_query *query)
{
    char title[80], name[100];
    struct merged merged;
    query_routes_merge(r, query, &merged);
    camel(query->item != NULL ? query->item : query->name, title, sizeof title);
    (void)snprintf(name, sizeof name, "query%s", title);
    if (named(r, name)) /* the path has two rows, for GET and for POST; this one is the second, and the first one has
                           the name already */
        (void)snprintf(name, sizeof name, "query%s%s", title, query->verb == METHOD_GET ? "ByGet" : "ByPost");
    struct query_schemas *schemas = &r->schemas[r->count - r->fixed];
    schemas->answer = text(r, "Answer_%s", name + 5);
    bool post = query->verb == METHOD_POST;
    const char *request = NULL;
    if (merged.file)
        request = NULL; /* the body is a text */
    else if (post && !merged.parameters && !merged.model && !merged.bare && merged.inputs != merged.edits)
        request = merged.inputs ? "Query" : "Intervention";
    else if (post)
        request = schemas->request = text(r, "Ask_%s", name + 5);
    bool item = query->item != NULL;
    const char *const *media_types = post ? media_types_of(r, &merged) : NULL;
    r->origins[r->count - r->fixed] = (struct query_origin){.method = method, .query = query};
    r->routes[r->count++] =
        (struct api_route){.method = post ? "POST" : "GET",
                           .pattern = text(r, "/v1/jobs/{id}/%s%s%s%s", query->name, item ? "/{" : "",
                                           item ? query->item : "", item ? "}" : ""),
                           .name = text(r, "%s", name),
                           .summary = query->meaning,
                           .scope = API_SCOPE_READ,
                           .body_limit = !post                           ? 0
                                         : merged.file                   ? API_TEXT_MAX
                                         : merged.rows                   ? API_ROWS_MAX
                                         : merged.inputs || merged.edits ? API_BODY_MAX
                                                                         : API_JSON_MAX,
                           .body_optional = post && merged.bare,
                           .media_types = media_types,
                           .request_schema = request,
                           .query = parameters_of(r, &merged, media_types),
                           .answers = answers_of(r, &merged, schemas->answer),
                           .handle = r->handlers.query,
                           .right = RIGHT_FETCH};
}

static void add_computation(struct query_routes *r, const struct method *method,
                            const struct method_computation *computation)
{
    static const char *const json_types[] = {JSON, NULL};
    struct api_answer *answers = space(r, 8, sizeof *answers);
    char kind[80], title[80];
    size_t n = 0;
    camel(method->kind, kind, sizeof kind);
    camel(computation->name, title, sizeof title);
    if (answers != NULL) {
        add_answer(answers, &n, 200, JSON, computation->schema, computation->meaning);
        add_problem(answers, &n, 400, "The body is not JSON.");
        add_problem(answers, &n, 422, "Fields are invalid.");
        add_problem(answers, &n, 429, "Too many queries are running; Retry-After gives the time to wait.");
        add_problem(answers, &n, 504, "The computation took longer than --query-seconds.");
    }
    r->origins[r->count - r->fixed] = (struct query_origin){.method = method, .computation = computation};
    r->routes[r->count++] = (struct api_route){.method = "POST",
                                               .pattern = text(r, "/v1/%s/%s", method->kind, computation->name),
                                               .name = text(r, "compute%s%s", kind, title),
                                               .summary = computation->meaning,
                                               .scope = API_SCOPE_READ,
                                               .body_limit = API_BODY_MAX,
                                               .media_types = json_types,
                                               .request_schema = "NewComputation",
                                               .answers = answers,
                                               .handle = r->handlers.computation,
                                               .right = RIGHT_NOTHING};
}

/* Returns whether an earlier query has already made this route. */
static bool has_route(const struct query_routes *r, const struct method_query *query)
{
    for (size_t i = r->fixed; i < r->count; i++) {
        const struct method_query *made = r->origins[i - r->fixed].query;
        if (made != NULL && query_same_route(made, query))
            return true;
    }
    return false;
}

static void add_method(struct query_routes *r, const struct method *method)
{
    for (size_t i = 0; i < method->query_count && !r->failed; i++)
        if (!has_route(r, &method->queries[i]))
            add_query(r, method, &method->queries[i]);
    for (size_t i = 0; i < method->computation_count && !r->failed; i++)
        add_computation(r, method, &method->computations[i]);
}

enum status query_routes_create(const struct route_table *fixed, const struct query_handlers *handlers,
                                const struct method *const *methods, size_t method_count, struct query_routes **out,
                                struct error *err)
{
    struct query_routes *r = calloc(1, sizeof *r);
    *out = r;
    if (r == NULL)
        return error_memory(err, "routes");
    arena_init(&r->arena, (size_t)16 << 10, 0);
    r->handlers = *handlers;
    r->methods = methods;
    r->method_count = method_count;
    size_t most = 0;
    for (size_t m = 0; m < method_count; m++)
        most += methods[m]->query_count + methods[m]->computation_count;
    r->routes = space(r, fixed->count + most, sizeof *r->routes);
    r->origins = space(r, most + 1, sizeof *r->origins);
    r->schemas = space(r, most + 1, sizeof *r->schemas);
    if (!r->failed) {
        memcpy(r->routes, fixed->routes, fixed->count * sizeof *fixed->routes);
        r->fixed = r->count = fixed->count;
    }
    for (size_t m = 0; m < method_count && !r->failed; m++)
        add_method(r, methods[m]);
    return r->failed ? error_memory(err, "routes") : STATUS_OK;
}

void query_routes_destroy(struct query_routes *routes)
{
    if (routes != NULL) {
        arena_close(&routes->arena);
        free(routes);
    }
}

struct route_table query_routes_table(const struct query_routes *routes)
{
    return (struct route_table){routes->routes, routes->count};
}

static bool generated(const struct query_routes *routes, const struct api_route *route)
{
    return route >= routes->routes + routes->fixed && route < routes->routes + routes->count;
}

const struct query_origin *query_routes_origin(const struct query_routes *routes, const struct api_route *route)
{
    return generated(routes, route) ? &routes->origins[route - routes->routes - (ptrdiff_t)routes->fixed] : NULL;
}

const struct query_schemas *query_routes_schemas(const struct query_routes *routes, const struct api_route *route)
{
    return generated(routes, route) ? &routes->schemas[route - routes->routes - (ptrdiff_t)routes->fixed] : NULL;
}
