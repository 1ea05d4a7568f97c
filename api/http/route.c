/* Matches targets with routes, segment by segment. A target is split at '/', and then each segment is decoded, so that
 * %2F never splits a segment. A pattern's {parameter} matches a segment only if it allows all characters of the
 * segment; otherwise the resource does not exist (404). */
#include "api/http/route.h"

#include <stdio.h>
#include <string.h>

#include "api/http/uri.h"
#include "core/base/utf8.h"

#define SEGMENTS 8
#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

static const struct path_parameter {
    const char *name;
    const char *characters; /* NULL: every printable text */
    const char *pattern, *meaning;
    size_t max;
} path_parameters[] = {
    {"id", NULL, "^[^.].{0,126}$",
     "id of a job or study, its name if no other one has it, or latest: the newest one, if possible one of the "
     "caller's own; for queries of a model, the newest job with a checkpoint",
     127},
    {"seq", DIGITS LETTERS, "^([0-9]{1,18}|latest)$", "sequence number of a checkpoint, or latest", 18},
    {"name", DIGITS LETTERS ".:-_", "^[a-z0-9:_-][a-z0-9._:-]{0,63}$",
     "name of an artifact, a data set (NAME, TEAM:NAME or :NAME) or a file", 64},
    {"sha256", DIGITS "abcdef", "^[0-9a-f]{64}$", "SHA-256 of an upload", 64},
    {"kind", DIGITS LETTERS "-_", "^[a-z0-9_-]{1,40}$", "name of a method", 40},
};
/* A path parameter whose name is not in this list is the item of a query. Its name comes from the method's table. */
static const struct path_parameter item_parameter = {ROUTE_ITEM, DIGITS, "^[0-9]{1,9}$", "number of an item", 9};

struct segments {
    char text[SEGMENTS][ROUTE_PARAM_BYTES];
    size_t count;
    bool overflow; /* too many segments, or a segment that is too long: no route matches */
};

static const struct path_parameter *find_parameter(const char *name, size_t bytes)
{
    for (size_t i = 0; i < sizeof path_parameters / sizeof path_parameters[0]; i++)
        if (strlen(path_parameters[i].name) == bytes && strncmp(path_parameters[i].name, name, bytes) == 0)
            return &path_parameters[i];
    return &item_parameter;
}

const char *route_param_pattern(const char *name, size_t bytes, const char **meaning)
{
    const struct path_parameter *p = find_parameter(name, bytes);
    *meaning = p->meaning;
    return p->pattern;
}

size_t route_pattern_param(const char *pattern, size_t *at, const char **name)
{
    const char *open = strchr(pattern + *at, '{');
    if (open == NULL)
        return 0;
    *name = open + 1;
    size_t bytes = strcspn(*name, "}");
    *at = (size_t)(*name - pattern) + bytes + 1;
    return bytes;
}

static bool parameter_takes(const struct path_parameter *p, const char *text)
{
    size_t length = strlen(text);
    bool allowed = p->characters != NULL ? strspn(text, p->characters) == length : utf8_printable(text, length);
    return length > 0 && length <= p->max && allowed && text[0] != '.';
}

static enum status cut(const char *path, size_t bytes, struct segments *out, struct error *err)
{
    char scratch[API_TARGET_MAX + 1];
    out->count = 0;
    out->overflow = false;
    for (size_t at = 1; at <= bytes;) {
        const char *slash = memchr(path + at, '/', bytes - at);
        size_t length = slash != NULL ? (size_t)(slash - path) - at : bytes - at;
        enum status status = uri_decode(path + at, length, false, scratch, sizeof scratch, err);
        if (status)
            return status;
        if (out->count == SEGMENTS || strlen(scratch) >= ROUTE_PARAM_BYTES)
            out->overflow = true; /* continue: wrong encoding in a later segment must still give 400 */
        else
            memcpy(out->text[out->count++], scratch, strlen(scratch) + 1);
        at += length + 1;
    }
    return STATUS_OK;
}

/* Returns whether a pattern and a path have the same first segment. */
static bool begins_alike(const char *pattern, const struct segments *path)
{
    size_t length = strcspn(pattern + 1, "/");
    return path->count > 0 && strlen(path->text[0]) == length && strncmp(path->text[0], pattern + 1, length) == 0;
}

