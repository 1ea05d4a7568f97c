/* Passes requests for /v1/tokens to the process, which owns the tokens. */
#include "api/tokens.h"

#include <string.h>

#include "api/http/exchange.h"

void tokens_handle(struct exchange *x)
{
    const struct api_daemon *daemon = &x->api->options.daemon;
    const char *method = x->match.route->method, *name = exchange_query(x, "name"), *scope = exchange_query(x, "scope"),
               *team = exchange_query(x, "team");
    struct api_token_request request = {
        .action = strcmp(method, "POST") == 0     ? API_TOKEN_CREATE
                  : strcmp(method, "DELETE") == 0 ? API_TOKEN_REVOKE
                                                  : API_TOKEN_LIST,
        .name = name != NULL ? name : "",
        .team = team != NULL ? team : "",
        .scope = scope != NULL ? scope : "submit",
        .days = (int)exchange_query_integer(x, "days", 0),
    };
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
        respond_body(x, request.action == API_TOKEN_CREATE ? 201 : 200, "text/plain; charset=utf-8");
}
