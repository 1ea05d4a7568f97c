/* Builds the OpenAPI 3.1 document, once at startup, from the table of routes, the tables of the methods, and the
 * schemas in openapi_schemas.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/documents/documents.h"
#include "api/documents/openapi_queries.h"
#include "api/documents/openapi_schemas.h"
#include "api/http/problem.h"
#include "api/http/route.h"
#include "api/http/service.h"
#include "api/http/uri.h"
#include "protocol/config_json.h"
#include "protocol/json_sink.h"
#include "core/data/uploads/collection.h"

static void reference(const struct sink *out, const char *key, const char *schema)
{
    char path[96];
    (void)snprintf(path, sizeof path, "#/components/schemas/%.70s", schema);
    sink_begin_object(out, key);
    sink_text(out, "$ref", path);
    sink_end_object(out);
}

static void parameter_schema(const struct sink *out, const struct config_field *p)
{
    static const char *const flags[] = {"0", "1", "false", "true", NULL};
    const char *const *choices = p->type == FIELD_BOOL ? flags : p->choices;
    sink_begin_object(out, "schema");
    sink_text(out, "type", p->type == FIELD_INT ? "integer" : "string");
    if (p->type == FIELD_INT) {
        sink_integer(out, "minimum", (int64_t)p->min);
        sink_integer(out, "maximum", (int64_t)p->max);
    } else if (choices != NULL) {
        sink_begin_list(out, "enum");
        for (size_t i = 0; choices[i] != NULL; i++)
            sink_text(out, NULL, choices[i]);
        sink_end_list(out);
    } else if (p->max > 0) {
        sink_integer(out, "minLength", 1);
        sink_integer(out, "maxLength", (int64_t)p->max);
    }
    sink_end_object(out);
}

static void header_parameter(const struct sink *out, const char *name, const char *meaning)
{
    sink_begin_object(out, NULL);
    sink_text(out, "name", name);
    sink_text(out, "in", "header");
    sink_text(out, "description", meaning);
    sink_begin_object(out, "schema");
    sink_text(out, "type", "string");
    sink_end_object(out);
    sink_end_object(out);
}

/* Writes the meaning of a query parameter. For an option of uploads, names the formats that read it. */
static void write_meaning(const struct sink *out, const struct api_route *route, const struct config_field *p)
{
    char formats[COLLECTION_NAMES], text[1024];
    const struct collection_option_row *o = collection_option_rows;
    while (o->field.name != NULL && (!route_streams(route) || strcmp(o->field.name, p->name) != 0))
        o++;
    if (o->field.name == NULL) {
        sink_text(out, "description", p->meaning);
        return;
    }
    collection_option_formats(o->option, formats);
    (void)snprintf(text, sizeof text, "%s. Formats that read it: %s", p->meaning, formats);
    sink_text(out, "description", text);
}

static void write_parameters(const struct sink *out, const struct api_route *route)
{
    sink_begin_list(out, "parameters");
    const char *name;
    size_t at = 0, bytes;
    while ((bytes = route_pattern_param(route->pattern, &at, &name)) > 0) {
        char text[40];
        const char *meaning, *pattern = route_param_pattern(name, bytes, &meaning);
        (void)snprintf(text, sizeof text, "%.*s", (int)bytes, name);
        sink_begin_object(out, NULL);
        sink_text(out, "name", text);
        sink_text(out, "in", "path");
        sink_boolean(out, "required", true);
        sink_text(out, "description", meaning);
        sink_begin_object(out, "schema");
        sink_text(out, "type", "string");
        sink_text(out, "pattern", pattern);
        sink_end_object(out);
        sink_end_object(out);
    }
    for (const struct config_field *p = route->query; p != NULL && p->name != NULL; p++) {
        sink_begin_object(out, NULL);
        sink_text(out, "name", p->name);
        sink_text(out, "in", "query");
        write_meaning(out, route, p);
        parameter_schema(out, p);
        sink_end_object(out);
    }
    if (route_keeps_keys(route)) {
        header_parameter(out, "Idempotency-Key",
                         "a repeated request with the same key gets the first answer again and creates nothing");
    }
    if (route_answers(route, 304))
        header_parameter(out, "If-None-Match", "the answer is 304 if this header contains the current ETag");
    if (route_answers(route, 412))
        header_parameter(out, "If-Match",
                         "the answer is 412 unless this header contains the ETag of the current version");
    if (route_answers(route, 206)) {
        header_parameter(out, "Range", "one range of bytes");
        header_parameter(out, "If-Range", "Range applies only if this is the current ETag");
    }
    if (route->dialect != NULL && route->dialect->header != NULL)
        header_parameter(out, route->dialect->header, route->dialect->header_meaning);
    sink_end_list(out);
}

