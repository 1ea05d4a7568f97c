/* Passes requests for /v1/tokens to the process, which owns the tokens. */
#include "api/tokens.h"

#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/http/route.h"
#include "storage/storage.h"

#define DAY 86400

static const char *const token_scopes[] = {"read", "submit", "manage", "admin", "reader", "member", "manager", NULL};
const struct config_field token_create_query[] = {
    PARAMETER_TEXT("name", 63, "name of the new token"),
    PARAMETER_CHOICE("scope", token_scopes,
                     "what the token allows (submit); reader, member and manager are other names of read, submit and "
                     "manage"),
    PARAMETER_TEXT("team", STORAGE_TEAM - 1, "team of the token (the team without a name)"),
    PARAMETER_TEXT("expires", 16, "time until the token expires, such as 90d, 12h or 30m (never)"),
    PARAMETERS_END,
};
const struct config_field token_rotate_query[] = {
    PARAMETER_TEXT("name", 63, "name of the token"),
    PARAMETER_TEXT("expires", 16, "time until the new token expires (as long as the old one was valid)"),
    PARAMETER_TEXT("overlap", 16, "time for which the old token still works, at most 30d (none)"),
    PARAMETERS_END,
};
const struct config_field token_revoke_query[] = {
    PARAMETER_TEXT("name", 63, "name of the token"),
    PARAMETERS_END,
};

bool token_duration(const char *text, int days, int64_t *seconds)
{
    static const char units[] = "smhd";
    static const int64_t lengths[] = {1, 60, 3600, DAY};
    size_t digits = strspn(text, "0123456789");
    const char *unit = digits > 0 && digits <= 10 && text[digits] != '\0' ? strchr(units, text[digits]) : NULL;
    if (unit == NULL || text[digits + 1] != '\0')
        return false;
    *seconds = strtoll(text, NULL, 10) * lengths[unit - units];
    return *seconds >= 1 && *seconds <= (int64_t)days * DAY;
}

/* Reads a duration in the query. False: the function has responded. */
static bool query_duration(struct exchange *x, const char *key, int days, int64_t *seconds)
{
    const char *text = exchange_query(x, key);
    *seconds = 0;
    if (text == NULL || token_duration(text, days, seconds))
        return true;
    respond_problem(x, PROBLEM_BAD_QUERY, "%s: is a duration of 1s to %dd, such as 90d, 12h or 30m.", key, days);
    return false;
}

static enum api_token_action action_of(const struct api_route *route)
{
    if (strcmp(route->method, "POST") == 0)
        return strcmp(route->name, "rotateToken") == 0 ? API_TOKEN_ROTATE : API_TOKEN_CREATE;
    return strcmp(route->method, "DELETE") == 0 ? API_TOKEN_REVOKE : API_TOKEN_LIST;
}

void tokens_handle(struct exchange *x)
{
    const struct api_daemon *daemon = &x->api->options.daemon;
    const char *name = exchange_query(x, "name"), *scope = exchange_query(x, "scope"),
               *team = exchange_query(x, "team");
    struct api_token_request request = {
        .action = action_of(x->match.route),
        .name = name != NULL ? name : "",
        .team = team != NULL ? team : "",
        .scope = scope != NULL ? scope : "submit",
    };
    if (!query_duration(x, "expires", API_TOKEN_DAYS_MAX, &request.expires) ||
        !query_duration(x, "overlap", API_TOKEN_OVERLAP_DAYS_MAX, &request.overlap))
        return;
    struct error err;
    error_clear(&err);
    enum status status = daemon->tokens != NULL
                             ? daemon->tokens(daemon->context, &request, &x->response->body, &err)
                             : error_set(&err, STATUS_UNAVAILABLE, NULL, "this daemon has no tokens");
    if (status == STATUS_INVALID)
        respond_problem(x, PROBLEM_BAD_REQUEST, "%s", err.message);
    else if (status)
        respond_error(x, &err);
    else if (request.action == API_TOKEN_REVOKE)
        respond_empty(x, 204);
    else
        respond_body(x, request.action == API_TOKEN_LIST ? 200 : 201, "text/plain; charset=utf-8");
}
