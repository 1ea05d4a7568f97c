/* Signs people in on the page: sends the browser to the issuer, takes its answer, and says who is signed in. */
#include "api/sign_in.h"

#include <string.h>

#include "api/audit.h"
#include "api/http/exchange.h"
#include "api/http/route.h"
#include "api/http/service.h"
#include "api/rights/caller.h"

const struct api_answer session_answers[] = {
    {200, "application/json", "Session",
     "sign_in: whether the page can sign people in; name, team, role: null without a sign-in."},
    {0, NULL, NULL, NULL}};
const struct api_answer sign_in_answers[] = {
    {303, NULL, NULL, "To the issuer, or back to the page with a session in a cookie."},
    {403, "application/problem+json", "Problem",
     "The issuer cannot be reached, or the sign-in failed: the answer says why."},
    {404, "application/problem+json", "Problem", "The daemon offers no sign-in."},
    {0, NULL, NULL, NULL}};
const struct api_answer sign_out_answers[] = {
    {204, NULL, NULL, "The session has ended."},
    {404, "application/problem+json", "Problem", "The daemon offers no sign-in."},
    {0, NULL, NULL, NULL}};

const struct config_field callback_query[] = {
    PARAMETER_TEXT("code", 2048, "code of the issuer"),
    PARAMETER_TEXT("state", 64, "state of this sign-in"),
    PARAMETER_TEXT("error", 200, "why the issuer refused"),
    PARAMETER_TEXT("error_description", 1000, "the same in words"),
    PARAMETER_TEXT("error_uri", 1000, "address that explains the error"),
    PARAMETER_TEXT("session_state", 400, "of the issuer; not used"),
    PARAMETER_TEXT("iss", 1000, "of the issuer; not used"),
    PARAMETER_TEXT("scope", 1000, "of the issuer; not used"),
    PARAMETER_TEXT("authuser", 40, "of the issuer; not used"),
    PARAMETER_TEXT("hd", 200, "of the issuer; not used"),
    PARAMETER_TEXT("prompt", 40, "of the issuer; not used"),
    PARAMETERS_END,
};

static const char *text_or_none(const char *text)
{
    return text != NULL ? text : "";
}

void sign_in_handle(struct exchange *x)
{
    const struct api_daemon *daemon = &x->api->options.daemon;
    const char *name = x->match.route->name;
    struct api_sign_in s = {
        .action = strcmp(name, "beginSignIn") == 0    ? API_SIGN_IN_BEGIN
                  : strcmp(name, "finishSignIn") == 0 ? API_SIGN_IN_FINISH
                                                      : API_SIGN_OUT,
        .code = text_or_none(exchange_query(x, "code")),
        .state = text_or_none(exchange_query(x, "state")),
        .cookies = text_or_none(exchange_header(x, "Cookie")),
        .host = text_or_none(exchange_header(x, "Host")),
    };
    if (daemon->sign_in == NULL) {
        respond_problem(x, PROBLEM_NOT_FOUND, "This daemon offers no sign-in: it has no --oidc-client.");
        return;
    }
    bool ok = daemon->sign_in(daemon->context, &s);
    if (s.cookie[0] != '\0')
        response_header(x->response, "Set-Cookie", "%s", s.cookie);
    response_header(x->response, "Cache-Control", "no-store");
    if (!ok)
        respond_problem(x, PROBLEM_FORBIDDEN, "%s", s.fault);
    else if (s.action == API_SIGN_OUT)
        respond_empty(x, 204);
    else
        respond_empty(x, 303);
    if (ok && s.action != API_SIGN_OUT)
        response_header(x->response, "Location", "%s", s.location);
    if (ok && s.action == API_SIGN_IN_FINISH)
        audit_event(x, s.name, "sign-in", "page");
    if (ok && s.action == API_SIGN_OUT && x->request->who != NULL && x->request->who[0] != '\0')
        audit_event(x, x->request->who, "sign-out", "page");
}

void session_show(struct exchange *x)
{
    const struct sink *out = x->out;
    const char *name = caller_name(x), *team = caller_team(x);
    enum role role;
    bool known = rights_role(x->request->scope, &role);
    sink_begin_object(out, NULL);
    sink_boolean(out, "sign_in", x->api->options.daemon.sign_in != NULL);
    sink_text(out, "name", name[0] != '\0' ? name : NULL);
    sink_text(out, "team", team[0] != '\0' ? team : NULL);
    sink_text(out, "role", known ? rights_role_name(role) : NULL);
    sink_end_object(out);
    response_header(x->response, "Cache-Control", "no-store");
    respond_json(x, 200);
}