static void write_body(const struct sink *out, const struct api_route *route)
{
    if (route->body_limit == 0)
        return;
    sink_begin_object(out, "requestBody");
    sink_boolean(out, "required", !route->body_optional);
    sink_begin_object(out, "content");
    for (const char *const *type = route->media_types; *type != NULL; type++) {
        sink_begin_object(out, *type);
        if (route->request_schema != NULL && strstr(*type, "json") != NULL)
            reference(out, "schema", route->request_schema);
        sink_end_object(out);
    }
    sink_end_object(out);
    sink_end_object(out);
}

/* Writes the answer for one status: its description, and the content of each media type. */
static void write_answer(const struct sink *out, const struct api_route *route, const struct api_answer *first)
{
    char status[8];
    (void)snprintf(status, sizeof status, "%d", first->status);
    sink_begin_object(out, status);
    sink_text(out, "description", first->meaning);
    if (first->media_type != NULL) {
        sink_begin_object(out, "content");
        for (const struct api_answer *a = first; a->status != 0; a++) {
            if (a->status == first->status) {
                sink_begin_object(out, a->media_type);
                if (a->schema != NULL)
                    reference(out, "schema", a->schema);
                sink_end_object(out);
            }
        }
        sink_end_object(out);
    }
    sink_end_object(out);
}

static void write_operation(const struct sink *out, const struct api_route *route)
{
    static const char *const scopes[] = {"", "read", "submit", "manage", "admin", "operator", "trainer"};
    static const char *const rights[RIGHTS] = {"", "nothing", "trainer", "read", "read", "use", "change", "delete"};
    char method[8];
    size_t length = strlen(route->method);
    for (size_t i = 0; i <= length; i++) {
        method[i] =
            (char)(route->method[i] >= 'A' && route->method[i] <= 'Z' ? route->method[i] + 32 : route->method[i]);
    }
    sink_begin_object(out, method);
    sink_text(out, "operationId", route->name);
    sink_text(out, "summary", route->summary);
    sink_text(out, "x-motifd-right", rights[route->right]);
    write_parameters(out, route);
    write_body(out, route);
    sink_begin_object(out, "responses");
    for (const struct api_answer *a = route->answers; a->status != 0; a++) {
        bool first = true;
        for (const struct api_answer *before = route->answers; before != a; before++)
            first = first && before->status != a->status;
        if (first)
            write_answer(out, route, a);
    }
    sink_begin_object(out, "default");
    sink_text(out, "description", "All errors are problem documents (RFC 9457).");
    sink_begin_object(out, "content");
    sink_begin_object(out, "application/problem+json");
    reference(out, "schema", "Problem");
    sink_end_object(out);
    sink_end_object(out);
    sink_end_object(out);
    sink_end_object(out);
    sink_begin_list(out, "security");
    sink_begin_object(out, NULL);
    if (route->scope != API_SCOPE_NONE) {
        sink_begin_list(out, "token");
        sink_text(out, NULL, scopes[route->scope]);
        sink_end_list(out);
    }
    sink_end_object(out);
    sink_end_list(out);
    sink_end_object(out);
}

static void write_paths(const struct route_table *table, const struct sink *out)
{
    const struct api_route *routes = table->routes;
    sink_begin_object(out, "paths");
    for (size_t i = 0; i < table->count; i++) {
        bool first = true;
        for (size_t before = 0; before < i; before++)
            first = first && strcmp(routes[before].pattern, routes[i].pattern) != 0;
        if (!first)
            continue;
        sink_begin_object(out, routes[i].pattern);
        for (size_t j = i; j < table->count; j++)
            if (strcmp(routes[j].pattern, routes[i].pattern) == 0)
                write_operation(out, &routes[j]);
        sink_end_object(out);
    }
    sink_end_object(out);
}

/* Describes the fields of a group as one object, which clients may send instead of single fields. Writes nothing if the
 * group and a field have the same name: the schema then describes the member of this name as a field only. */
static void group_schema(const struct sink *out, const struct config_table *table, enum field_group group,
                         const void *defaults)
{
    const char *name = config_group_name(group);
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        count += table->fields[i].group == group && table->fields[i].level != LEVEL_FACT;
    if (count == 0 || config_find(table, name) != NULL)
        return;
    sink_begin_object(out, name);
    sink_text(out, "type", "object");
    sink_text(out, "description", "Fields of this group. Send each field either here or at the top level.");
    sink_boolean(out, "additionalProperties", false);
    sink_begin_object(out, "properties");
    for (size_t i = 0; i < table->count; i++)
        if (table->fields[i].group == group && table->fields[i].level != LEVEL_FACT)
            openapi_field_schema(out, &table->fields[i], defaults);
    sink_end_object(out);
    sink_end_object(out);
}

