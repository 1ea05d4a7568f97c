/* Checks query strings. Every fault says what is allowed, and names the nearest parameter or value if one is similar to
 * what the client sent. */
#include "api/http/query_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/faults.h"

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

static void list_choices(char *out, size_t size, const char *const *choices)
{
    out[0] = '\0';
    for (const char *const *choice = choices; *choice != NULL; choice++) {
        size_t used = strlen(out);
        (void)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", *choice);
    }
}

static void check_choice(const struct api_parameter *p, const char *value, struct api_faults *faults)
{
    char allowed[192];
    for (const char *const *choice = p->choices; *choice != NULL; choice++)
        if (strcmp(*choice, value) == 0)
            return;
    list_choices(allowed, sizeof allowed, p->choices);
    api_faults_add(faults, p->name, "must be one of %s; got '%.40s'", allowed, value);
}

static void check_integer(const struct api_parameter *p, const char *value, struct api_faults *faults)
{
    int64_t integer;
    if (!text_integer(value, &integer) || integer < p->min || integer > p->max) {
        api_faults_add(faults, p->name, "must be an integer in [%lld, %lld]; got '%.40s'", (long long)p->min,
                       (long long)p->max, value);
    }
}

static void check_parameter(const struct api_parameter *p, const struct query_pair *pair, struct api_faults *faults)
{
    const char *value = pair->value;
    struct result_bound bound;
    switch (p->type) {
    case PARAMETER_INTEGER:
        check_integer(p, value, faults);
        break;
    case PARAMETER_FLAG:
        if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0 && strcmp(value, "true") != 0 &&
            strcmp(value, "false") != 0)
            api_faults_add(faults, p->name, "must be 0 or 1; got '%.40s'", value);
        break;
    case PARAMETER_CHOICE:
    case PARAMETER_FORMAT:
        check_choice(p, value, faults);
        break;
    case PARAMETER_RESULT:
        if (!result_bound_read(pair->name, value, &bound))
            api_faults_add(faults, pair->name, "must be result.NAME<=NUMBER, result.NAME>=NUMBER or result.NAME=VALUE");
        break;
    default:
        if (value[0] == '\0' || strlen(value) > (size_t)p->max)
            api_faults_add(faults, p->name, "must be 1 to %lld bytes of text", (long long)p->max);
        break;
    }
}

/* Returns the parameter of the route that has this name, or NULL. */
static const struct api_parameter *parameter_of(const struct api_parameter *list, const char *name)
{
    for (const struct api_parameter *p = list; p != NULL && p->type != PARAMETER_END; p++)
        if (strcmp(p->name, name) == 0 ||
            (p->type == PARAMETER_RESULT && strncmp(name, RESULT_PREFIX, sizeof RESULT_PREFIX - 1) == 0))
            return p;
    return NULL;
}

static void unknown_parameter(const struct api_parameter *list, const char *name, struct api_faults *faults)
{
    struct name_guess guess = {.given = name};
    char known[192] = "";
    for (const struct api_parameter *p = list; p != NULL && p->type != PARAMETER_END; p++) {
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
    if (query_parse(x->match.query, &x->query, &err) != STATUS_OK) {
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
        const struct api_parameter *p = parameter_of(x->match.route->query, pair->name);
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
