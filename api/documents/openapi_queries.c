/* Writes the schemas of the routes that come from the methods' tables.
 *
 * Several methods may share a route. The schema of its request body then has the members of all these methods, and a
 * valid answer matches the schema of at least one of them. */
#include "api/documents/openapi_queries.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/documents/openapi_schemas.h"
#include "api/queries/query_routes.h"
#include "core/data/files/input_file.h"

/* Writes a configuration field, or a parameter of a query, as a JSON Schema. */

static void number_bound(const struct sink *out, const struct config_field *field, bool upper)
{
    double bound = upper ? field->max : field->min;
    bool open = upper ? field->max_open : field->min_open;
    if (isfinite(bound)) {
        sink_number(out, open ? (upper ? "exclusiveMaximum" : "exclusiveMinimum") : (upper ? "maximum" : "minimum"),
                    bound);
    }
}

void openapi_field_schema(const struct sink *out, const struct config_field *field, const void *defaults)
{
    static const char *const types[] = {"integer", "number", "boolean", "string", "string"};
    char meaning[256];
    (void)snprintf(meaning, sizeof meaning, "%s%s%s%s", field->meaning, field->unit[0] != '\0' ? " (" : "", field->unit,
                   field->unit[0] != '\0' ? ")" : "");
    sink_begin_object(out, field->name);
    sink_text(out, "type", types[field->type]);
    sink_text(out, "description", meaning);
    switch (field->type) {
    case FIELD_INT:
    case FIELD_REAL:
        number_bound(out, field, false);
        number_bound(out, field, true);
        sink_number(out, "default", config_number(field, defaults));
        break;
    case FIELD_BOOL:
        sink_boolean(out, "default", config_bool(field, defaults));
        break;
    case FIELD_CHOICE:
        sink_begin_list(out, "enum");
        for (const char *const *choice = field->choices; *choice != NULL; choice++)
            sink_text(out, NULL, *choice);
        sink_end_list(out);
        sink_text(out, "default", config_text(field, defaults));
        break;
    default:
        sink_integer(out, "maxLength", CONFIG_TEXT - 1);
        sink_text(out, "default", config_text(field, defaults));
        break;
    }
    sink_end_object(out);
}

static void reference(const struct sink *out, const char *key, const char *schema)
{
    char path[96];
    (void)snprintf(path, sizeof path, "#/components/schemas/%.70s", schema);
    sink_begin_object(out, key);
    sink_text(out, "$ref", path);
    sink_end_object(out);
}

static void typed(const struct sink *out, const char *key, const char *type)
{
    sink_begin_object(out, key);
    sink_text(out, "type", type);
    sink_end_object(out);
}

/* ---- iteration over the queries that share a route ---- */

/* Returns the next query, from (*method, *index) on, that shares the route with `query`, and sets (*method, *index) to
 * the place after it. NULL: there is none. */
static const struct method_query *next_query(const struct api *api, const struct method_query *query, size_t *method,
                                             size_t *index)
{
    for (; *method < api->options.method_count; (*method)++, *index = 0) {
        const struct method *m = api->options.methods[*method];
        while (*index < m->query_count) {
            const struct method_query *q = &m->queries[(*index)++];
            if (query_same_route(q, query))
                return q;
        }
    }
    return NULL;
}

#define EACH_QUERY(q, query)                                                                                           \
    size_t at_method = 0, at_query = 0;                                                                                \
    for (const struct method_query *q; ((q) = next_query(api, query, &at_method, &at_query)) != NULL;)

/* ---- answers ---- */

static bool per_input(const struct method_query *query)
{
    return query->takes != METHOD_TAKES_NOTHING && query->takes != METHOD_TAKES_MODEL;
}

/* Lists the schemas of the answers of all methods that share the route, each schema once. A method that names no schema
 * contributes "object". */
static void write_any_of(const struct api *api, const struct method_query *query, const struct sink *out)
{
    const char *seen[16];
    size_t count = 0;
    bool plain = false;
    sink_begin_list(out, "anyOf");
    EACH_QUERY(q, query)
    {
        bool known = q->schema == NULL;
        for (size_t i = 0; i < count && !known; i++)
            known = strcmp(seen[i], q->schema) == 0;
        plain = plain || q->schema == NULL;
        if (!known && count < sizeof seen / sizeof seen[0]) {
            seen[count++] = q->schema;
            reference(out, NULL, q->schema);
        }
    }
    if (plain)
        typed(out, NULL, "object");
    sink_end_list(out);
}

/* Refers to the schemas of what the answers of one request share. */
static void write_together(const struct api *api, const struct method_query *query, const struct sink *out)
{
    bool any = false;
    EACH_QUERY(q, query)
    {
        if (q->together == NULL)
            continue;
        if (!any)
            sink_begin_list(out, "allOf");
        any = true;
        reference(out, NULL, q->together->schema);
    }
    if (any)
        sink_end_list(out);
}