/* Writes the schemas Config_KIND (a configuration) and NewJob_KIND (a new job) of a method. */
static enum status method_schemas(const struct sink *out, const struct method *method, struct error *err)
{
    void *defaults;
    char name[80];
    enum status status = config_start(method, NULL, &defaults, err);
    if (status)
        return status;
    (void)snprintf(name, sizeof name, "Config_%.60s", method->kind);
    sink_begin_object(out, name);
    sink_text(out, "type", "object");
    sink_text(out, "description", method->summary);
    sink_boolean(out, "additionalProperties", false);
    sink_begin_object(out, "properties");
    for (size_t i = 0; i < method->config.count; i++)
        if (method->config.fields[i].level != LEVEL_FACT)
            openapi_field_schema(out, &method->config.fields[i], defaults);
    for (int group = 0; group < FIELD_GROUPS; group++)
        group_schema(out, &method->config, (enum field_group)group, defaults);
    sink_end_object(out);
    sink_end_object(out);
    free(defaults);

    char job[80];
    (void)snprintf(job, sizeof job, "NewJob_%.60s", method->kind);
    sink_begin_object(out, job);
    sink_text(out, "type", "object");
    sink_begin_list(out, "required");
    sink_text(out, NULL, "kind");
    sink_end_list(out);
    sink_begin_object(out, "properties");
    sink_begin_object(out, "kind");
    sink_text(out, "const", method->kind);
    sink_end_object(out);
    sink_begin_object(out, "preset");
    sink_begin_list(out, "enum");
    for (size_t i = 0; i < method->preset_count; i++)
        sink_text(out, NULL, method->presets[i].name);
    sink_null(out, NULL);
    sink_end_list(out);
    sink_end_object(out);
    reference(out, "config", name);
    sink_end_object(out);
    sink_end_object(out);
    return STATUS_OK;
}

static enum status write_components(const struct api *api, struct json_sink *json, struct error *err)
{
    const struct sink *out = &json->sink;
    enum status status = STATUS_OK;
    sink_begin_object(out, "components");
    sink_begin_object(out, "securitySchemes");
    sink_begin_object(out, "token");
    sink_text(out, "type", "http");
    sink_text(out, "scheme", "bearer");
    sink_text(out, "description",
              "The scopes are read, submit, manage and admin; each includes the previous ones. On loopback no token is "
              "needed. "
              "x-motifd-right of an operation is what it does with the job, study or data set that its path names.");
    sink_end_object(out);
    sink_end_object(out);
    sink_begin_object(out, "schemas");
    for (size_t i = 0; i < openapi_schema_count && !status; i++)
        status = openapi_schema_write(json, &openapi_schemas[i], err);
    if (!status)
        status = openapi_query_schemas(api, json, err);
    for (size_t i = 0; i < api->options.method_count && !status; i++)
        status = method_schemas(out, api->options.methods[i], err);
    sink_begin_object(out, "NewJob");
    sink_begin_list(out, "allOf");
    reference(out, NULL, "NewJobBase");
    sink_begin_object(out, NULL);
    sink_begin_list(out, "oneOf");
    for (size_t i = 0; i < api->options.method_count; i++) {
        char name[80];
        (void)snprintf(name, sizeof name, "NewJob_%.60s", api->options.methods[i]->kind);
        reference(out, NULL, name);
    }
    sink_end_list(out);
    sink_end_object(out);
    sink_end_list(out);
    sink_end_object(out);
    sink_end_object(out);
    sink_end_object(out);
    return status;
}

enum status openapi_build(const struct api *api, struct buf *text, struct error *err)
{
    struct api_system system;
    struct json_sink json;
    api_facts(api, &system);
    json_sink_init(&json, text);
    const struct sink *out = &json.sink;
    sink_begin_object(out, NULL);
    sink_text(out, "openapi", "3.1.0");
    sink_begin_object(out, "info");
    sink_text(out, "title", "motifd");
    sink_text(out, "version", system.version[0] != '\0' ? system.version : "0");
    sink_text(out, "description",
              "A service that trains networks with interpretable, sparse intermediate layers. Additions within /v1 "
              "never rename or "
              "remove anything.");
    sink_begin_object(out, "license");
    sink_text(out, "name", "MIT");
    sink_text(out, "identifier", "MIT");
    sink_end_object(out);
    sink_end_object(out);
    sink_begin_list(out, "servers");
    sink_begin_object(out, NULL);
    sink_text(out, "url", "/");
    sink_end_object(out);
    sink_end_list(out);
    write_paths(&api->routes, out);
    enum status status = write_components(api, &json, err);
    sink_end_object(out);
    if (status)
        return status;
    if (!json_sink_done(&json))
        return error_set(err, STATUS_INTERNAL, NULL, "the OpenAPI document is incomplete");
    return STATUS_OK;
}