/* Returns whether a path matches a pattern, and copies the path's parameters to *match. If the path does
 * not match only because a parameter has a text that is not allowed, match->refused and match->pattern describe this
 * parameter. */
static bool matches(const char *pattern, const struct segments *path, struct route_match *match)
{
    match->count = 0;
    size_t at = 1;
    const struct path_parameter *refused = NULL;
    for (size_t i = 0; i < path->count; i++) {
        if (at > strlen(pattern))
            return false;
        const char *piece = pattern + at;
        size_t length = strcspn(piece, "/");
        at += length + 1;
        if (piece[0] != '{') {
            if (strlen(path->text[i]) != length || strncmp(path->text[i], piece, length) != 0)
                return false;
            continue;
        }
        const struct path_parameter *p = find_parameter(piece + 1, length - 2);
        if (match->count == ROUTE_PARAMS)
            return false;
        if (!parameter_takes(p, path->text[i]))
            refused = p;
        match->names[match->count] = p->name;
        memcpy(match->values[match->count++], path->text[i], strlen(path->text[i]) + 1);
    }
    if (refused != NULL && at > strlen(pattern)) {
        match->refused = refused->meaning;
        match->pattern = refused->pattern;
    }
    return refused == NULL && at > strlen(pattern);
}

static void add_method(char *allow, size_t size, const char *method)
{
    size_t used = strlen(allow);
    (void)snprintf(allow + used, size - used, "%s%s%s", used > 0 ? ", " : "", method,
                   strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

void route_match(const struct route_table *table, const char *method, const char *target, struct route_match *match)
{
    *match = (struct route_match){.status = 404};
    size_t length = strlen(target), path = strcspn(target, "?");
    if (length > API_TARGET_MAX) {
        match->status = 414;
        return;
    }
    if (target[0] != '/') {
        match->status = 400;
        (void)error_set(&match->err, STATUS_INVALID, NULL, "the target must be a path");
        return;
    }
    match->query = target[path] == '?' ? target + path + 1 : NULL;
    struct segments segments;
    if (cut(target, path, &segments, &match->err)) {
        match->status = 400;
        return;
    }
    bool head = strcmp(method, "HEAD") == 0;
    for (size_t i = 0; i < table->count && !segments.overflow; i++) {
        const struct api_route *route = &table->routes[i];
        if (route->dialect != NULL && begins_alike(route->pattern, &segments))
            match->dialect = route->dialect;
        if (!matches(route->pattern, &segments, match))
            continue;
        if (strcmp(method, route->method) == 0 || (head && strcmp(route->method, "GET") == 0)) {
            match->route = route;
            match->dialect = route->dialect;
            match->status = 200;
            return;
        }
        match->status = 405;
        add_method(match->allow, sizeof match->allow, route->method);
    }
}

const struct api_route *route_find(const struct route_table *table, const char *method, const char *target)
{
    struct route_match match;
    route_match(table, method, target, &match);
    return match.route;
}

bool route_answers(const struct api_route *route, int status)
{
    for (const struct api_answer *a = route->answers; a != NULL && a->status != 0; a++)
        if (a->status == status)
            return true;
    return false;
}

bool route_keeps_keys(const struct api_route *route)
{
    for (const struct api_answer *a = route->answers; a != NULL && a->status != 0; a++)
        if (a->status == 201 && a->schema != NULL && (strcmp(a->schema, "Job") == 0 || strcmp(a->schema, "Study") == 0))
            return strcmp(route->method, "POST") == 0;
    return false;
}

const struct config_field *route_parameter(const struct api_route *route, const char *name)
{
    for (const struct config_field *p = route->query; p != NULL && p->name != NULL; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

bool route_streams(const struct api_route *route)
{
    return route->body_limit == API_UPLOAD_MAX;
}

bool route_takes(const struct api_route *route, const char *content_type)
{
    for (const char *const *type = route->media_types; type != NULL && *type != NULL; type++)
        if (content_type != NULL && media_is(content_type, *type))
            return true;
    return false;
}