static void write_answer(const struct api *api, const struct method_query *query, const char *name,
                         const struct sink *out)
{
    sink_begin_object(out, name);
    if (!per_input(query)) {
        write_any_of(api, query, out);
        sink_end_object(out);
        return;
    }
    sink_text(out, "type", "object");
    sink_begin_list(out, "required");
    sink_text(out, NULL, "job");
    sink_text(out, NULL, "checkpoint");
    sink_text(out, NULL, "answers");
    sink_end_list(out);
    sink_begin_object(out, "properties");
    typed(out, "job", "string");
    reference(out, "checkpoint", "AnswerCheckpoint");
    typed(out, "absent", "string");
    sink_begin_object(out, "answers");
    sink_text(out, "type", "array");
    sink_begin_object(out, "items");
    write_any_of(api, query, out);
    sink_begin_object(out, "properties");
    sink_begin_object(out, "warnings");
    sink_text(out, "type", "array");
    sink_begin_object(out, "items");
    sink_text(out, "$ref", "#/components/schemas/Warning");
    sink_end_object(out);
    sink_end_object(out);
    sink_end_object(out);
    sink_end_object(out);
    sink_end_object(out);
    sink_end_object(out);
    write_together(api, query, out);
    sink_end_object(out);
}

/* ---- request bodies ---- */

/* Returns whether an earlier query of the route has a parameter of this name. */
static bool earlier_field(const struct api *api, const struct method_query *query, const struct method_query *until,
                          const char *name)
{
    EACH_QUERY(q, query)
    {
        if (q == until)
            return false;
        if (q->parameters != NULL && config_find(q->parameters, name) != NULL)
            return true;
    }
    return false;
}

static enum status write_parameters(const struct api *api, const struct method_query *query, const struct sink *out,
                                    struct error *err)
{
    EACH_QUERY(q, query)
    {
        const struct config_table *table = q->parameters;
        if (table == NULL)
            continue;
        void *defaults = calloc(1, table->struct_bytes);
        enum status status = defaults != NULL ? config_defaults(table, defaults, err) : error_memory(err, "a schema");
        for (size_t f = 0; !status && f < table->count; f++)
            if (!earlier_field(api, query, q, table->fields[f].name))
                openapi_field_schema(out, &table->fields[f], defaults);
        free(defaults);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static enum status write_request(const struct api *api, const struct method_query *query, const char *name,
                                 const struct sink *out, struct error *err)
{
    bool model = false, inputs = false, edits = false;
    {
        EACH_QUERY(q, query)
        {
            model = model || q->takes == METHOD_TAKES_MODEL;
            inputs = inputs || q->takes == METHOD_TAKES_INPUTS;
            edits = edits || q->takes == METHOD_TAKES_EDITS;
        }
    }
    sink_begin_object(out, name);
    sink_text(out, "type", "object");
    sink_boolean(out, "additionalProperties", false);
    sink_begin_list(out, "required");
    if (model && !inputs && !edits)
        sink_text(out, NULL, "with");
    else if ((inputs || edits) && !model)
        sink_text(out, NULL, "inputs");
    sink_end_list(out);
    sink_begin_object(out, "properties");
    if (model)
        typed(out, "with", "string");
    if (inputs || edits)
        reference(out, "inputs", edits ? "ChangedInputs" : "Inputs");
    if (!model || inputs || edits)
        reference(out, "checkpoint", "CheckpointPick");
    enum status status = write_parameters(api, query, out, err);
    sink_end_object(out);
    sink_end_object(out);
    return status;
}

/* ---- the methods' own schemas ---- */

static bool earlier_schema(const struct api *api, size_t until, const char *name)
{
    for (size_t m = 0; m < until; m++) {
        for (size_t i = 0; i < api->options.methods[m]->schema_count; i++)
            if (strcmp(api->options.methods[m]->schemas[i].name, name) == 0)
                return true;
    }
    return false;
}

static enum status write_schemas(const struct api *api, struct json_sink *json, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t m = 0; m < api->options.method_count; m++) {
        const struct method *method = api->options.methods[m];
        for (size_t i = 0; i < method->schema_count && !status; i++) {
            const struct method_schema *s = &method->schemas[i];
            if (!earlier_schema(api, m, s->name)) {
                const struct openapi_schema schema = {s->name, s->shape, s->schema, s->closed};
                status = openapi_schema_write(json, &schema, err);
            }
        }
    }
    return status;
}

enum status openapi_query_schemas(const struct api *api, struct json_sink *json, struct error *err)
{
    const struct sink *out = &json->sink;
    sink_begin_object(out, "DataType");
    sink_begin_list(out, "enum");
    for (const char *const *type = input_file_types; *type != NULL; type++)
        sink_text(out, NULL, *type);
    sink_end_list(out);
    sink_end_object(out);
    enum status status = write_schemas(api, json, err);
    for (size_t i = 0; i < api->routes.count && !status; i++) {
        const struct api_route *route = &api->routes.routes[i];
        const struct query_origin *origin = query_routes_origin(api->query_routes, route);
        const struct query_schemas *schemas = query_routes_schemas(api->query_routes, route);
        if (origin == NULL || origin->query == NULL)
            continue;
        if (origin->query->answer != NULL)
            write_answer(api, origin->query, schemas->answer, out);
        if (schemas->request != NULL)
            status = write_request(api, origin->query, schemas->request, out, err);
    }
    return status;
}
