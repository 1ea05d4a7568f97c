/* Checks query strings. Every fault says what is allowed, and names the nearest parameter or value if one is similar to
 * what the client sent. */
#include "api/http/query_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/faults.h"

#define RESULT_PREFIX "result."
#define RESULT_NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

bool result_bound_read(const char *name, const char *value, struct result_bound *out)
{
    const char *member = name + sizeof RESULT_PREFIX - 1;
    if (strncmp(name, RESULT_PREFIX, sizeof RESULT_PREFIX - 1) != 0)
        return false;
    size_t length = strspn(member, RESULT_NAME);
    const char *end = member + length;
    if (length == 0 || length > 64 || member[0] == '.' || end[-1] == '.' || strstr(member, "..") != NULL)
        return false;
    *out = (struct result_bound){.value = value};
    out->op = end[0] == '\0' ? "=" : strcmp(end, "<") == 0 ? "<=" : strcmp(end, ">") == 0 ? ">=" : NULL;
    (void)snprintf(out->path, sizeof out->path, "$.%.*s", (int)length, member);
    char *rest;
    out->number = strtod(value, &rest);
    out->is_number = value[0] != '\0' && *rest == '\0' && isfinite(out->number);
    return out->op != NULL && (out->is_number || out->op[0] == '=') && strlen(value) <= 64;
}

static void check_parameter(const struct config_field *p, const struct query_pair *pair, struct api_faults *faults)
{
    struct result_bound bound;
    struct value value;
    struct error err = {0};
    if (strcmp(p->name, PARAMETER_RESULT) == 0) {
        if (!result_bound_read(pair->name, pair->value, &bound))
            api_faults_add(faults, pair->name, "must be result.NAME<=NUMBER, result.NAME>=NUMBER or result.NAME=VALUE");
    } else if (value_read(p, VALUE_QUERY, pair->value, &value, &err)) {
        api_faults_add(faults, p->name, "%s", err.message);
    }
}

/* Returns the parameter of the route that has this name, or NULL. */
static const struct config_field *parameter_of(const struct api_route *route, const char *name)
{
    bool result = strncmp(name, RESULT_PREFIX, sizeof RESULT_PREFIX - 1) == 0;
    const struct config_field *p = route_parameter(route, name);
    return p == NULL && result ? route_parameter(route, PARAMETER_RESULT) : p;
}

static void unknown_parameter(const struct config_field *list, const char *name, struct api_faults *faults)
{
    struct name_guess guess = {.given = name};
    char known[192] = "";
    for (const struct config_field *p = list; p != NULL && p->name != NULL; p++) {
        size_t used = strlen(known);
        name_guess_offer(&guess, p->name);
        (void)snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", p->name);
    }
    if (guess.best != NULL)
        name_guess_fault(&guess, "a parameter of this path", name, faults);
    else if (known[0] != '\0')
        api_faults_add(faults, name, "is not a parameter of this path; its parameters are %s", known);
    else
        api_faults_add(faults, name, "is not a parameter of this path, which has none");
}

bool query_check(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    if (query_parse(x->match.query, &x->query, &err)) {
        respond_problem(x, PROBLEM_BAD_QUERY, "%s.", err.message);
        return false;
    }
    if (x->query.count == 0)
        return true;
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    if (faults == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        return false;
    }
    for (size_t i = 0; i < x->query.count; i++) {
        const struct query_pair *pair = &x->query.pairs[i];
        const struct config_field *p = parameter_of(x->match.route, pair->name);
        if (p == NULL)
            unknown_parameter(x->match.route->query, pair->name, faults);
        else
            check_parameter(p, pair, faults);
    }
    if (faults->count > 0) {
        respond_faults(x, PROBLEM_BAD_QUERY, "parameter", faults);
        return false;
    }
    return true;
}

bool path_guess(const struct exchange *x, char out[API_TARGET_MAX + 8])
{
    const char *target = x->request->target != NULL ? x->request->target : "/";
    struct route_match match;
    size_t length = strcspn(target, "?");
    while (length > 1 && target[length - 1] == '/')
        length--;
    if (length <= 1 || length > API_TARGET_MAX)
        return false;
    for (int version = 0; version < 2; version++) {
        (void)snprintf(out, API_TARGET_MAX + 8, "%s%.*s", version ? "/v1" : "", (int)length, target);
        route_match(&x->api->routes, x->request->method != NULL ? x->request->method : "", out, &match);
        if (match.status == 200 || match.status == 405)
            return true;
    }
    return false;
}
